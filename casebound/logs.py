"""Where a command's logs go, with the secrets of its configuration and what looks like one masked.

Above: the commands that run a worker. Below: `logging`. Our own lines are masked where they are
written, too; the SDK's and a library's only here.
"""

from __future__ import annotations

import logging

from boundary.redaction import Redactor

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class MaskingFormatter(logging.Formatter):
    """Masks secrets in the finished line, traceback included."""

    def __init__(self, redactor: Redactor, line: str = FORMAT) -> None:
        super().__init__(line)
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        """See `logging.Formatter`."""
        return self._redactor.text(super().format(record))[0]


def log_to(handler: logging.Handler, level: int, redactor: Redactor, line: str = FORMAT) -> None:
    """Let all loggers write to the handler, unless somebody else has decided where they write."""
    handler.setFormatter(MaskingFormatter(redactor, line))
    logging.basicConfig(level=level, handlers=[handler])

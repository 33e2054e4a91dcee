"""The search attributes of a run: by what people find runs in the Temporal UI."""

from __future__ import annotations

from temporalio.common import SearchAttributeKey

OUTCOME = SearchAttributeKey.for_keyword("CaseboundOutcome")
VERDICT = SearchAttributeKey.for_keyword("CaseboundVerdict")
OWNER = SearchAttributeKey.for_keyword("CaseboundOwner")
FIRST_RUN = "run_id"
"""Memo of the executions a long run goes on in: the run id of the first, by which the run is known."""

STARTED = "started_ms"
"""Memo of such executions: when the first one started, in Unix milliseconds."""

ALL = (OUTCOME, VERDICT, OWNER)

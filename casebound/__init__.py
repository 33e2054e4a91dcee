"""casebound runs read-only diagnosis agents on Temporal whose answers can be proved.

The application: settings, the embedded stack, the worker, the command line and what it prints.
Nothing imports this package; it composes `boundary`, `activities` and `workflows`.
"""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("casebound")
except PackageNotFoundError:  # a checkout on the path, not installed
    __version__ = "0.0.0"

"""Tells whether a database can be asked, and whether the account could write, for the list of tools a person asks for.

Above: the application. Below: `sessions`.
"""

from __future__ import annotations

from activities.probe import Probe
from activities.sql.sessions import open_session
from activities.sql.source import SqlSource
from boundary.tools import ToolFailure


def probe(source: SqlSource) -> Probe:
    """Connect once, at most 5 s; never raises for what is wrong with the source."""
    try:
        with open_session(source) as session:
            privileges = session.can_write()
            server = session.server
    except ToolFailure as failure:
        return Probe(False, failure.message, (), "")
    if source.dialect == "sqlite":
        return Probe(True, None, (), f"{server}, file opened read-only")
    if privileges is None:
        return Probe(True, None, (), f"{server}, read-only transaction, account can only read")
    warning = (
        f"the account of source {source.name!r} can write ({privileges}): "
        "every session is read-only, but give it an account with SELECT only"
    )
    return Probe(True, None, (warning,), f"{server}, read-only transaction, account can write")

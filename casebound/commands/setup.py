"""`casebound setup`: declares on a server of one's own what the embedded stack has from its start."""

from __future__ import annotations

import os

from temporalio.service import RPCError

from casebound import search_attributes
from casebound.cli_errors import Exit, UsageError, say
from casebound.temporal import connect_configured


async def setup() -> int:
    """Declare the search attributes that the namespace does not have."""
    if not os.environ.get("TEMPORAL_ADDRESS"):
        raise UsageError("set TEMPORAL_ADDRESS to the server to set up; the embedded stack needs no setup")
    client = await connect_configured()
    try:
        declared = await search_attributes.declare(client)
    except RPCError as error:
        raise UsageError(
            f"the search attributes were not declared: {error.message}\n"
            f"  fix: let an operator declare them in namespace {client.namespace!r}, each of type Keyword: "
            + ", ".join(search_attributes.ALL)
        ) from error
    there = [name for name in search_attributes.ALL if name not in declared]
    for names, what in ((declared, "declared"), (there, "there already")):
        if names:
            say(f"{what} in namespace {client.namespace!r}: {', '.join(names)}")
    return Exit.OK

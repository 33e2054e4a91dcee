"""The search attributes by which runs can be listed, and which of them a server has.

Writing an unknown one at the start is an error and from a workflow hangs it, so the starter asks
first and puts the answer into the run's input. They are named in `workflows.attributes`.
"""

from __future__ import annotations

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import ListSearchAttributesRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from workflows import attributes

OWNER = attributes.OWNER

ALL = tuple(key.name for key in attributes.ALL)
"""Their names; all are of type Keyword."""

_NOT_TOLD = (RPCStatusCode.UNIMPLEMENTED, RPCStatusCode.PERMISSION_DENIED, RPCStatusCode.UNAUTHENTICATED)
"""Servers that do not let a client ask; runs then go without search attributes."""


async def known(client: Client) -> tuple[str, ...]:
    """Ask the server which of casebound's search attributes exist in the client's namespace as Keyword."""
    try:
        answer = await client.operator_service.list_search_attributes(
            ListSearchAttributesRequest(namespace=client.namespace)
        )
    except RPCError as error:
        if error.status in _NOT_TOLD:
            return ()
        raise
    keyword = IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
    return tuple(name for name in ALL if answer.custom_attributes.get(name) == keyword)

"""The search attributes by which runs can be listed, and which of them a server has.

Writing an unknown one at the start is an error and from a workflow hangs it, so the starter asks
first and puts the answer into the run's input. They are named in `workflows.attributes`.
"""

from __future__ import annotations

import time
from weakref import WeakKeyDictionary

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, ListSearchAttributesRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from workflows import attributes

OWNER = attributes.OWNER

ALL = tuple(key.name for key in attributes.ALL)
"""Their names; all are of type Keyword."""

REMEMBERED_S = 60.0
"""How long an answer holds for starts of runs: a dev server keeps a connection open for each time it is asked."""

_NOT_TOLD = (RPCStatusCode.UNIMPLEMENTED, RPCStatusCode.PERMISSION_DENIED, RPCStatusCode.UNAUTHENTICATED)
"""Servers that do not let a client ask; runs then go without search attributes."""

_answers: WeakKeyDictionary[Client, tuple[float, tuple[str, ...]]] = WeakKeyDictionary()


async def declare(client: Client) -> tuple[str, ...]:
    """Declare those that the client's namespace does not have yet; returns their names.

    Raises:
        RPCError: the server does not let a client declare them, or has one of the names with another type.
    """
    missing = [name for name in ALL if name not in await known(client)]
    if missing:
        keyword = IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
        request = AddSearchAttributesRequest(
            namespace=client.namespace, search_attributes=dict.fromkeys(missing, keyword)
        )
        await client.operator_service.add_search_attributes(request)
    return tuple(missing)


async def recently_known(client: Client) -> tuple[str, ...]:
    """Like `known`, of an answer that is at most `REMEMBERED_S` old."""
    now = time.monotonic()
    asked, names = _answers.get(client, (now - REMEMBERED_S, ()))
    if now - asked >= REMEMBERED_S:
        names = await known(client)
        _answers[client] = (now, names)
    return names


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

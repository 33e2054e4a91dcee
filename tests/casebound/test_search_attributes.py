"""Asking a server for its search attributes."""

from __future__ import annotations

import pytest
from temporalio.api.operatorservice.v1 import ListSearchAttributesResponse
from temporalio.client import Client

from activities.contracts import RunInput
from casebound import search_attributes
from casebound.client import start_run


async def test_many_starts_ask_the_server_once(temporal_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dev server keeps a connection open each time it is asked; after a minute it is asked again."""
    asked = 0
    ask = temporal_client.operator_service.list_search_attributes

    async def counted(request: object) -> ListSearchAttributesResponse:
        nonlocal asked
        asked += 1
        return await ask(request)  # pyright: ignore[reportArgumentType]

    client = Client(
        temporal_client.service_client,
        namespace=temporal_client.namespace,
        data_converter=temporal_client.data_converter,
    )
    monkeypatch.setattr(temporal_client.operator_service, "list_search_attributes", counted)
    for _ in range(3):
        started = await start_run(client, RunInput(question="Why?"), task_queue="nobody", source="test")
        assert started.not_listed_by == ()
        await started.handle.terminate()
    assert asked == 1
    monkeypatch.setattr(search_attributes, "REMEMBERED_S", 0.0)
    assert await search_attributes.recently_known(client) == search_attributes.ALL
    assert asked == 2

"""Workers of a deployment: an open run goes over to the current build, or stays with the one it began on."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest
from temporalio.api.enums.v1 import RoutingConfigUpdateState
from temporalio.api.workflowservice.v1 import DescribeWorkerDeploymentRequest, SetWorkerDeploymentCurrentVersionRequest
from temporalio.client import Client
from temporalio.service import RPCError

from boundary.report import Verdict
from casebound.settings import Settings, WorkerSettings
from tests.steering.doubles import HeldPlanner
from tests.support.runs import Harness, call, calls, cite, claim, report
from tests.support.tools import FakeTool
from tests.support.waiting import wait_until

SCRIPT = [calls(call("first", arguments={"q": 1})), report(claim("q", cite("first", pointer="/echo")))]


async def make_current(client: Client, deployment: str, build_id: str) -> None:
    """Route the deployment's tasks to a build, and wait until every task queue knows.

    The server learns of a build by its worker's first poll.
    """
    request = SetWorkerDeploymentCurrentVersionRequest(
        namespace=client.namespace, deployment_name=deployment, build_id=build_id, identity="test"
    )

    async def taken() -> bool:
        try:
            await client.workflow_service.set_worker_deployment_current_version(request)
        except RPCError:
            return False
        return True

    async def known() -> bool:
        described = await client.workflow_service.describe_worker_deployment(
            DescribeWorkerDeploymentRequest(namespace=client.namespace, deployment_name=deployment)
        )
        state = described.worker_deployment_info.routing_config_update_state
        return state == RoutingConfigUpdateState.ROUTING_CONFIG_UPDATE_STATE_COMPLETED

    await wait_until(taken, description=f"build {build_id} is current", timeout=30)
    await wait_until(known, description=f"every queue knows of build {build_id}", timeout=90)


ASKED: dict[str, tuple[list[int], list[int]]] = {"auto-upgrade": ([1], [2]), "pinned": ([1, 2], [])}
"""Turns that the planners of the first and of the second build are asked for."""


@pytest.mark.timeout(180)
@pytest.mark.parametrize("versioning", ASKED)
async def test_an_open_run_goes_over_to_the_current_build_unless_it_is_pinned(
    runs: Harness,
    temporal_client: Client,
    task_queue: str,
    versioning: Literal["auto-upgrade", "pinned"],
) -> None:
    """Begun on the first build, which still serves; its planner and tools are those of the build it is on."""

    def build(build_id: str) -> Harness:
        worker = WorkerSettings(graceful_shutdown_s=0, deployment=task_queue, build_id=build_id, versioning=versioning)
        return replace(runs, settings=Settings(worker=worker))

    old, new = HeldPlanner(1, SCRIPT), HeldPlanner(9, SCRIPT)
    async with build("1").worker(old, [FakeTool()]):
        await make_current(temporal_client, task_queue, "1")
        handle = await runs.start()
        await old.entered.wait()
        async with build("2").worker(new, [FakeTool()]):
            await make_current(temporal_client, task_queue, "2")
            old.open.set()
            done = await runs.finished(handle, await handle.result())
    assert done.result.verdict is Verdict.SUPPORTED
    assert ([plan.number for plan in old.asked], [plan.number for plan in new.asked]) == ASKED[versioning]


def test_the_embedded_stack_takes_no_part_in_versioning() -> None:
    """Nobody would make a build current there, and its runs would wait for ever."""
    settings = Settings(worker=WorkerSettings(deployment="shop", build_id="7"))
    assert settings.on_one_worker().worker.deployment is None

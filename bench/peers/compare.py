"""The same ten calls of 100 KB by casebound and its peers: `python -m bench.peers.compare [ROUNDS]`.

On one server, each round in another order, each run on a worker of its own. No model is asked: fakes
ask for the tool ten times. casebound's run stores its evidence in Valkey and has its report checked;
the peers have neither.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Any
from uuid import uuid4

from agents import set_tracing_disabled
from pydantic_ai.durable_exec.temporal import PydanticAIPlugin
from temporalio.client import Client
from temporalio.openai_agents import OpenAIAgentsPlugin
from temporalio.runtime import Runtime, TelemetryConfig
from temporalio.worker import Worker

from bench import history
from bench.peers.openai_agents_runs import OpenAIAgentsRun, Provider, search_logs
from bench.peers.pydantic_ai_runs import PydanticAIRun
from bench.peers.task import ANSWER, CALLS, PROMPT, RESULT_BYTES
from bench.setting import IDENTITY, Rounds, Setting, median, print_table, servers

Done = tuple[int, int, float]
"""History bytes, events, seconds."""


async def casebound(setting: Setting) -> Done:
    """Run casebound."""
    done = await history.run(setting, RESULT_BYTES)
    return done.size, done.events, done.seconds


async def pydantic_ai(setting: Setting) -> Done:
    """Run pydantic-ai."""
    return await _run(setting, PydanticAIPlugin(), PydanticAIRun, [])


async def openai_agents(setting: Setting) -> Done:
    """Run the OpenAI Agents SDK."""
    return await _run(setting, OpenAIAgentsPlugin(model_provider=Provider()), OpenAIAgentsRun, [search_logs])


async def _run(setting: Setting, plugin: Any, run: type[Any], activities: list[Any]) -> Done:
    address = setting.client.service_client.config.target_host
    client = await Client.connect(address, plugins=[plugin], identity=IDENTITY)
    queue = f"peer-{uuid4()}"
    async with Worker(client, task_queue=queue, workflows=[run], activities=activities, build_id="cb"):
        start = time.perf_counter()
        handle = await client.start_workflow(run.run, PROMPT, id=queue, task_queue=queue)
        answer = await asyncio.wait_for(handle.result(), 60)
        seconds = time.perf_counter() - start
    assert answer == ANSWER, answer
    info = (await handle.describe()).raw_description.workflow_execution_info
    return info.history_size_bytes, info.history_length, seconds


PEERS: dict[str, Callable[[Setting], Awaitable[Done]]] = {
    "casebound": casebound,
    f"pydantic-ai {version('pydantic-ai-slim')}": pydantic_ai,
    f"OpenAI Agents plugin {version('temporalio-openai-agents')}": openai_agents,
}


async def measure(rounds: int) -> None:
    """Run and print."""
    set_tracing_disabled(True)
    Runtime.set_default(Runtime(telemetry=TelemetryConfig(logging=None)))  # it warns of every large payload
    done: dict[str, list[Done]] = {name: [] for name in PEERS}
    async with servers() as setting:
        for peer in PEERS.values():  # warm up
            await peer(setting)
        for _ in Rounds(rounds, 60):
            for name in random.sample(list(PEERS), len(PEERS)):
                done[name].append(await PEERS[name](setting))
    first = next(iter(done.values()))
    size, seconds = median(one[0] for one in first), median(one[2] for one in first)
    rows: list[list[str | float]] = [
        [
            name,
            int(median(one[0] for one in runs)),
            median(one[0] for one in runs) / size,
            int(median(one[1] for one in runs)),
            median(one[2] for one in runs),
            median(one[2] for one in runs) / seconds,
        ]
        for name, runs in done.items()
    ]
    head = ["", "history bytes", "ratio", "events", "s", "ratio"]
    print_table(f"{CALLS} calls of {RESULT_BYTES} bytes, {len(first)} rounds", head, rows)


if __name__ == "__main__":
    asyncio.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 7))

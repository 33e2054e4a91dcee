"""A secret in the arguments of a call: where it stands by contract, and that it is nowhere else.

By contract are the record's request, the activity's input, and the stored turn of the planner that
asked, which is where both come from. What is shown to people of these three is masked.
"""

from __future__ import annotations

import json

import pytest

from boundary.contracts import CallError, JsonObject, call_error
from boundary.errors import ErrorCode
from tests.secrets import sinks
from tests.secrets.planted import FORMS, found_in, secret, text
from tests.secrets.sinks import Logs
from tests.secrets.test_sinks_of_runs import everything
from tests.support.runs import Harness, call, calls, report
from tests.support.tools import ANY_OBJECT, FakeTool

NAMES = ("echoes", "refuses", "strict")

CARRIED = (("ACTIVITY_TASK_COMPLETED", "casebound.plan"), *(("ACTIVITY_TASK_SCHEDULED", name) for name in NAMES))
"""Events of the history that a planner's calls stand in: its turn, and the inputs of the tools."""

ONE_OF: JsonObject = {
    "type": "object",
    "properties": {"at": {"enum": ["a", "b"]}, "password": {"type": "integer"}},
    "additionalProperties": False,
}


def _refuse(arguments: JsonObject) -> CallError:
    return call_error(ErrorCode.INVALID_ARGUMENTS, f"there is no {arguments['at']}")


TOOLS = [
    FakeTool("echoes", schema=ANY_OBJECT),
    FakeTool("refuses", schema=ANY_OBJECT, refuse=_refuse),
    FakeTool("strict", schema=ONE_OF),
]


@pytest.mark.timeout(120)
async def test_a_secret_in_arguments_is_shown_nowhere(runs: Harness, logs: Logs) -> None:
    """Not by a tool that echoes it, a refusal or a schema's fault that quotes it, nor a text that is no JSON."""
    at = [{"at": text("arguments", number), "password": secret("arguments", number)} for number in range(len(FORMS))]
    asked = [calls(*(call(f"{tool.name}-{n}", tool.name, one) for n, one in enumerate(at))) for tool in TOOLS]
    asked.append(
        calls(*(call(f"broken-{n}", "echoes", f'{{"password": {one["password"]}}}') for n, one in enumerate(at)))
    )
    asked.append(calls(*(call(f"keyed-{n}", "strict", {one["at"]: 1}) for n, one in enumerate(at))))
    async with runs.worker([*asked, report()], TOOLS):
        handle = await runs.start(max_tool_calls=5 * len(FORMS))
        result = await handle.result()
        told = dict(await sinks.of_queries(handle))
    done = await runs.finished(handle, result)
    found = told | await everything(runs, handle, done, logs)
    # At this level the SDK logs whole tasks; `casebound` starts no worker that does.
    found["logs"] = "\n".join(line for line in logs.lines if not line.startswith("DEBUG temporalio."))
    assert len(done.records) == 5 * len(FORMS)
    shown = {name: content for name, content in found.items() if not _by_contract(name)}
    shown |= {name: _without_request(content) for name, content in found.items() if name.endswith(":record")}
    shown |= dict(sinks.of_summaries(done.history))
    assert found_in(shown, "arguments") == []
    assert len({sink.split(" in ")[0] for sink in found_in(found, "arguments")}) == len(FORMS)


def _by_contract(sink: str) -> bool:
    """Tell whether a planner's arguments stand there as they are."""
    if sink.startswith("event "):
        return tuple(sink.split()[2:]) in CARRIED
    return ":turn:" in sink or sink.endswith(":record")


def _without_request(record: str) -> str:
    fields = json.loads(record)
    assert fields.pop("request")
    return json.dumps(fields)

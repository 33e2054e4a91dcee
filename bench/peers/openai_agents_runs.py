"""An agent on the OpenAI Agents SDK and its Temporal plugin.

Its model is a class that asks for the tool ten times and then answers.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

from temporalio import activity, workflow

with workflow.unsafe.imports_passed_through():
    from agents import Agent, Model, ModelProvider, ModelResponse, Runner, Usage
    from openai.types.responses import ResponseFunctionToolCall
    from temporalio.openai_agents import workflow as openai_workflow
    from temporalio.openai_agents.testing import ResponseBuilders

    from bench.peers.task import ANSWER, CALLS, TOOL, WANTED, observe


@activity.defn(name=TOOL)
async def search_logs(source: str, pattern: str, limit: int) -> dict[str, int | str]:
    """Search a log."""
    return observe()


class Deciding(Model):
    """Asks for the next call, or answers."""

    async def get_response(self, system_instructions: str | None, input: Any, *rest: Any, **more: Any) -> ModelResponse:
        """See `agents.Model`."""
        items = [] if isinstance(input, str) else input
        done = sum(item.get("type") == "function_call_output" for item in items)
        if done == CALLS:
            return ResponseBuilders.output_message(ANSWER)
        asked = ResponseFunctionToolCall(
            arguments=json.dumps(WANTED), call_id=f"step-{done}", name=TOOL, type="function_call"
        )
        return ModelResponse(output=[asked], usage=Usage(), response_id=None)

    def stream_response(self, *rest: Any, **more: Any) -> AsyncIterator[Any]:
        """See `agents.Model`; the runs compared do not stream."""
        raise NotImplementedError


class Provider(ModelProvider):
    """Gives that model under every name."""

    def get_model(self, model_name: str | None) -> Model:
        """See `agents.ModelProvider`."""
        return Deciding()


@workflow.defn
class OpenAIAgentsRun:
    """Runs the agent."""

    @workflow.run
    async def run(self, prompt: str) -> str:
        """Run the agent to its answer."""
        tool = openai_workflow.activity_as_tool(search_logs, start_to_close_timeout=timedelta(seconds=60))
        agent = Agent(name="bench", model="deciding", tools=[tool])
        return (await Runner.run(agent, prompt, max_turns=CALLS + 2)).final_output

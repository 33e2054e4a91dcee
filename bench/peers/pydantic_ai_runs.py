"""An agent on pydantic-ai's own Temporal integration, `TemporalDurability` and `PydanticAIPlugin`.

Its model is a function that asks for the tool ten times and then answers.
"""

from __future__ import annotations

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from pydantic_ai import Agent
    from pydantic_ai.durable_exec.temporal import PydanticAIWorkflow, TemporalDurability
    from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    from bench.peers.task import ANSWER, CALLS, TOOL, WANTED, observe


def decide(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Ask for the next call, or answer."""
    done = sum(isinstance(part, ToolReturnPart) for message in messages for part in message.parts)
    if done == CALLS:
        return ModelResponse(parts=[TextPart(ANSWER)])
    return ModelResponse(parts=[ToolCallPart(TOOL, WANTED, tool_call_id=f"step-{done}")])


agent = Agent(FunctionModel(decide), name="bench", capabilities=[TemporalDurability()])


@agent.tool_plain(name=TOOL)
async def search_logs(source: str, pattern: str, limit: int) -> dict[str, int | str]:
    """Search a log."""
    return observe()


@workflow.defn
class PydanticAIRun(PydanticAIWorkflow):
    """Runs the agent."""

    __pydantic_ai_agents__ = (agent,)

    @workflow.run
    async def run(self, prompt: str) -> str:
        """Run the agent to its answer."""
        return (await agent.run(prompt)).output

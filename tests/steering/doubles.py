"""A tool and a planner that wait until the test lets them go."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from activities.contracts import PlanInput
from activities.planners.port import RunView, Turn
from activities.planners.scripted import Scripted, ScriptedPlanner
from boundary.contracts import JsonObject, JsonValue
from boundary.tools import ToolContext


class Gate:
    """A tool's work that waits until it is let go."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self.open = asyncio.Event()

    async def __call__(self, arguments: JsonObject, context: ToolContext) -> JsonValue:
        """Say that the tool runs, and wait."""
        self.entered.set()
        await self.open.wait()
        return {"echo": arguments}


class HeldPlanner(ScriptedPlanner):
    """Plays a script, but from the turn of one number on waits until it is let go."""

    def __init__(self, number: int, script: Sequence[Scripted]) -> None:
        super().__init__(script)
        self.number = number
        self.entered = asyncio.Event()
        self.open = asyncio.Event()
        self.asked: list[PlanInput] = []

    async def next_turn(self, plan: PlanInput, run: RunView) -> Turn:
        """See `Planner.next_turn`."""
        self.asked.append(plan)
        if plan.number >= self.number:
            self.entered.set()
            await self.open.wait()
        return await super().next_turn(plan, run)

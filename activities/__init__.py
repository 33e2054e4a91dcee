"""Everything that touches the world inside an activity: tool calls, planners, report check, tools.

Above it: `casebound` composes the worker; `workflows` knows only `activities.contracts`.
Below it: `boundary`.
"""

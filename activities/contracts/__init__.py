"""Every model that crosses the Temporal line between workflow, activities and clients.

One input and one output model per activity. All frozen, JSON, light: pydantic and `boundary`'s
light modules only. Extend by optional fields with defaults, so that old histories still replay.
Field names are spelled out; values equal to their default are not written (`casebound.converter`).
Times are Unix milliseconds by server time unless a name says seconds.
"""

from activities.contracts.records import (
    CHECK_REPORT,
    CLOSE_RUN,
    OPEN_RUN,
    PLAN,
    SETTLE_CALLS,
    CloseRunInput,
    LostCall,
    OpenedRun,
    OpenRunInput,
    SettleCallsInput,
    SettledCalls,
    ToolCallInput,
)
from activities.contracts.runs import (
    LONGEST_S,
    QUESTION_MAX,
    RECORD_TTL_DEFAULT_S,
    RECORD_TTL_MARGIN_S,
    RUNBOOK_MAX_BYTES,
    FailedCall,
    ListedCall,
    OfRun,
    PlannerRef,
    RunBudget,
    RunInput,
    RunLimits,
    RunOutcome,
    RunResult,
    ToolLimits,
    Usage,
)
from activities.contracts.steering import (
    CallProgress,
    RunProgress,
    StopInput,
    StopResult,
)
from activities.contracts.turns import (
    BudgetLeft,
    CallResult,
    CatalogEntry,
    CheckedReport,
    CheckReportInput,
    PlanInput,
    PlannedTurn,
    TurnMode,
)

__all__ = [
    "CHECK_REPORT",
    "CLOSE_RUN",
    "LONGEST_S",
    "OPEN_RUN",
    "PLAN",
    "QUESTION_MAX",
    "RECORD_TTL_DEFAULT_S",
    "RECORD_TTL_MARGIN_S",
    "RUNBOOK_MAX_BYTES",
    "SETTLE_CALLS",
    "BudgetLeft",
    "CallProgress",
    "CallResult",
    "CatalogEntry",
    "CheckReportInput",
    "CheckedReport",
    "CloseRunInput",
    "FailedCall",
    "ListedCall",
    "LostCall",
    "OfRun",
    "OpenRunInput",
    "OpenedRun",
    "PlanInput",
    "PlannedTurn",
    "PlannerRef",
    "RunBudget",
    "RunInput",
    "RunLimits",
    "RunOutcome",
    "RunProgress",
    "RunResult",
    "SettleCallsInput",
    "SettledCalls",
    "StopInput",
    "StopResult",
    "ToolCallInput",
    "ToolLimits",
    "TurnMode",
    "Usage",
]

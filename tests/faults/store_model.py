"""What a store of records promises, in a dictionary: an independent account to hold real stores against.

It shares no code with `boundary.store` or `boundary.record`; where both agree, both read design
section 4 the same way. States are compared, not bytes: a nonce begins once, so two states of a
record are equal exactly if its bytes are.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

MAX_LOST = 3

Identity = tuple[int, int, str]
"""Turn, position and argument text."""

Key = tuple[str, str]
"""Run id and tool call id."""


@dataclass(frozen=True)
class State:
    """A record."""

    identity: Identity
    owner: str
    created_ms: int
    expires_ms: int
    status: str = "PROJECTING"
    executions: int = 1
    failures: int = 0
    settled_ms: int | None = None
    evidence: str = "UNKNOWN"
    error: str | None = None
    raw: bytes | None = None
    agent: bytes | None = None

    @property
    def settled(self) -> bool:
        """Whether it may never change again."""
        return self.status != "PROJECTING"


@dataclass(frozen=True)
class Outcome:
    """How a call may be settled."""

    error: str | None = None
    evidence: str = "ERROR"
    raw: bytes | None = None
    agent: bytes | None = None

    def of(self, state: State, now_ms: int) -> State:
        """The state settled so."""
        return replace(
            state,
            status="READY" if self.error is None else "ERROR",
            settled_ms=now_ms,
            evidence=self.evidence,
            error=self.error,
            raw=self.raw,
            agent=self.agent,
        )


Answer = State | str
"""The state of the record an operation answers with, or the name of the error it raises."""


@dataclass
class Model:
    """The store."""

    records: dict[Key, State] = field(default_factory=dict)

    def begin(self, key: Key, fresh: State, now_ms: int, verdict: str | None) -> Answer:
        """Create, take over, settle or find."""
        refusal = Outcome(verdict) if verdict else None
        if refusal:
            fresh = refusal.of(replace(fresh, executions=0), now_ms)
        held = self.records.get(key)
        if held is None:
            if fresh.expires_ms <= now_ms:
                return "RecordExpired"
            self.records[key] = fresh
            return fresh
        if held.expires_ms <= now_ms:
            return "RecordExpired"
        if held == fresh:
            return held
        if held.identity != fresh.identity:
            return "DuplicateToolCallId"
        if held.settled:
            return held
        if not refusal and held.executions - held.failures > MAX_LOST:
            refusal = Outcome("WORKER_LOST")
        after = replace(held, owner=fresh.owner, executions=held.executions + 1)
        self.records[key] = refusal.of(held, now_ms) if refusal else after
        return self.records[key]

    def settle(self, key: Key, held: State, outcome: Outcome, now_ms: int) -> Answer:
        """Settle what an owner holds."""
        return self._replace(key, held, outcome.of(held, now_ms), now_ms)

    def count_failure(self, key: Key, held: State, now_ms: int) -> Answer:
        """Count a failure of what an owner holds."""
        return self._replace(key, held, replace(held, failures=held.failures + 1), now_ms)

    def visible(self, now_ms: int) -> dict[Key, State]:
        """What any read may find."""
        return {key: state for key, state in self.records.items() if state.expires_ms > now_ms}

    def _replace(self, key: Key, held: State, after: State, now_ms: int) -> Answer:
        if held.settled:
            return "LifecycleError"
        there = self.records[key]
        if there.expires_ms <= now_ms:
            return "RecordExpired"
        if there == held:
            self.records[key] = after
        elif there != after and not there.settled:
            return "StaleAttempt"
        return self.records[key]

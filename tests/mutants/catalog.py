"""The mutants: one broken promise each, and the test that must fail for it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One change of the product's text that breaks a promise."""

    name: str
    file: str
    old: str
    """Stands in the file exactly once."""
    new: str
    test: str
    """Node id, or a prefix of node ids, of the test that must fail."""


STORE = "tests/boundary/test_store.py"
BOUNDARY = "tests/boundary/test_tool_boundary.py"

MUTANTS = (
    Mutant(
        "a Redis store without compare-and-set",
        "boundary/redis_backend.py",
        "if held[1] ~= ARGV[2] then return {1, held[1] or ''} end",
        "",
        f"{STORE}::test_a_second_begin_takes_the_call_over_and_the_first_cannot_settle[valkey]",
    ),
    Mutant(
        "an in-memory store without compare-and-set",
        "boundary/memory_backend.py",
        'if held.get("record", b"") != expected:',
        "if False:",
        f"{STORE}::test_a_second_begin_takes_the_call_over_and_the_first_cannot_settle[memory]",
    ),
    Mutant(
        "a TTL renewed on update",
        "boundary/redis_backend.py",
        'redis.call(\'HSET\', KEYS[1], unpack(ARGV, 3))\nreturn {0}\n""")\n\nPUT',
        "redis.call('HSET', KEYS[1], unpack(ARGV, 3))\n"
        'redis.call(\'PEXPIRE\', KEYS[1], 99999999)\nreturn {0}\n""")\n\nPUT',
        "tests/time/test_expiry.py",
    ),
    Mutant(
        "an expired leftover that is created again",
        "boundary/memory_backend.py",
        'return Existing(held.get(identity, b"")) if self._alive(key, now_ms) else Expired()',
        'if self._alive(key, now_ms):\n                return Existing(held.get(identity, b""))',
        f"{STORE}::test_an_expired_record_cannot_be_settled_taken_over_or_created_again[memory]",
    ),
    Mutant(
        "a settled record that is executed again",
        "boundary/store.py",
        "        if found.settled:\n            return Settled(await self._with_agent_result(held, now_ms))\n",
        "",
        f"{STORE}::test_a_stored_outcome_wins_over_execution_and_verdict",
    ),
    Mutant(
        "a tool that runs before its record exists",
        "boundary/tool_boundary.py",
        "            begun = await self.store.begin(",
        "            if isinstance(verdict, Passed):\n"
        "                await self._observe(call, verdict, attempt)\n"
        "            begun = await self.store.begin(",
        f"{BOUNDARY}::test_the_record_exists_with_its_expiry_before_the_tool_runs",
    ),
    Mutant(
        "a settle after ownership was lost",
        "boundary/store.py",
        '            raise StaleAttempt(f"another attempt of {ours.tool_call_id!r} owns the record")',
        "            done = _settled_bytes(StoredInvocation(found, value), Failed(\n"
        '                call_error(ErrorCode.EXECUTION_ERROR, "mine")), now_ms)\n'
        "            await self._replace(StoredInvocation(found, value), {IDENTITY: done.encoded}, now_ms)\n"
        "            return done",
        f"{BOUNDARY}::test_an_attempt_that_lost_its_call_raises_stale_and_leaves_the_new_owner",
    ),
    Mutant(
        "a shutdown that settles CANCELLED",
        "activities/heartbeat.py",
        "return details is not None and details.cancel_requested",
        "return details is not None",
        "tests/crash/test_attempts_taken_away.py",
    ),
    Mutant(
        "a failed call that is not counted",
        "boundary/record.py",
        'return record.model_copy(update={"failures": record.failures + 1})',
        "return record",
        f"{BOUNDARY}::test_retryable_failures_are_counted_until_the_last_settles",
    ),
    Mutant(
        "an agent result that was not redacted",
        "boundary/evidence.py",
        "agent_result, redactions = rules.redactor.value(load(dump(projection.agent_result)))",
        "agent_result, redactions = projection.agent_result, 0",
        f"{BOUNDARY}::test_secrets_are_masked_before_the_agent_result_is_stored",
    ),
    Mutant(
        "a claim proven without saying where",
        "boundary/guard.py",
        "return Standing.PROVEN if all(placed) else Standing.CITED",
        "return Standing.PROVEN",
        "tests/runs/test_calls.py::test_what_may_not_be_cited_is_published_unproven_never_silently",
    ),
    Mutant(
        "a record that is not the one the history saw",
        "boundary/guard.py",
        "if record.record_sha256 != seen_sha256:",
        "if False:",
        "tests/boundary/test_guard.py",
    ),
    Mutant(
        "no check for a repeated id",
        "workflows/admission.py",
        "if id_mark(value) in gate.seen:",
        "if False:",
        "tests/runs/test_calls.py::test_an_id_used_in_an_earlier_turn_is_refused_and_its_record_kept",
    ),
    Mutant(
        "calls started while the run is paused",
        "workflows/tool_calls.py",
        "            await while_paused(state)\n",
        "",
        "tests/steering/test_pausing.py::test_a_run_paused_while_its_planner_thinks_holds_the_turn",
    ),
    Mutant(
        "a repeated call made again",
        "workflows/tool_calls.py",
        "return refusal(call, gate) or repetition(call, gate)",
        "return refusal(call, gate)",
        "tests/runs/test_repeated_calls.py",
    ),
    Mutant(
        "an extension past what the evidence outlives",
        "workflows/steering.py",
        "if by_ms > most * 1000:",
        "if False:",
        "tests/steering/test_extending.py",
    ),
    Mutant(
        "ids forgotten where a run goes on in another execution",
        "workflows/carrying.py",
        "state.seen = state.digests.keys() | set(_marks(carried.refused))",
        "state.seen = set()",
        "tests/workflows/test_carrying.py",
    ),
    Mutant(
        "no finalizer",
        "workflows/tool_calls.py",
        "            settled = await activity_calls.settle_calls(request)\n        except ActivityError:",
        '            raise ActivityError("", scheduled_event_id=0, started_event_id=0, identity="",\n'
        '                activity_type="", activity_id="", retry_state=None)\n        except ActivityError:',
        "tests/crash/test_cancelled_runs.py",
    ),
    Mutant(
        "a call charged twice",
        "workflows/budget.py",
        "self.run_bytes += grant if record_bytes is None else record_bytes",
        "self.run_bytes += 2 * (grant if record_bytes is None else record_bytes)",
        "tests/runs/test_calls.py::test_bytes_are_granted_reserved_and_never_exceeded",
    ),
    Mutant(
        "bytes that are not reserved while a call runs",
        "workflows/budget.py",
        "return max(self.limits.max_run_bytes - self.run_bytes - sum(self.reserved.values()), 0)",
        "return max(self.limits.max_run_bytes - self.run_bytes, 0)",
        "tests/workflows/test_budget.py",
    ),
    Mutant(
        "a turn that is made again",
        "activities/planning.py",
        "                if stored is not None:\n                    return read_stored(StoredTurn, stored).turn\n",
        "",
        "tests/crash/test_killed_workers.py::test_a_stored_turn_is_not_asked_for_again",
    ),
)

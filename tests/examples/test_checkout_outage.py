"""The recorded outage is explained from its logs, by a runbook that knows none of its values.

What the database and the team's pages add is in `test_checkout_records`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from temporalio.client import Client

from activities.contracts import RunOutcome
from boundary.contracts import EvidenceStatus, InvocationStatus
from boundary.report import CitationStatus, Standing, Verdict
from tests.casebound.programs import casebound
from tests.examples.incident import (
    EXAMPLE,
    RUNBOOK,
    Diagnosis,
    Facts,
    copied,
    diagnose,
    flat,
    rid_of,
    utc_of_access,
    utc_of_job,
    with_other_values,
)

FACTS = Facts()


def test_the_report_is_supported_and_every_claim_proven(diagnosis: Diagnosis) -> None:
    """Seventeen claims tell the chain; each citation of each was found in the run's own records."""
    result = diagnosis.run.result
    assert (result.outcome, result.verdict) == (RunOutcome.REPORTED, Verdict.SUPPORTED)
    assert [claim.standing for claim in result.claims] == [Standing.PROVEN] * 17
    assert {citation.status for claim in result.claims for citation in claim.citations} == {CitationStatus.OK}
    assert result.could_not_check == ()
    assert {stored.record.status for stored in diagnosis.run.records.values()} == {InvocationStatus.READY}


def test_nothing_of_the_runbook_was_left_out(diagnosis: Diagnosis) -> None:
    """No step lacked a value, and no claim a citation."""
    assert [remark for turn in diagnosis.run.turns for remark in turn.remarks] == []


def test_the_report_counts_what_customers_saw(diagnosis: Diagnosis) -> None:
    """Both halves of the rotated access log are counted, and local times told in UTC."""
    pages = [line for line in FACTS.refused if "GET /product/" in line]
    first, last = utc_of_access(FACTS.refused[0]), utc_of_access(FACTS.refused[-1])
    told = flat(diagnosis.claim("with 503").text)
    assert f"From {first} to {last} UTC the shop answered {len(FACTS.refused)} requests with 503" in told
    assert f"{len(pages)} of them were product pages" in told
    assert (len(FACTS.refused), len(pages)) == (433, 282)


def test_the_first_page_is_followed_into_the_application(diagnosis: Diagnosis) -> None:
    """The page's request id leads to the line that says why; the pools had a size each."""
    page = next(line for line in FACTS.refused if "GET /product/" in line)
    [why] = [line for line in FACTS.empty_pools if rid_of(page) in line]
    claim = diagnosis.claim("A product page needs a database connection")
    assert why in [citation.quote for citation in claim.citations]
    sizes = dict(re.findall(r"(app-\d) WARNING .* of (\d+) connections", "\n".join(FACTS.empty_pools)))
    assert f"of {len(FACTS.empty_pools)} requests in all" in flat(claim.text)
    assert f"the {sum(map(int, sizes.values()))} connections of {' and '.join(sorted(sizes))}" in flat(claim.text)


def test_the_waiting_checkouts_are_counted_in_three_logs(diagnosis: Diagnosis) -> None:
    """Application, slow log and InnoDB monitor tell of the same waits."""
    threads = {re.findall(r"db_thread=(\d+)", line)[0] for line in FACTS.errors}
    timeouts = re.findall(r"^# Query_time: 20\.", FACTS.slow, flags=re.M)
    told = flat(diagnosis.claim("waited for row locks").text)
    assert all("(1205, 'Lock wait timeout exceeded;" in line for line in FACTS.errors)
    assert f'All {len(FACTS.errors)} errors of the app are "Lock wait timeout exceeded" (1205) after 20 s' in told
    assert f"on {len(threads)} connections; the slow log has {len(timeouts)} such statements" in told
    first = re.findall(r"db_thread=(\d+)", FACTS.errors[0])[0]
    waited = re.findall(rf"thread id {first},(?s:.*?)WAITING (\d+) us", FACTS.reports[0])[0]
    assert f"Connection {first}, the first to fail" in told
    assert f"had waited {int(waited) / 1e6:.1f} s for a row of table shop.stock" in told


def test_the_connection_that_waits_for_nobody_is_found(diagnosis: Diagnosis) -> None:
    """Each report of the monitor was counted by a call of its own."""
    waiting = [len(re.findall(r"^LOCK WAIT", report, flags=re.M)) for report in FACTS.reports]
    [(age, rows, connection), *_, (last_age, *_)] = FACTS.holders
    assert {holder[1:] for holder in FACTS.holders} == {(rows, connection)}
    assert len(FACTS.holders) == len(FACTS.reports) == 5
    told = flat(diagnosis.claim("waits for none").text)
    assert f"In the outage's 5 reports of the InnoDB monitor, {', '.join(map(str, waiting))} transactions wait" in told
    assert f"Each shows one that has row locks and waits for none: connection {connection}, with {rows} row" in told
    assert f"open for {age} s in the first report and for {last_age} s in the last" in told
    assert [diagnosis.result(f"waiting.{number}")["matched"] for number in range(1, 6)] == waiting


def test_the_last_claim_names_the_cause_and_what_to_undo(diagnosis: Diagnosis) -> None:
    """The change, its effect on the job, and the way back."""
    [_, after] = [line for line in FACTS.lines("deploy.log") if "batch_rows" in line]
    [start] = [line for line in FACTS.lines("reconcile.log") if line.endswith(f"connection {FACTS.holders[0][2]}")]
    assert after.endswith("+ batch_rows = 0")
    assert "run 2 start, batch_rows=0" in start
    cause = diagnosis.claims[-1]
    told = flat(cause.text)
    assert told.startswith(
        "Root cause: jobs: config r87 replaces r86, which turned batch_rows = 50 into batch_rows = 0."
    )
    commit = FACTS.lines("reconcile.log")[-2]
    assert commit.endswith("INFO commit of 3000 rows")
    held = f"from {utc_of_job(start)[11:]} to {utc_of_job(commit)[11:]} UTC"
    assert f"kept {FACTS.holders[0][1]} row locks in one transaction {held}" in told
    assert told.endswith("Undo it: back to r86 (batch_rows = 50) before the job runs again.")
    assert {after, start} <= {citation.quote for citation in cause.citations}


@pytest.mark.proves("INV-ONLY-OWN-READY-EVIDENCE")
def test_what_was_not_found_rests_on_calls_that_looked(diagnosis: Diagnosis) -> None:
    """Each absence cites calls that read whole logs and found nothing; none cites a failure."""
    absences = [claim for claim in diagnosis.claims if claim.kind == "absence"]
    records = diagnosis.run.records
    empty = [call for call, stored in records.items() if stored.record.evidence_status is EvidenceStatus.NO_EVIDENCE]
    assert len(absences) == 6
    for claim in absences:
        cited = {citation.tool_call_id for citation in claim.citations} & set(empty)
        assert cited
        assert [diagnosis.result(call)["shown" if call == "sold" else "matched"] for call in cited] == [0] * len(cited)
        assert all(diagnosis.result(call)["looked_at"]["lines"] for call in cited if call != "sold")
    connection = FACTS.holders[0][2]
    assert not re.search(rf"db_thread={connection}$", "\n".join(FACTS.app), flags=re.M)
    assert f"Thread_id: {connection} " not in FACTS.slow
    assert not any(re.search(r'GET /health[^"]*" [^2]', line) for line in FACTS.access)


FED = (
    ("page", "page_in_app", r"[0-9a-f]{32}"),
    ("errors", "waiter", r"Thread_id: (\d+)"),
    ("errors", "timeouts", r"Query_time: (\d+)"),
    ("errors", "waiter_in_innodb", r"thread id (\d+)"),
    ("empty_pools", "reports", r'since":"([^"]+)'),
    ("reports", "waiting.5", r'since":"([^"]+)'),
    ("holders", "holder", r"(\d+) row lock"),
    ("holder", "run", r"connection (\d+)"),
    ("run", "commits", r"(\d{3,})"),
    ("run", "setting", r"\[-\+\] (\w+)"),
    ("run_before", "empty_pools_before", r'since":"([^"]+)'),
    ("setting", "change", r'pattern":" (\w+):'),
    ("known", "signs.1", r'text":"([^"]+)'),
    ("run", "sold", r"ordered_at > '\S+ ([\d:]+)'"),
    ("commits", "sold", r"ordered_at < '\S+ ([\d:]+)'"),
    ("setting", "meaning", r'query":"([^"]+)'),
    ("way_back", "way_back_read", r'heading":"([^"]+)'),
    ("unanswered_requests.2", "booked.2", r"[0-9a-f]{32}"),
    ("unanswered_requests.2", "booked_in_app.2", r"[0-9a-f]{32}"),
    ("booked.2", "sum_of_booked", r"IN \((\d+)"),
    ("booked.2", "bought_again", r"IN \((\d+)"),
)  # fmt: skip
"""Call that found a value, call that was fed with it, and where its arguments hold it."""


@pytest.mark.parametrize(("source", "fed", "place"), FED)
def test_a_call_was_fed_with_what_an_earlier_one_found(diagnosis: Diagnosis, source: str, fed: str, place: str) -> None:
    """The value is in the earlier result and in the later arguments, and nowhere in the runbook."""
    values = re.findall(place, diagnosis.arguments(fed))
    found = json.dumps(diagnosis.result(source))
    assert diagnosis.turn(source) < diagnosis.turn(fed)
    assert values
    assert [value for value in values if value not in found] == []
    assert [value for value in values if value in re.findall(r"\w[\w:.-]*", RUNBOOK)] == []


async def test_the_same_outage_with_other_values_gives_the_same_report_with_those(
    diagnosis: Diagnosis, temporal_client: Client, tmp_path: Path
) -> None:
    """Another day's ids, times, numbers and names: nothing of the recorded ones is typed in."""
    other = await diagnose(temporal_client, copied(tmp_path, with_other_values))
    assert other.run.result.verdict is Verdict.SUPPORTED
    assert [flat(claim.text) for claim in other.claims] == [
        with_other_values(flat(claim.text)) for claim in diagnosis.claims
    ]


async def test_without_the_change_in_the_deploy_log_the_cause_stays_open(
    temporal_client: Client, tmp_path: Path
) -> None:
    """What is found is still told; what to undo is not made up."""
    config = copied(tmp_path, lambda text: re.sub(r".* jobs: .*\n", "", text))
    texts = [flat(claim.text) for claim in (await diagnose(temporal_client, config)).claims]
    assert texts[-1] == "The chain does not lead to a change, so the root cause is open."
    assert any("It is the reconciliation job" in text for text in texts)
    assert not any("Root cause" in text or "What differs" in text for text in texts)


async def test_a_quiet_day_is_told_as_one(temporal_client: Client, tmp_path: Path) -> None:
    """With no 503 there is one claim on them, an absence."""
    config = copied(tmp_path, lambda text: re.sub(r".*(\" 50\d |pool exhausted| ERROR ).*\n", "", text))
    claims = (await diagnose(temporal_client, config)).claims
    assert "The shop answered no request with 503." in [claim.text for claim in claims]
    assert not any("Root cause" in claim.text or "root cause" in claim.text for claim in claims)


def test_the_configuration_reads_every_log_of_the_incident() -> None:
    """Each recorded file belongs to a source."""
    config = (EXAMPLE / "casebound.toml").read_text()
    names = {path.name for path in (EXAMPLE / "logs").iterdir()}
    assert {name for name in names if f"logs/{name}" not in config} == {"access.log.1.gz"}
    assert 'glob = "logs/access.log*"' in config


def test_the_command_of_the_readme_prints_its_report_and_exits_with_zero(diagnosis: Diagnosis, tmp_path: Path) -> None:
    """On a stack of its own, as `make run` does; renew the output in README.md when a claim changes."""
    files = ("--config", str(EXAMPLE / "casebound.toml"), "--runbook", str(EXAMPLE / "runbook.yaml"))
    ended = casebound(tmp_path, "diagnose", *files)
    assert ended.returncode == 0, ended.stderr
    readme = flat((EXAMPLE / "README.md").read_text())
    assert "Verdict SUPPORTED: every claim is proven" in flat(ended.stdout)
    for claim in diagnosis.claims:
        assert flat(claim.text) in flat(ended.stdout)
        assert flat(claim.text) in readme

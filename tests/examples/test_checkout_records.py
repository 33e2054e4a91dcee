"""What the shop's database and its team's pages add to the logs, and what a run does without them."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

from temporalio.client import Client

from activities.contracts import RunOutcome
from boundary.errors import ErrorCode
from boundary.report import Verdict
from tests.examples.incident import EXAMPLE, Diagnosis, Facts, Order, copied, diagnose, flat, rid_of, utc_of_job
from tests.sql.conftest import Place
from tests.sql.support import mysql_connection

FACTS = Facts()


def euros(cents: int) -> str:
    """An amount as the report writes it."""
    return f"{cents // 100}.{cents % 100:02}"


def page(name: str) -> str:
    """A page of the team."""
    return (EXAMPLE / "knowledge" / name).read_text()


def told_orders(text: str) -> list[int]:
    """Numbers of the orders that a claim lists."""
    return [int(number) for listed in re.findall(r"order (\d+(?:, \d+)*)", text) for number in listed.split(", ")]


def bought_again() -> list[tuple[Order, Order]]:
    """Each order that nobody was told of, with a later one of the same customer for the same product."""
    return [
        (first, second)
        for first in FACTS.unknown_orders
        for second in FACTS.orders
        if (first.customer_id, first.sku) == (second.customer_id, second.sku) and second.id > first.id
    ]


def test_the_database_was_kept_as_of_the_end_of_the_logs() -> None:
    """Every order of the application's log is a row, no other is, and each took one piece of its product."""
    logged = [re.search(r"\[(\w+)\] checkout sku=(\d+) order=(\d+)", line) for line in FACTS.app]
    booked = {(int(found[3]), found[1], int(found[2])) for found in logged if found}
    assert booked == {(order.id, order.request_id, order.sku) for order in FACTS.orders}
    prices = dict(FACTS.rows("SELECT sku, price_cents FROM product"))
    taken = {sku: 100_000 - qty for sku, qty in FACTS.rows("SELECT sku, qty FROM stock") if qty != 100_000}
    assert {sku: sum(order.sku == sku for order in FACTS.orders) for sku in taken} == taken
    assert sum(taken.values()) == len(FACTS.orders)
    assert all(order.paid_cents == prices[order.sku] for order in FACTS.orders)
    assert (EXAMPLE / "shop.db").stat().st_size < 300_000


def test_orders_that_customers_do_not_know_of_are_found_by_request(diagnosis: Diagnosis) -> None:
    """All ids of the unanswered checkouts were looked up in the database, page by page, and the money added up."""
    given_up = sum('" 504 ' in line for line in FACTS.unanswered)
    left = len(FACTS.unanswered) - given_up
    unknown = FACTS.unknown_orders
    told = flat(diagnosis.claim("It left something behind").text)
    assert f"{given_up + left} checkouts got no answer (nginx gave up on {given_up}, the client on {left})" in told
    assert f"the database has {len(unknown)} of their request ids among its orders" in told
    assert f"{len({order.customer_id for order in unknown})} customers" in told
    assert f"{euros(sum(order.paid_cents for order in unknown))} EUR" in told
    assert told_orders(told) == [order.id for order in unknown]
    assert {order.ordered_at[11:] for order in unknown} >= set(re.findall(r"\d\d:\d\d:\d\d", told))
    assert told.endswith("The app's log names the same orders.")


def test_what_was_bought_twice_is_named_with_the_money(diagnosis: Diagnosis) -> None:
    """Customers without an answer tried again: only the database knows that it was they."""
    pairs = bought_again()
    told = flat(diagnosis.claim("once more by the same customer").text)
    assert pairs
    assert told.startswith(f"{len(pairs)} of them were bought once more by the same customer")
    assert f"for {euros(sum(second.paid_cents for _, second in pairs))} EUR in all" in told
    assert told_orders(told) == [first.id for first, _ in pairs] + [second.id for _, second in pairs]


def test_nothing_was_sold_while_the_run_kept_its_locks(diagnosis: Diagnosis) -> None:
    """The run touched every row of stock; the run before left checkouts through."""
    runs = [line for line in FACTS.lines("reconcile.log") if re.search(r"run \d start", line)]
    commits = [line for line in FACTS.lines("reconcile.log") if "INFO commit of" in line]
    (before, after), number = (utc_of_job(line) for line in runs), runs[0].split("reconcile[")[1].split("]")[0]
    [*_, last_before], [commit] = (
        [utc_of_job(line) for line in commits if (f"[{number}]" in line) is own] for own in (True, False)
    )
    counted = [at for (at,) in FACTS.rows("SELECT counted_at FROM stock")]
    sold_before = [order for order in FACTS.orders if before < order.ordered_at < last_before]
    assert [order for order in FACTS.orders if after < order.ordered_at < commit] == []
    assert all(after <= at <= commit for at in counted)
    assert sold_before
    told = flat(diagnosis.claim("While it ran nothing was sold").text)
    assert f"it counted {len(counted)} of the {len(counted)} rows of stock" in told
    assert told.endswith(f"During the run before there were {len(sold_before)}.")


def test_the_page_of_the_job_says_what_the_setting_means_and_how_to_undo_it(diagnosis: Diagnosis) -> None:
    """It was found by the setting's name and value, which came from the deploy log."""
    [meaning] = [line for line in page("reconcile.md").splitlines() if "`batch_rows = 0` means no limit" in line]
    [rollback] = [line for line in page("reconcile.md").splitlines() if "rollback REVISION" in line]
    claim = diagnosis.claim("reconcile.md says of batch_rows = 0")
    assert {meaning, rollback} <= {citation.quote for citation in claim.citations}
    assert flat(claim.text).endswith('The way back, by "Roll back a config": jobsctl rollback r86')


def test_an_older_outage_that_looks_alike_is_told_apart_by_its_sign(diagnosis: Diagnosis) -> None:
    """The post-mortem comes first among what is known of these words; what it says to look for is not there."""
    assert diagnosis.result("known")["passages"][0]["document"] == "post-mortem-spring-sale.md"
    assert "`Too many connections`" in page("post-mortem-spring-sale.md")
    assert not any("Too many connections" in line for line in FACTS.app)
    claim = diagnosis.claim('It is not "503 in the spring sale" again')
    assert f'"Too many connections", is in none of the {len(FACTS.app)} lines of app' in flat(claim.text)
    naming = [claim for claim in diagnosis.claims if "spring" in f"{claim.text}{claim.citations}"]
    assert naming == [claim]


def test_the_notes_in_chinese_say_what_to_do_about_the_orders(diagnosis: Diagnosis) -> None:
    """Each rule of the section is quoted word for word."""
    section = page("on-call.zh.md").split("\n## ")[2]
    rules = [line for line in section.splitlines() if line.startswith("- ")]
    claim = diagnosis.claim("What to do with such orders")
    assert "取消第二单" in section
    assert [citation.quote for citation in claim.citations] == rules
    assert claim.text.splitlines()[1:] == rules


async def test_without_the_database_the_run_ends_and_says_what_it_could_not_ask(
    diagnosis: Diagnosis, temporal_client: Client, tmp_path: Path
) -> None:
    """The claims that rest on it are left out, the reason is told, the cause still is, and the log stands in."""
    config = copied(tmp_path, str)
    (tmp_path / "shop.db").unlink()
    other = await diagnose(temporal_client, config)
    assert (other.run.result.outcome, other.run.result.verdict) == (RunOutcome.REPORTED, Verdict.SUPPORTED)
    asked = [call for call in diagnosis.run.records if call.startswith(("counted", "sold", "booked."))]
    unasked = other.run.result.could_not_check
    assert {failed.tool_call_id for failed in unasked} == set(asked)
    assert {failed.error.code for failed in unasked} == {ErrorCode.UPSTREAM_UNAVAILABLE}
    assert all("there is no file" in failed.error.message for failed in unasked)
    left_out = [remark for turn in other.run.turns for remark in turn.remarks]
    assert "claim 7 was left out: step 'sold' has no 'result': the call failed (UPSTREAM_UNAVAILABLE)" in left_out
    assert "claim 14 was left out: it cites 'sum_of_booked', which was not called" in left_out
    assert other.claims[-1] == diagnosis.claims[-1]
    texts = " ".join(flat(claim.text) for claim in other.claims)
    assert not re.search("nothing was sold|the database has|once more by", texts)
    told = flat(other.claim("The database could not be asked").text)
    assert told_orders(told) == [order.id for order in FACTS.unknown_orders]


async def test_the_report_does_not_hide_that_log_and_database_disagree(temporal_client: Client, tmp_path: Path) -> None:
    """An order of the log that the database lost is not listed, and the difference is told."""
    config = copied(tmp_path, str)
    lost = FACTS.unknown_orders[0].id
    with closing(sqlite3.connect(tmp_path / "shop.db")) as shop, shop:
        shop.execute("DELETE FROM orders WHERE id = ?", (lost,))
    told = flat((await diagnose(temporal_client, config)).claim("It left something behind").text)
    assert told_orders(told) == [order.id for order in FACTS.unknown_orders[1:]]
    assert told.endswith("The app's log names others.")


async def test_an_outage_that_has_the_old_sign_is_not_told_apart_from_the_old_one(
    temporal_client: Client, tmp_path: Path
) -> None:
    """The claim that it is another one rests on a search that found nothing; here it finds a line."""
    config = copied(tmp_path, lambda text: re.sub(r"(pool exhausted: .*)", r"\1 (Too many connections)", text))
    other = await diagnose(temporal_client, config)
    assert other.result("signs.1")["matched"] == len(FACTS.empty_pools)
    assert not any("again: what" in flat(claim.text) for claim in other.claims)


async def test_without_the_pages_the_cause_is_found_all_the_same(temporal_client: Client, tmp_path: Path) -> None:
    """The pages explain; the chain does not hang on them."""
    config = copied(tmp_path, str)
    for path in (tmp_path / "knowledge").iterdir():
        path.unlink()
    other = await diagnose(temporal_client, config)
    texts = [flat(claim.text) for claim in other.claims]
    assert texts[-1].startswith("Root cause: jobs: config r87 replaces r86")
    assert not any(".md" in text for text in texts)
    assert {failed.tool_name for failed in other.run.result.could_not_check} == {"search_knowledge"}


async def test_on_mariadb_the_same_runbook_tells_the_same(
    diagnosis: Diagnosis, maria: Place, temporal_client: Client, tmp_path: Path
) -> None:
    """The shop ran on MariaDB; the snapshot stands in for it and changes nothing but the server's name."""
    config = copied(tmp_path, str)
    with closing(mysql_connection(maria.admin_url)) as server, server.cursor() as cursor:
        for table, columns in (("stock", "sku, qty, counted_qty, counted_at"), ("orders", ", ".join(Order._fields))):
            for statement in re.findall(rf"CREATE TABLE {table} .*?\)(?=;)", schema(), flags=re.DOTALL):
                cursor.execute(statement)
            rows = FACTS.rows(f"SELECT {columns} FROM {table}")
            cursor.executemany(f"INSERT INTO {table} ({columns}) VALUES ({', '.join(['%s'] * len(rows[0]))})", rows)
    config.write_text(config.read_text().replace("sqlite:///shop.db", maria.reader_url))
    other = await diagnose(temporal_client, config)
    assert other.result("sold")["server"].startswith("MariaDB")
    assert [flat(claim.text) for claim in other.claims] == [flat(claim.text) for claim in diagnosis.claims]


def schema() -> str:
    """Statements that made the shop's tables."""
    return (EXAMPLE / "record" / "schema.sql").read_text()


def test_each_unanswered_checkout_has_a_request_of_its_own() -> None:
    """Otherwise an order could be counted twice."""
    assert len({rid_of(line) for line in FACTS.unanswered}) == len(FACTS.unanswered)

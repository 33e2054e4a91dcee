"""The stock reconciliation job: compare every stock row with the warehouse count."""

from __future__ import annotations

import argparse
import configparser
import logging
import random
import time
from typing import Any

import pymysql
from pymysql.connections import Connection

PROGRESS_ROWS = 500

log = logging.getLogger("reconcile")


def connection_id(conn: Connection[Any]) -> int:
    """The number under which the database logs this connection."""
    with conn.cursor() as cur:
        cur.execute("SELECT CONNECTION_ID()")
        (number,) = cur.fetchone()
    return int(number)


def warehouse_count(qty: int, lookup_seconds: float) -> int:
    """Stand in for the slow question to the warehouse system."""
    time.sleep(lookup_seconds)
    return qty - (random.random() < 0.01)


def reconcile(conn: Connection[Any], batch_rows: int, lookup_seconds: float) -> tuple[int, int]:
    """Check all rows and return (rows checked, rows that differ).

    Each batch is one transaction. batch_rows = 0 sets no limit to the batch.
    """
    limit = f" LIMIT {batch_rows}" if batch_rows else ""
    last_sku = checked = differing = 0
    while True:
        conn.begin()
        with conn.cursor() as cur:
            cur.execute(
                "SELECT sku, qty FROM stock WHERE sku > %s ORDER BY sku" + limit + " FOR UPDATE",
                (last_sku,),
            )
            rows = cur.fetchall()
            for sku, qty in rows:
                counted = warehouse_count(qty, lookup_seconds)
                cur.execute(
                    "UPDATE stock SET counted_qty = %s, counted_at = NOW() WHERE sku = %s",
                    (counted, sku),
                )
                last_sku = sku
                checked += 1
                differing += counted != qty
                if checked % PROGRESS_ROWS == 0:
                    log.info("checked %d rows, %d differ", checked, differing)
        conn.commit()
        if rows:
            log.info("commit of %d rows", len(rows))
        if not batch_rows or len(rows) < batch_rows:
            return checked, differing


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", required=True)
    parser.add_argument("--db-port", type=int, required=True)
    parser.add_argument("--log", required=True)
    parser.add_argument("--run", type=int, required=True)
    args = parser.parse_args()
    logging.basicConfig(
        filename=args.log,
        level=logging.INFO,
        format="%(asctime)s reconcile[%(process)d] %(levelname)s %(message)s",
        datefmt="%Y-%m-%d %H:%M:%S %z",
    )
    config = configparser.ConfigParser()
    config.read(args.config)
    section = config["reconcile"]
    batch_rows = section.getint("batch_rows", 0)
    lookup_seconds = section.getint("warehouse_lookup_ms", 25) / 1000

    conn = pymysql.connect(
        host="127.0.0.1",
        port=args.db_port,
        user="shop",
        password="shop",
        database="shop",
    )
    log.info(
        "run %d start, batch_rows=%d, database connection %d",
        args.run,
        batch_rows,
        connection_id(conn),
    )
    started = time.monotonic()
    checked, differing = reconcile(conn, batch_rows, lookup_seconds)
    log.info(
        "run %d end, %d rows checked, %d differ, %.1f s",
        args.run,
        checked,
        differing,
        time.monotonic() - started,
    )
    conn.close()


if __name__ == "__main__":
    main()

"""The snapshot of the shop's database: three tables of MariaDB, copied row by row into an SQLite file."""

from __future__ import annotations

import argparse
import sqlite3
from contextlib import closing
from datetime import datetime

import pymysql

# Numbers are whole in both servers; times become the text that MariaDB shows.
TABLES = {
    "product": "sku INTEGER PRIMARY KEY, name TEXT NOT NULL, price_cents INTEGER NOT NULL",
    "stock": "sku INTEGER PRIMARY KEY, qty INTEGER NOT NULL, counted_qty INTEGER, counted_at TEXT",
    "orders": "id INTEGER PRIMARY KEY, request_id TEXT NOT NULL, customer_id INTEGER NOT NULL, "
    "sku INTEGER NOT NULL, paid_cents INTEGER NOT NULL, ordered_at TEXT NOT NULL",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--db-port", type=int, required=True)
    parser.add_argument("--out", required=True, help="a new SQLite file")
    args = parser.parse_args()
    source = pymysql.connect(
        host="127.0.0.1",
        port=args.db_port,
        user="report",
        password="report",
        database="shop",
    )
    with closing(source), source.cursor() as cur, closing(sqlite3.connect(args.out)) as target:
        # All tables as of one moment.
        cur.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
        for table, columns in TABLES.items():
            cur.execute(f"SELECT * FROM {table} ORDER BY 1")
            rows = [[str(cell) if isinstance(cell, datetime) else cell for cell in row] for row in cur.fetchall()]
            target.execute(f"CREATE TABLE {table} ({columns})")
            target.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)
        target.commit()
        target.execute("VACUUM")


if __name__ == "__main__":
    main()

"""`describe_database` says what a query needs to know, in a stable order."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from boundary.contracts import EvidenceStatus
from tests.sql.conftest import Place
from tests.sql.support import mysql_connection, mysql_rows, postgres_connection, sql


def test_mariadb_tables_are_described(maria: Place) -> None:
    """Types as declared, keys, indexes, foreign keys, comments, and about how many rows."""
    with closing(mysql_connection(maria.admin_url)) as admin:
        mysql_rows(
            admin,
            "CREATE TABLE customers (id INT UNSIGNED PRIMARY KEY COMMENT 'as in the CRM', email VARCHAR(99) UNIQUE, "
            "level ENUM('a','b') NOT NULL DEFAULT 'a') COMMENT 'who buys'",
        )
        mysql_rows(
            admin,
            "CREATE TABLE `odd orders` (id INT, customer INT UNSIGNED, at DATETIME(3), KEY by_time (at, id), "
            "CONSTRAINT who FOREIGN KEY (customer) REFERENCES customers (id))",
        )
        mysql_rows(admin, "CREATE VIEW big AS SELECT id FROM customers")
        mysql_rows(admin, "INSERT INTO customers VALUES (1, 'a@b', 'b'), (2, NULL, 'a')")
        mysql_rows(admin, "ANALYZE TABLE customers")
    result = sql(maria.reader_url, description="the shop").describe()
    assert (result["tables_total"], result["shown"], result["truncated"]) == (3, 3, False)
    assert result["description"] == "the shop"
    big, customers, orders = result["tables"]
    assert (big["name"], big["kind"]) == ("big", "view")
    assert customers == {
        "schema": maria.name,
        "name": "customers",
        "kind": "table",
        "rows": 2,
        "comment": "who buys",
        "columns": [
            {
                "name": "id",
                "type": "int(10) unsigned",
                "nullable": False,
                "key": "primary",
                "comment": "as in the CRM",
            },
            {"name": "email", "type": "varchar(99)", "nullable": True, "key": "unique"},
            {"name": "level", "type": "enum('a','b')", "nullable": False, "default": "'a'"},
        ],
        "indexes": [
            {"name": "PRIMARY", "columns": ["id"], "unique": True},
            {"name": "email", "columns": ["email"], "unique": True},
        ],
    }
    assert orders["name"] == "odd orders"
    assert {"name": "by_time", "columns": ["at", "id"], "unique": False} in orders["indexes"]
    assert orders["foreign_keys"] == [
        {
            "name": "who",
            "columns": ["customer"],
            "references": f"{maria.name}.customers",
            "referenced_columns": ["id"],
        }
    ]


def test_postgresql_tables_are_described(postgres: Place) -> None:
    """Expression indexes, arrays and defaults as its own client shows them."""
    name = postgres.name
    with closing(postgres_connection(postgres.admin_url)) as owner:
        for statement in (
            f"CREATE TABLE {name}.customers (id BIGINT PRIMARY KEY, tags TEXT[], n NUMERIC(10,2) NOT NULL DEFAULT 1.5)",
            f"COMMENT ON TABLE {name}.customers IS 'who buys'",
            f"COMMENT ON COLUMN {name}.customers.tags IS 'free words'",
            f'CREATE TABLE {name}."Odd ""orders" (id INT, customer BIGINT REFERENCES {name}.customers)',
            f'CREATE UNIQUE INDEX by_expression ON {name}."Odd ""orders" ((id + 1), customer)',
            f"CREATE VIEW {name}.big AS SELECT id FROM {name}.customers",
            f"INSERT INTO {name}.customers VALUES (1, NULL, 1), (2, NULL, 1)",
            f"ANALYZE {name}.customers",
        ):
            owner.execute(statement.encode())
    result = sql(postgres.admin_url).describe(schema=name)
    odd, big, customers = result["tables"]
    assert (odd["name"], big["kind"]) == ('Odd "orders', "view")
    assert odd["indexes"] == [{"name": "by_expression", "columns": ["(id + 1)", "customer"], "unique": True}]
    assert odd["foreign_keys"][0]["references"] == f"{name}.customers"
    assert customers == {
        "schema": name,
        "name": "customers",
        "kind": "table",
        "rows": 2,
        "comment": "who buys",
        "columns": [
            {"name": "id", "type": "bigint", "nullable": False, "key": "primary"},
            {"name": "tags", "type": "text[]", "nullable": True, "comment": "free words"},
            {"name": "n", "type": "numeric(10,2)", "nullable": False, "default": "1.5"},
        ],
        "indexes": [{"name": "customers_pkey", "columns": ["id"], "unique": True}],
    }


def test_sqlite_tables_are_described(tmp_path: Path) -> None:
    """Virtual tables too."""
    path = tmp_path / "x.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE a (id INTEGER PRIMARY KEY, n TEXT NOT NULL DEFAULT 'x' UNIQUE)")
        connection.execute("CREATE TABLE b (a_id INTEGER REFERENCES a (id), t)")
        connection.execute("CREATE VIRTUAL TABLE place USING rtree (id, x1, x2)")
    tables = {table["name"]: table for table in sql(f"sqlite:///{path}").describe()["tables"]}
    assert tables["a"]["columns"] == [
        {"name": "id", "type": "INTEGER", "nullable": False, "key": "primary"},
        {"name": "n", "type": "TEXT", "nullable": False, "key": "unique", "default": "'x'"},
    ]
    assert tables["b"]["foreign_keys"] == [{"columns": ["a_id"], "references": "main.a", "referenced_columns": ["id"]}]
    assert [column["name"] for column in tables["place"]["columns"]] == ["id", "x1", "x2"]


def test_tables_are_chosen_by_name_and_paged(maria: Place) -> None:
    """A star stands for anything; the order is the same each time."""
    with closing(mysql_connection(maria.admin_url)) as admin:
        for number in range(7):
            mysql_rows(admin, f"CREATE TABLE log_{number} (a INT)")
        mysql_rows(admin, "CREATE TABLE other (a INT)")
    tools = sql(maria.reader_url)
    first = tools.describe(table="LOG_*", limit=3, detail="names")
    assert [table["name"] for table in first["tables"]] == ["log_0", "log_1", "log_2"]
    assert (first["tables_total"], first["next_offset"]) == (7, 3)
    assert "columns" not in first["tables"][0]
    last = tools.describe(table="log_*", limit=3, offset=6)
    assert [table["name"] for table in last["tables"]] == ["log_6"]
    assert "next_offset" not in last


def test_tables_over_the_budget_are_left_out_whole(maria: Place) -> None:
    """And the next page begins with the first that was."""
    with closing(mysql_connection(maria.admin_url)) as admin:
        for number in range(10):
            columns = ", ".join(f"column_{place} INT" for place in range(30))
            mysql_rows(admin, f"CREATE TABLE wide_{number} ({columns})")
    tools = sql(maria.reader_url)
    page = tools.describe(budget=6000)
    assert 0 < page["shown"] < 10
    assert (page["tables_total"], page["truncated"], page["next_offset"]) == (10, True, page["shown"])
    assert tools.describe(budget=6000, offset=page["next_offset"])["tables"][0]["name"] == f"wide_{page['shown']}"
    tiny = tools.describe(budget=900)
    assert (tiny["shown"], tiny["truncated"], tiny["tables"][0]["name"]) == (1, True, "wide_0")
    assert 0 < len(tiny["tables"][0]["columns"]) < 30


def test_no_table_of_a_name_is_no_evidence(mariadb_url: str, postgres_url: str, shop_file: Path) -> None:
    """The tool looked, and found nothing."""
    for url in (mariadb_url, postgres_url, f"sqlite:///{shop_file}"):
        projection = sql(url).project("describe_database", source="db", table="no such table")
        assert projection.evidence_status is EvidenceStatus.NO_EVIDENCE
        assert projection.agent_result["tables_total"] == 0

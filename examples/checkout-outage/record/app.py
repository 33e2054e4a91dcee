"""The shop application: product pages, search and checkout on one MariaDB pool."""

from __future__ import annotations

import argparse
import logging
import queue
import re
import signal
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pymysql
from pymysql.connections import Connection

POOL_SIZE = 12
POOL_WAIT_SECONDS = 2.0

log = logging.getLogger("app")


class PoolExhausted(Exception):
    """No connection came free within the waiting time."""


class Pool:
    """A fixed number of open connections, handed out one request at a time."""

    def __init__(self, db_port: int) -> None:
        self._idle: queue.Queue[Connection[Any]] = queue.Queue()
        for _ in range(POOL_SIZE):
            self._idle.put(
                pymysql.connect(
                    host="127.0.0.1",
                    port=db_port,
                    user="shop",
                    password="shop",
                    database="shop",
                    autocommit=True,
                )
            )

    @contextmanager
    def connection(self) -> Generator[Connection[Any]]:
        started = time.monotonic()
        try:
            conn = self._idle.get(timeout=POOL_WAIT_SECONDS)
        except queue.Empty:
            waited = time.monotonic() - started
            raise PoolExhausted(
                f"pool exhausted: {POOL_SIZE} of {POOL_SIZE} connections in use, waited {waited:.1f} s"
            ) from None
        try:
            yield conn
        finally:
            self._idle.put(conn)

    def close(self) -> None:
        while not self._idle.empty():
            self._idle.get().close()


def connection_id(conn: Connection[Any]) -> int:
    """The number under which the database logs this connection."""
    with conn.cursor() as cur:
        cur.execute("SELECT CONNECTION_ID()")
        (number,) = cur.fetchone()
    return int(number)


def product_page(conn: Connection[Any], sku: int) -> str | None:
    with conn.cursor() as cur:
        cur.execute(
            "SELECT name, price_cents, qty FROM product JOIN stock USING (sku) WHERE sku = %s",
            (sku,),
        )
        row = cur.fetchone()
    return None if row is None else f"{row[0]}: {row[1]} cents, {row[2]} in stock\n"


def search_page(conn: Connection[Any], words: str) -> str:
    with conn.cursor() as cur:
        cur.execute(
            "SELECT p.name, COUNT(*) AS sold FROM product p "
            "JOIN order_history h USING (sku) WHERE p.name LIKE %s "
            "GROUP BY p.sku ORDER BY sold DESC LIMIT 20",
            (f"%{words}%",),
        )
        return "".join(f"{name}: {sold} sold\n" for name, sold in cur.fetchall())


def checkout(conn: Connection[Any], request_id: str, customer: int, sku: int) -> int:
    """Take one piece from the stock and return the order number."""
    conn.begin()
    try:
        with conn.cursor() as cur:
            cur.execute("UPDATE stock SET qty = qty - 1 WHERE sku = %s AND qty > 0", (sku,))
            cur.execute("SELECT price_cents FROM product WHERE sku = %s", (sku,))
            (price,) = cur.fetchone()
            cur.execute(
                "INSERT INTO orders (request_id, customer_id, sku, paid_cents, ordered_at) "
                "VALUES (%s, %s, %s, %s, NOW())",
                (request_id, customer, sku, price),
            )
            order = int(cur.lastrowid)
        conn.commit()
    except BaseException:
        conn.rollback()
        raise
    return order


class Handler(BaseHTTPRequestHandler):
    pool: Pool

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are logged by answer(), with their request id."""

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        product = re.fullmatch(r"/product/(\d+)", url.path)
        if url.path == "/health":
            self.answer(200, "ok\n")
        elif product:
            with self.database() as conn:
                body = product_page(conn, int(product[1]))
                if body is None:
                    self.answer(404, "no such product\n")
                else:
                    self.answer(200, body)
        elif url.path == "/search":
            words = parse_qs(url.query).get("q", [""])[0]
            with self.database() as conn:
                self.answer(200, search_page(conn, words))
        else:
            self.answer(404, "not found\n")

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        form = parse_qs(self.rfile.read(length).decode())
        if self.path != "/checkout" or not {"sku", "customer"} <= form.keys():
            self.answer(404, "not found\n")
            return
        sku, customer = int(form["sku"][0]), int(form["customer"][0])
        with self.database() as conn:
            thread_id = connection_id(conn)
            started = time.monotonic()
            try:
                order = checkout(conn, self.request_id(), customer, sku)
            except pymysql.OperationalError as error:
                spent = time.monotonic() - started
                self.event(
                    logging.ERROR,
                    f"checkout sku={sku} failed after {spent:.3f} s: {error} db_thread={thread_id}",
                )
                self.answer(500, "checkout failed\n")
            else:
                self.event(
                    logging.INFO,
                    f"checkout sku={sku} order={order} db_thread={thread_id}",
                )
                self.answer(200, f"order {order}\n")

    @contextmanager
    def database(self) -> Generator[Connection[Any]]:
        """Lend a connection; without one, answer 503 and leave the request."""
        try:
            with self.pool.connection() as conn:
                yield conn
        except PoolExhausted as error:
            self.event(logging.WARNING, str(error))
            self.answer(503, "try again later\n")
            raise

    def event(self, level: int, text: str) -> None:
        log.log(level, "[%s] %s", self.request_id(), text)

    def request_id(self) -> str:
        return self.headers.get("X-Request-ID", "-")

    def answer(self, status: int, body: str) -> None:
        if self.path != "/health":
            taken = time.monotonic() - self.started
            target = urlsplit(self.path).path
            self.event(logging.INFO, f"{self.command} {target} -> {status} in {taken:.3f} s")
        data = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def handle_one_request(self) -> None:
        self.started = time.monotonic()
        try:
            super().handle_one_request()
        except PoolExhausted:
            self.close_connection = True
        except (BrokenPipeError, ConnectionResetError):
            # The proxy gave up waiting. The outcome is already logged.
            self.close_connection = True


class Server(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 256


def set_up_log(path: str, name: str) -> None:
    formatter = logging.Formatter(
        f"%(asctime)s.%(msecs)03dZ {name} %(levelname)s %(message)s",
        "%Y-%m-%dT%H:%M:%S",
    )
    formatter.converter = time.gmtime
    handler = logging.FileHandler(path)
    handler.setFormatter(formatter)
    log.addHandler(handler)
    log.setLevel(logging.INFO)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--name", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--db-port", type=int, required=True)
    parser.add_argument("--log", required=True)
    parser.add_argument("--release", required=True)
    args = parser.parse_args()
    set_up_log(args.log, args.name)

    Handler.pool = Pool(args.db_port)
    server = Server(("127.0.0.1", args.port), Handler)

    def stop(signum: int, frame: object) -> None:
        threading.Thread(target=server.shutdown).start()

    signal.signal(signal.SIGTERM, stop)
    log.info("[-] release %s ready, pool of %d", args.release, POOL_SIZE)
    server.serve_forever(poll_interval=0.1)
    server.server_close()
    Handler.pool.close()
    log.info("[-] release %s stopped", args.release)


if __name__ == "__main__":
    main()

"""The visitors of the shop: customers, health checks, or one scan by a bot."""

from __future__ import annotations

import argparse
import contextlib
import http.client
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

PRODUCTS_PER_SECOND = 7.0
CHECKOUTS_PER_SECOND = 2.5
SEARCHES_PER_SECOND = 0.4
HEALTH_CHECK_SECONDS = 5.0
SKUS = 3000
CUSTOMERS = 20000
# Share of the customers without an answer who buy again, and after how many seconds.
BUY_AGAIN = 0.5
BUY_AGAIN_SECONDS = (25.0, 45.0)
# Seconds that a customer waits. Some have a bad line or no patience.
PATIENCE = (30.0, 30.0, 30.0, 30.0, 30.0, 30.0, 7.0, 4.0)
SEARCH_PATIENCE = (30.0, 30.0, 30.0, 0.34)
WORDS = ("oak", "ash", "pine", "beech", "elm", "chair", "lamp", "no. 12")
AGENTS = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Firefox/128.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) Safari/604.1",
    "Mozilla/5.0 (Linux; Android 14) Chrome/126.0 Mobile",
    "ShopApp/5.3 (Android)",
)
SCAN_PATHS = (
    "/.env",
    "/.git/config",
    "/wp-login.php",
    "/xmlrpc.php",
    "/phpmyadmin/index.php",
    "/admin/login",
    "/server-status",
    "/backup.zip",
    "/vendor/phpunit/phpunit/src/Util/PHP/eval-stdin.php",
    "/cgi-bin/luci",
)


def send(
    port: int,
    method: str,
    target: str,
    client: str,
    agent: str,
    patience: float,
    body: str | None = None,
) -> int | None:
    """Send one request; return the status, or None after the end of the client's patience."""
    headers = {
        "Host": "shop.example",
        "User-Agent": agent,
        "X-Forwarded-For": client,
    }
    if body is not None:
        headers["Content-Type"] = "application/x-www-form-urlencoded"
    status = None
    conn = http.client.HTTPConnection("127.0.0.1", port, timeout=patience)
    with contextlib.suppress(OSError, http.client.HTTPException):
        conn.request(method, target, body, headers)
        response = conn.getresponse()
        response.read()
        status = response.status
    conn.close()
    return status


def keep_arriving(per_second: float, until: float, visit: Callable[[], None]) -> None:
    """Start visits at random times; a slow answer never holds back the next one."""
    with ThreadPoolExecutor(max_workers=400) as pool:
        due = time.monotonic()
        while True:
            due += random.expovariate(per_second)
            if due >= until:
                break
            time.sleep(max(0.0, due - time.monotonic()))
            pool.submit(visit)


def comes_again(until: float) -> bool:
    """Wait as a customer without an answer does before buying again; False: this one does not."""
    pause = random.uniform(*BUY_AGAIN_SECONDS)
    if random.random() >= BUY_AGAIN or time.monotonic() + pause >= until:
        return False
    time.sleep(pause)
    return True


def customers(port: int, seconds: float) -> None:
    until = time.monotonic() + seconds

    def client() -> str:
        return f"203.0.113.{random.randint(1, 254)}"

    def product() -> None:
        send(
            port,
            "GET",
            f"/product/{random.randint(1, SKUS)}",
            client(),
            random.choice(AGENTS),
            random.choice(PATIENCE),
        )

    def checkout() -> None:
        address, agent, patience = client(), random.choice(AGENTS), random.choice(PATIENCE)
        basket = f"sku={random.randint(1, SKUS)}&customer={random.randint(1, CUSTOMERS)}"
        status = send(port, "POST", "/checkout", address, agent, patience, basket)
        if status in (None, 504) and comes_again(until):
            send(port, "POST", "/checkout", address, agent, patience, basket)

    def search() -> None:
        word = random.choice(WORDS).replace(" ", "+")
        send(
            port,
            "GET",
            f"/search?q={word}",
            client(),
            random.choice(AGENTS),
            random.choice(SEARCH_PATIENCE),
        )

    def health(checker: str) -> None:
        while time.monotonic() < until:
            send(port, "GET", "/health", checker, "lb-check/1.0", 2.0)
            time.sleep(HEALTH_CHECK_SECONDS)

    threads = [
        threading.Thread(target=keep_arriving, args=(PRODUCTS_PER_SECOND, until, product)),
        threading.Thread(target=keep_arriving, args=(CHECKOUTS_PER_SECOND, until, checkout)),
        threading.Thread(target=keep_arriving, args=(SEARCHES_PER_SECOND, until, search)),
        threading.Thread(target=health, args=("192.0.2.10",)),
        threading.Thread(target=health, args=("192.0.2.11",)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def scan(port: int, seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        target = random.choice(SCAN_PATHS)
        send(port, "GET", target, "198.51.100.23", "Mozilla/5.0 zgrab/0.x", 10.0)
        time.sleep(0.05)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("visitors", choices=("customers", "scan"))
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    args = parser.parse_args()
    if args.visitors == "customers":
        customers(args.port, args.seconds)
    else:
        scan(args.port, args.seconds)


if __name__ == "__main__":
    main()

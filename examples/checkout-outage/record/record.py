"""Record the checkout outage: run the shop, let it fail, keep what it logged and sold.

Needs nginx, mariadbd and mariadb-install-db on the machine, and pymysql for the
Python that runs this file. Takes about six minutes. Starts its
own servers on 127.0.0.1 (ports 3307, 8001, 8002, 8088) in a directory of its
own, and stops and removes all of them at the end, also after an error.

    python record.py --out NEW-DIRECTORY
"""

from __future__ import annotations

import argparse
import configparser
import contextlib
import difflib
import gzip
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pymysql
from pymysql.connections import Connection

HERE = Path(__file__).resolve().parent
DB_PORT, WEB_PORT = 3307, 8088
APP_PORTS = {"app-1": 8001, "app-2": 8002}
OFFICE_ZONE = "Europe/Berlin"
DURATION_SECONDS = 335.0
START_SECONDS = 60.0

progress = logging.getLogger("record")
deploy_log = logging.getLogger("deploy")


class Recorder:
    """The machines of the shop, all in one directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.logs = root / "logs"
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    # Processes

    def start(self, name: str, *command: str, zone: str = "UTC") -> None:
        """Start a process in a session of its own, with relative paths only."""
        with (self.root / f"{name}.out").open("ab") as output:
            self.running[name] = subprocess.Popen(
                command,
                cwd=self.root,
                env={**os.environ, "TZ": zone},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def start_python(self, name: str, file: str, *args: str, zone: str = "UTC") -> None:
        self.start(name, sys.executable, str(HERE / file), *args, zone=zone)

    def stop(self, name: str) -> None:
        """Ask a process to end; after 30 seconds, kill it and its children."""
        process = self.running[name]
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            kill_session(process)
        del self.running[name]

    def stop_all(self) -> None:
        for name in reversed(list(self.running)):
            self.stop(name)

    def kill_all(self) -> None:
        for process in self.running.values():
            kill_session(process)
        self.running.clear()

    def check_running(self, *names: str) -> None:
        for name in names:
            process = self.running[name]
            if process.poll() is not None:
                output = (self.root / f"{name}.out").read_text(errors="replace")
                raise RuntimeError(f"{name} ended: {output[-2000:]}")

    def wait_for_end(self, name: str, seconds: float) -> None:
        process = self.running[name]
        if process.wait(seconds) != 0:
            output = (self.root / f"{name}.out").read_text(errors="replace")
            raise RuntimeError(f"{name} failed: {output[-2000:]}")
        del self.running[name]

    def wait_for_port(self, name: str, port: int) -> None:
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            self.check_running(name)
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            time.sleep(0.05)
        raise RuntimeError(f"{name} does not listen on port {port}")

    # Servers

    def database_command(self, error_log: str) -> list[str]:
        return [
            server_program("mariadbd"),
            "--defaults-file=my.cnf",
            "--datadir=./data",
            "--socket=mysqld.sock",
            "--pid-file=mysqld.pid",
            f"--log-error=../logs/{error_log}",
            "--slow-query-log-file=../logs/mariadb-slow.log",
            *(["--user=root"] if os.geteuid() == 0 else []),
        ]

    def prepare(self) -> None:
        """Fill the database in a first run of the server, whose logs are dropped."""
        self.logs.mkdir()
        (self.root / "temp").mkdir()
        for name in ("my.cnf", "nginx.conf", "jobs.ini"):
            shutil.copy(HERE / name, self.root)
        subprocess.run(
            [
                server_program("mariadb-install-db"),
                "--no-defaults",
                "--datadir=./data",
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
                *(["--user=root"] if os.geteuid() == 0 else []),
            ],
            cwd=self.root,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        self.start("mariadbd", *self.database_command("prepare.log"))
        with self.admin_connection() as conn, conn.cursor() as cur:
            for statement in (HERE / "schema.sql").read_text().split(";\n"):
                if statement.strip():
                    cur.execute(statement)
        self.stop("mariadbd")
        (self.logs / "prepare.log").unlink()
        (self.logs / "mariadb-slow.log").unlink(missing_ok=True)

    def admin_connection(self) -> Connection[Any]:
        until = time.monotonic() + START_SECONDS
        while True:
            self.check_running("mariadbd")
            try:
                return pymysql.connect(
                    unix_socket=str(self.root / "data" / "mysqld.sock"),
                    user="root",
                    autocommit=True,
                )
            except pymysql.OperationalError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.2)

    def start_app(self, name: str, release: str) -> None:
        self.start_python(
            name,
            "app.py",
            f"--name={name}",
            f"--port={APP_PORTS[name]}",
            f"--db-port={DB_PORT}",
            "--log=logs/app.log",
            f"--release={release}",
        )
        self.wait_for_port(name, APP_PORTS[name])

    def start_servers(self) -> None:
        self.start("mariadbd", *self.database_command("mariadb-error.log"))
        self.wait_for_port("mariadbd", DB_PORT)
        for name in APP_PORTS:
            self.start_app(name, "2.14.0")
        self.start(
            "nginx",
            server_program("nginx"),
            *("-p", "./", "-c", "nginx.conf", "-e", "logs/nginx-error.log"),
            *(["-g", "user root;"] if os.geteuid() == 0 else []),
            zone=OFFICE_ZONE,
        )
        self.wait_for_port("nginx", WEB_PORT)

    # What happens during the recording

    def start_customers(self) -> None:
        self.start_python(
            "customers",
            "load.py",
            "customers",
            f"--port={WEB_PORT}",
            f"--seconds={DURATION_SECONDS}",
        )

    def start_scan(self) -> None:
        self.start_python("scan", "load.py", "scan", f"--port={WEB_PORT}", "--seconds=9")

    def start_report(self, number: int) -> None:
        self.start_python(f"report-{number}", "report.py", f"--db-port={DB_PORT}")

    def start_job(self, run: int) -> None:
        self.start_python(
            f"job-{run}",
            "reconcile.py",
            "--config=jobs.ini",
            f"--db-port={DB_PORT}",
            "--log=logs/reconcile.log",
            f"--run={run}",
            zone=OFFICE_ZONE,
        )

    def deploy_app(self) -> None:
        deploy_log.info("app: release 2.14.1 replaces 2.14.0, one instance at a time")
        for name in APP_PORTS:
            self.stop(name)
            deploy_log.info("app: %s stopped", name)
            self.start_app(name, "2.14.1")
            deploy_log.info("app: %s started, port %d open", name, APP_PORTS[name])
        deploy_log.info("app: release 2.14.1 done")

    def deploy_jobs(self) -> None:
        deploy_log.info("jobs: config r87 replaces r86")
        file = self.root / "jobs.ini"
        before = file.read_text()
        config = configparser.ConfigParser()
        config.read_string(before)
        config["reconcile"]["batch_rows"] = "0"
        with file.open("w") as output:
            config.write(output)
        changes = difflib.ndiff(before.split("\n"), file.read_text().split("\n"))
        for line in changes:
            if line.startswith(("- ", "+ ")) and line[2:].strip():
                deploy_log.info("jobs: jobs.ini %s", line)
        deploy_log.info("jobs: config r87 done, used from the next run on")

    def deploy_nginx(self) -> None:
        deploy_log.info("nginx: config r41 replaces r40")
        file = self.root / "nginx.conf"
        before = file.read_text()
        after = before.replace("worker_connections 1024;", "worker_connections 2048;")
        file.write_text(after)
        for line in difflib.ndiff(before.split("\n"), after.split("\n")):
            if line.startswith(("- ", "+ ")):
                deploy_log.info("nginx: nginx.conf %s", " ".join(line.split()))
        self.running["nginx"].send_signal(signal.SIGHUP)
        deploy_log.info("nginx: reloaded")

    def rotate_access_log(self) -> None:
        rotated = self.logs / "access.log.1"
        (self.logs / "access.log").rename(rotated)
        self.running["nginx"].send_signal(signal.SIGUSR1)
        time.sleep(1)
        with rotated.open("rb") as source, gzip.open(f"{rotated}.gz", "wb") as target:
            shutil.copyfileobj(source, target)
        rotated.unlink()

    def timeline(self) -> list[tuple[float, str, Callable[[], None]]]:
        return [
            (0, "customers arrive", self.start_customers),
            (25, "reconciliation run 1", lambda: self.start_job(1)),
            (70, "deploy of app release 2.14.1", self.deploy_app),
            (115, "sales report", lambda: self.start_report(1)),
            (130, "deploy of jobs config r87", self.deploy_jobs),
            (165, "scan by a bot", self.start_scan),
            (172, "deploy of nginx config r41", self.deploy_nginx),
            (178, "sales report", lambda: self.start_report(2)),
            (181, "reconciliation run 2", lambda: self.start_job(2)),
            (212, "rotation of the access log", self.rotate_access_log),
        ]

    def keep_database(self, file: Path) -> None:
        self.start_python("snapshot", "snapshot.py", f"--db-port={DB_PORT}", f"--out={file.resolve()}")
        self.wait_for_end("snapshot", START_SECONDS)

    def record(self) -> None:
        started = time.monotonic()
        servers = ("mariadbd", "nginx", *APP_PORTS)
        for at, what, action in self.timeline():
            time.sleep(max(0.0, started + at - time.monotonic()))
            self.check_running(*servers)
            progress.info("%3d s: %s", at, what)
            action()
        for name in ("customers", "scan", "report-1", "report-2", "job-1", "job-2"):
            self.wait_for_end(name, DURATION_SECONDS)
        self.check_running(*servers)
        progress.info("%3d s: end", time.monotonic() - started)


def server_program(name: str) -> str:
    """Find a program; the sbin directories are often not in a user's PATH."""
    path = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"))
    found = shutil.which(name, path=path)
    if found is None:
        raise SystemExit(f"{name} is not installed")
    return found


def kill_session(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and all children in the session that start() gave it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def check_ports_free() -> None:
    for port in (DB_PORT, WEB_PORT, *APP_PORTS.values()):
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), 1).close()
            raise SystemExit(f"port {port} is in use")


def log_deploys_to(file: Path) -> None:
    """The deploy tool writes dates as in mail (RFC 5322), in UTC."""
    formatter = logging.Formatter("%(asctime)s %(message)s", "%a, %d %b %Y %H:%M:%S +0000")
    formatter.converter = time.gmtime
    handler = logging.FileHandler(file)
    handler.setFormatter(formatter)
    deploy_log.addHandler(handler)
    deploy_log.setLevel(logging.INFO)
    deploy_log.propagate = False


def stop_on_signal(signum: int, frame: object) -> None:
    raise SystemExit(f"stopped by signal {signum}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="a new directory")
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop_on_signal)
    if args.out.exists():
        raise SystemExit(f"{args.out} exists; name a new directory with --out")
    check_ports_free()

    with tempfile.TemporaryDirectory(prefix="shop-") as directory:
        recorder = Recorder(Path(directory))
        try:
            progress.info("filling the database")
            recorder.prepare()
            log_deploys_to(recorder.logs / "deploy.log")
            recorder.start_servers()
            recorder.record()
            # Copied while all runs: the kept logs end as those of a live system.
            shutil.copytree(recorder.logs, args.out / "logs", copy_function=shutil.copyfile)
            recorder.keep_database(args.out / "shop.db")
        finally:
            try:
                recorder.stop_all()
            finally:
                recorder.kill_all()
    for file in sorted(args.out.rglob("*.*")):
        progress.info("%8d %s", file.stat().st_size, file.relative_to(args.out))


if __name__ == "__main__":
    main()

"""docker-compose.yml is valid, says what the program says, and its scripts do what it relies on.

No container runs here: the scripts run on the real programs, and the rest is compared.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from redis.exceptions import AuthenticationError, NoPermissionError
from temporalio.testing import WorkflowEnvironment

from boundary.keys import ToolCallKeyFactory
from boundary.redis_backend import RedisBackend, connect
from casebound import search_attributes
from casebound.settings import load_settings
from tests.support import redis_servers, temporal, tree
from tests.support.waiting import wait_until

COMPOSE = tree.ROOT / "docker-compose.yml"
DEPLOY = tree.ROOT / "deploy"
OURS = ("redis", "worker")
PASSWORD = "not-a-secret"


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    """The file as data."""
    return yaml.safe_load(COMPOSE.read_text())


def test_it_fits_the_compose_specification() -> None:
    """As `make check` asks it."""
    command = ["check-jsonschema", "--builtin-schema", "vendor.compose-spec", str(COMPOSE)]
    program = Path(sys.executable).parent / command[0]
    subprocess.run([str(program), *command[1:]], check=True, capture_output=True, timeout=60)


def test_ports_are_published_on_the_loopback_interface_only(compose: dict[str, Any]) -> None:
    """Temporal and its UI ask nobody who they are."""
    ports = [port for service in compose["services"].values() for port in service.get("ports", [])]
    assert ports
    assert [port for port in ports if not port.startswith("127.0.0.1:")] == []


def test_every_image_is_pinned(compose: dict[str, Any]) -> None:
    """Never `latest`, never a bare major version."""
    images = {name: service["image"] for name, service in compose["services"].items()}
    assert {name: image for name, image in images.items() if not re.search(r":\d+\.\d+", image)} == {}


def test_every_service_waits_for_what_it_needs(compose: dict[str, Any]) -> None:
    """A dependency is ready when it is healthy or has ended well, not when it was started."""
    services = compose["services"]
    for service in services.values():
        for name, how in service.get("depends_on", {}).items():
            if how["condition"] == "service_healthy":
                assert "healthcheck" in services[name]
            else:
                assert how["condition"] == "service_completed_successfully"
                assert services[name]["restart"].startswith("on-failure")


def test_what_we_run_is_confined(compose: dict[str, Any]) -> None:
    """Read-only root, no capability, no way to new privileges, never root."""
    for name in OURS:
        service = compose["services"][name]
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
    assert re.search(r"^USER \d+$", (tree.ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)


def test_no_secret_stands_in_the_file() -> None:
    """Each password is a variable that must be set; the example sets each to something nobody keeps."""
    text = COMPOSE.read_text()
    for line in text.splitlines():
        if re.match(r"\s+\w*(PASSWORD|PWD|URL)\w*:", line):
            assert "${" in line, line
    asked = set(re.findall(r"\$\{(\w+)", text))
    example = dict(re.findall(r"^(\w+)=(.*)$", (DEPLOY / "example.env").read_text(), flags=re.MULTILINE))
    assert asked == set(example)
    assert all("change-me" in value for name, value in example.items() if "PASSWORD" in name)


def test_every_mounted_file_is_there(compose: dict[str, Any]) -> None:
    """A bind mount of a missing file becomes an empty directory."""
    mounts = [mount for service in compose["services"].values() for mount in service.get("volumes", [])]
    files = [mount.split(":")[0] for mount in mounts if mount.startswith("./")]
    assert files
    assert [name for name in files if not (tree.ROOT / name).exists()] == []


def test_the_worker_is_told_what_it_reads(compose: dict[str, Any]) -> None:
    """Its variables are those of the program, its addresses those of the services."""
    worker = compose["services"]["worker"]
    environment = worker["environment"] | worker["environment"].get("<<", {})
    assert set(environment) == {"TEMPORAL_ADDRESS", "TEMPORAL_NAMESPACE", "REDIS_URL"}
    host, port = environment["TEMPORAL_ADDRESS"].split(":")
    assert f"127.0.0.1:{port}:{port}" in compose["services"][host]["ports"]
    settings = load_settings(DEPLOY / "casebound.toml", {"REDIS_URL": environment["REDIS_URL"]})
    assert settings.worker.task_queue == load_settings(None, {}).worker.task_queue == "casebound"
    assert settings.worker.graceful_shutdown_s < float(worker["stop_grace_period"].removesuffix("s"))


def test_the_command_of_the_image_finds_the_mounted_configuration(compose: dict[str, Any]) -> None:
    """Dockerfile and compose file name the same path."""
    targets = {mount.split(":")[1] for mount in compose["services"]["worker"]["volumes"]}
    named = re.findall(r'"(/etc/casebound/[^"]+)"', (tree.ROOT / "Dockerfile").read_text())
    assert named
    assert set(named) <= targets


async def test_the_namespace_script_declares_our_search_attributes(dev_server: WorkflowEnvironment) -> None:
    """On a real server, twice: a restart of the stack runs it again."""
    address = dev_server.client.service_client.config.target_host
    search_path = f"{temporal.binary('temporal').parent}:{os.environ['PATH']}"
    environment = {"PATH": search_path, "TEMPORAL_ADDRESS": address, "TEMPORAL_NAMESPACE": "composed"}
    for _ in range(2):
        script = await asyncio.create_subprocess_exec("sh", str(DEPLOY / "temporal" / "namespace.sh"), env=environment)
        assert await script.wait() == 0
    client = await dev_server.connect_client(namespace="composed")

    async def all_known() -> bool:
        return set(await search_attributes.known(client)) == set(search_attributes.ALL)

    await wait_until(all_known, description="the search attributes are known", timeout=20)


@pytest.fixture(params=redis_servers.RedisServers.OWN)
def confined_redis(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a server that the compose file's own script started."""
    binary = redis_servers.binary(request.param)
    port = redis_servers.free_port()
    environment = {
        "PATH": os.environ["PATH"],
        "CASEBOUND_REDIS_PASSWORD": PASSWORD,
        "REDIS_SERVER": str(binary),
        "REDIS_PORT": str(port),
        "REDIS_DATA": str(tmp_path),
        "REDIS_RUN": str(tmp_path),
    }
    url = f"redis://casebound:{PASSWORD}@127.0.0.1:{port}/0"
    with redis_servers.running(["sh", str(DEPLOY / "redis" / "start.sh")], tmp_path, url, environment):
        yield url


async def test_the_redis_user_may_do_what_the_store_does(confined_redis: str) -> None:
    """Every command of the backend, under the key prefixes of the default settings."""
    keys = ToolCallKeyFactory()
    client = connect(confined_redis)
    backend = RedisBackend(client)
    now = await backend.now_ms()
    for key in (keys.record("run", "call"), keys.run("run")):
        await backend.create(key, {"record": b"{}"}, identity="record", expires_at_ms=now + 60_000, now_ms=now)
        await backend.replace(key, expected=b"{}", fields={"record": b"[]"}, now_ms=now)
        await backend.put(key, {"more": b"1"}, identity="more", now_ms=now)
        assert await backend.read([key], ["record"], now_ms=now) == [
            {"record": b"[]", "expires_at_ms": str(now + 60_000).encode()}
        ]
        assert await backend.read_all(key, now_ms=now)
        assert await backend.chain(key, start="t", until="", max_bytes=1, now_ms=now) == []
        assert await backend.keys_with(key) == [key]
    assert await backend.store_id(keys.store())
    assert await backend.warnings() == ()
    await client.aclose()


def test_the_redis_user_may_do_nothing_else(confined_redis: str) -> None:
    """Neither other keys nor other commands; and without a password, nothing at all."""
    with redis_servers.connected(confined_redis) as client:
        assert client.info()["maxmemory_policy"] == "noeviction"
        for command in (
            ["SET", "other", "1"],
            ["FLUSHALL"],
            ["KEYS", "*"],
            ["CONFIG", "GET", "*"],
            ["DEL", "casebound-store"],
            ["HDEL", "casebound:run:call", "record"],
            ["PERSIST", "casebound:run:call"],
            ["SCRIPT", "FLUSH"],
        ):
            with pytest.raises(NoPermissionError):
                client.execute_command(*command)
    nobody = confined_redis.replace(f"casebound:{PASSWORD}@", "")
    with redis_servers.connected(nobody) as client, pytest.raises(AuthenticationError):
        client.ping()

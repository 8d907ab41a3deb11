"""A change holds when the command that made it ends: in every process of every gateway; or it says where it does not."""

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from clew.testing import Simulator
from tests.admin.booth import Unix
from tests.forking import ClewProcess, run_clew
from tests.gateway.served import KEY, Served, backend, listens
from tests.gateway.test_workers import of_all, workers
from tests.waiting import until

pytestmark = pytest.mark.slow

REQUESTS = 8
HEAD = 'active = "a"\n[gateway]\nadmin_port = 0\ndrain_seconds = 1\n'


@pytest.fixture(scope="module")
def vendor() -> Iterator[Simulator]:
    with Simulator() as simulator:
        yield simulator


@pytest.fixture
def config(vendor: Simulator) -> str:
    return HEAD + backend("a", vendor.url, 'realm = "anthropic"\n') + backend("b", vendor.url, 'realm = "anthropic"\n')


def ready(gateway: Served) -> Served:
    until(lambda: gateway.get("/readyz")[0] == 200)
    return gateway


def answered_by(gateway: Served, key: str = KEY) -> str:
    """Who answers one request, on a connection of its own: any worker may get it. The status, if nobody did."""
    request = gateway.request(stream=False).replace(b"x-api-key: " + KEY.encode(), b"x-api-key: " + key.encode())
    status, headers, _ = gateway.peer().send(request).response()
    return headers.get("x-clew-backend", str(status))


def done(gateway: Served, *arguments: str, **environ: str) -> str:
    """What a command prints that every gateway follows. On a machine that is busy one may need longer than a command waits:
    then the command says so, and is called again."""
    said: list[str] = []

    def succeeds() -> bool:
        result = gateway.clew(*arguments, **environ)
        said.append(result.stdout)
        assert result.returncode == 0 or "has not applied the change within 2 s" in result.stderr, result.stderr
        return result.returncode == 0

    until(succeeds)
    return said[-1]


@pytest.mark.parametrize("options", [(), ("--workers", "2")], ids=["one process", "two workers"])
def test_all_requests_after_a_switch_go_to_the_new_backend(config: str, options: tuple[str, ...]) -> None:
    with Served(config, *options) as gateway:
        ready(gateway)
        for name in ("b", "a", "b"):
            done(gateway, "use", name)
            assert {answered_by(gateway) for _ in range(REQUESTS)} == {name}


def test_two_gateways_of_one_home_are_both_switched(config: str) -> None:
    with Served(config) as one, Served(config, beside=one) as two:
        for name in ("b", "a"):
            assert "2 running gateways have applied it." in done(one, "use", name, CLEW_CONFIG=str(one.config))
            assert {answered_by(each) for each in (one, two) for _ in range(REQUESTS)} == {name}


def test_one_gateway_alone_is_switched_when_the_command_ends(config: str) -> None:
    with Served(config) as one, Served(config, beside=one) as two:
        name = str(one.process.pid)
        done(one, "use", "b", "--gateway", name, CLEW_CONFIG=str(one.config))
        assert [{answered_by(each) for _ in range(5)} for each in (one, two)] == [{"b"}, {"a"}]
        done(one, "use", "--reset", "--gateway", name, CLEW_CONFIG=str(one.config))
        assert {answered_by(one) for _ in range(5)} == {"a"}


def test_a_family_is_switched_when_the_command_ends(config: str) -> None:
    with Served(config, "--workers", "2") as gateway:
        ready(gateway)
        done(gateway, "use", "b", "--family", "opus")
        assert {answered_by(gateway) for _ in range(REQUESTS)} == {"b"}
        done(gateway, "use", "--reset", "--family", "opus")
        assert {answered_by(gateway) for _ in range(REQUESTS)} == {"a"}


@pytest.mark.parametrize("options", [(), ("--workers", "2")], ids=["one process", "two workers"])
def test_a_key_opens_as_soon_as_it_is_made_and_nothing_once_it_is_removed(config: str, options: tuple[str, ...]) -> None:
    with Served(config, *options) as gateway:
        ready(gateway)
        until(lambda: answered_by(gateway, "clew_wrong") == "401")  # 503 as long as a worker has not read the keys
        first = done(gateway, "keys", "add", "laptop").strip()
        assert {answered_by(gateway, first) for _ in range(REQUESTS)} == {"a"}
        second = done(gateway, "keys", "rotate", "laptop").strip()
        assert {answered_by(gateway, first) for _ in range(REQUESTS)} == {"401"}
        assert {answered_by(gateway, second) for _ in range(REQUESTS)} == {"a"}
        done(gateway, "keys", "remove", "laptop")
        assert {answered_by(gateway, second) for _ in range(REQUESTS)} == {"401"}


def test_a_backend_is_known_as_soon_as_it_was_added(config: str, vendor: Simulator) -> None:
    with Served(config, "--workers", "2") as gateway:
        ready(gateway)
        added = ("--name", "c", "--url", vendor.url, "--dialect", "anthropic", "--key", "${ITS_KEY:-sim-test-key}")
        result = gateway.clew("backends", "add", *added)
        assert (result.returncode, result.stderr) == (0, "")
        done(gateway, "use", "c")
        assert {answered_by(gateway) for _ in range(REQUESTS)} == {"c"}


def test_new_seals_are_made_with_the_new_key_when_the_command_ends(config: str) -> None:
    with Served(config, "--workers", "2") as gateway:
        ready(gateway)
        current = json.loads(done(gateway, "keys", "rotate-secret", "--json"))["current"]
        assert {each["applied"]["seal_key"] for each in processes(gateway)} == {current}


def processes(gateway: Served) -> list[dict[str, Any]]:
    """What the gateway's process and its two workers report, once all have: one that is still starting has applied nothing."""

    def reported() -> list[dict[str, Any]]:
        status = json.loads(gateway.clew("status", "--json").stdout)
        found = [each for running in status["gateways"] for each in running["processes"]]
        return found if len(found) == 3 and all(each["applied"] for each in found) else []

    return until(reported)


def test_each_process_reports_the_generation_that_it_has_applied(config: str) -> None:
    with Served(config, "--workers", "2") as gateway:
        ready(gateway)
        done(gateway, "use", "b")
        before = processes(gateway)
        assert sorted(each["pid"] for each in before) == sorted([gateway.process.pid, *workers(gateway)])
        assert len({each["generation"] for each in before}) == 1
        done(gateway, "use", "a")
        after = processes(gateway)
        assert len({each["generation"] for each in after}) == 1
        assert after[0]["generation"] != before[0]["generation"]
        of_admin = [each for running in of_all(gateway)["gateways"] for each in running["processes"]]
        assert of_admin == after


def test_a_gateway_that_lacks_the_key_of_the_new_backend_is_named_and_answers_503(config: str, vendor: Simulator) -> None:
    """The variable is set where the command runs, and not where the gateway does: nothing goes to the old backend."""
    with Served(config) as gateway:
        ready(gateway)
        added = gateway.clew("backends", "add", "zai", "--url", vendor.url, ZAI_API_KEY="sim-test-key")
        name = f"Gateway {gateway.process.pid} (pid {gateway.process.pid})"
        assert added.returncode == 1
        assert name in added.stderr and "ZAI_API_KEY" in added.stderr
        used = gateway.clew("use", "glm", ZAI_API_KEY="sim-test-key")
        assert used.returncode == 1
        assert "glm is chosen" in used.stdout and "is active" not in used.stdout
        assert f"{name} has not applied it: it does not know the backend glm" in used.stderr
        assert "ZAI_API_KEY" in used.stderr and "To fix it: " in used.stderr
        status, _, body = gateway.ask(stream=False).response()
        said = json.loads(body)["error"]
        assert (status, said["type"]) == (503, "api_error")
        assert "The backend glm" in said["message"] and "ZAI_API_KEY" in said["message"]
        assert answered_by(gateway) == "503"
        status = gateway.clew("status", ZAI_API_KEY="sim-test-key").stdout
        assert "chosen is glm" in status and "none, not glm" in status
        line = run_clew(["statusline"], env=gateway.environment, input="{}")
        assert line.stdout == "clew → none (503) (chosen: glm)\n"
        checked = gateway.clew("doctor", ZAI_API_KEY="sim-test-key")
        assert checked.returncode == 1
        assert (
            f"{gateway.process.pid} (pid {gateway.process.pid}) answers 503: it does not know the backend glm"
            in checked.stdout
        )
        done(gateway, "use", "a", ZAI_API_KEY="sim-test-key")
        assert answered_by(gateway) == "a"


def hangs(gateway: Served) -> bool:
    """Stop it, but not while it writes to the store: then nobody else could."""
    gateway.signal(signal.SIGSTOP)
    with closing(apsw.Connection(str(gateway.home / "clew.db"))) as store:
        try:
            store.execute("BEGIN IMMEDIATE; ROLLBACK")
        except apsw.BusyError:
            gateway.signal(signal.SIGCONT)
            return False
    return True


def test_a_gateway_that_hangs_is_named(config: str) -> None:
    with Served(config) as gateway:
        ready(gateway)
        until(lambda: hangs(gateway))
        used = gateway.clew("use", "b")
        gateway.signal(signal.SIGCONT)
        assert used.returncode == 1
        assert f"(pid {gateway.process.pid}) has not applied it: it has not applied the change within 2 s" in used.stderr
        done(gateway, "use", "b")
        assert answered_by(gateway) == "b"


def posted(gateway: Served, **wish: object) -> dict[str, Any]:
    """As the page Now switches."""
    line = Unix(Path(gateway.told["socket"]))
    try:
        line.request("POST", "/api/use", json.dumps(wish), {"content-type": "application/json"})
        return json.loads(line.getresponse().read())
    finally:
        line.close()


def test_a_switch_in_the_admin_holds_in_all_workers_and_gateways_when_it_is_answered(config: str) -> None:
    with Served(config, "--workers", "2") as one, Served(config, beside=one) as two:
        ready(one)
        for name in ("b", "a"):
            until(lambda name=name: posted(one, backend=name)["followed"] == {"gateways": 2, "behind": []})
            assert {answered_by(each) for each in (one, two) for _ in range(REQUESTS)} == {name}


def test_the_admin_names_a_gateway_that_does_not_know_the_backend(config: str, vendor: Simulator) -> None:
    lacks = HEAD + backend("a", vendor.url, 'realm = "anthropic"\n')
    with Served(config) as one, Served(lacks, beside=one) as two:
        ready(one)
        until(lambda: len(posted(one, backend="b")["followed"]["behind"]) == 1)
        [behind] = posted(one, backend="b")["followed"]["behind"]
        assert (behind["pid"], behind["why"].partition(":")[0]) == (two.process.pid, "it does not know the backend b")
        assert (answered_by(one), answered_by(two)) == ("b", "503")


def test_no_gateway_is_no_failure(config: str) -> None:
    with Served(config) as gateway:
        gateway.signal()
        gateway.ended()
        used = gateway.clew("use", "b")
        assert (used.returncode, used.stderr) == (0, "")
        assert "No gateway is running" in used.stdout


@pytest.mark.parametrize("options", [(), ("--workers", "2")], ids=["one process", "two workers"])
def test_a_gateway_whose_port_is_open_is_known_to_commands(config: str, options: tuple[str, ...], tmp_path: Path) -> None:
    """It has a config that a command would not find by itself."""
    file = tmp_path / "other.toml"
    file.write_text(config)
    file.chmod(0o600)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environ = {"PATH": os.environ["PATH"], "CLEW_HOME": str(tmp_path / "home")}
    command = ["serve", "--no-admin", "--config", file, "--port", str(port), *options]
    with ClewProcess(command, env=environ, stdout=subprocess.DEVNULL) as process:
        try:
            until(lambda: listens(port), 60)
            used = run_clew(["use", "b"], env=environ, timeout=60)
        finally:
            process.terminate()
    assert "There is no backend" not in used.stderr
    assert "b is" in used.stdout and "No gateway runs" not in used.stdout

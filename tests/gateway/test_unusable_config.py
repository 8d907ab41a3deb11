"""A settings file that is cleared, cut off or broken while a gateway runs opens nothing and stops nothing."""

import json
import os
import signal
from pathlib import Path

import pytest

from clew.testing import Simulator
from tests.forking import run_clew
from tests.gateway.served import KEY, MOST_SECONDS, Served
from tests.gateway.test_workers import workers
from tests.manifest import proves
from tests.waiting import until

pytestmark = pytest.mark.slow

HEAD = 'active = "private"\n[gateway]\nadmin_port = 0\ndrain_seconds = 1\nclosing_seconds = 30\n'


def private(url: str) -> str:
    return f'[backends.private]\nurl = "{url}"\nrealm = "anthropic"\nauth = "key"\nkey = "sim-test-key"\n'


def problem_of(gateway: Served) -> str:
    return json.loads(gateway.get("/readyz")[2]).get("problem", "")


def asked_without_key(gateway: Served) -> int:
    request = gateway.request(stream=False).replace(f"x-api-key: {KEY}".encode(), b"x-api-key: sim-of-the-client")
    return gateway.peer().send(request).response()[0]


def answered_by(gateway: Served) -> tuple[int, str]:
    status, headers, _ = gateway.ask(stream=False).response()
    return status, headers.get("x-clew-backend", "")


def log_of(gateway: Served) -> str:
    return (gateway.home / "log").read_text()


@proves("fault:P6")
def test_a_file_that_lost_all_its_backends_keeps_the_last_settings() -> None:
    """The default backend takes the client's own credential and asks for no gateway key: nobody chose that."""
    with Simulator() as vendor, Served(HEAD + private(vendor.url)) as gateway:
        for number, text in enumerate(("", "\n \n", "# all of it is gone\n", "[gateway]\nadmin_port = 0\n"), 1):
            gateway.config.write_text(text)
            until(lambda: problem_of(gateway))
            assert str(gateway.config) in problem_of(gateway)
            assert asked_without_key(gateway) == 401
            assert answered_by(gateway) == (200, "private")
            until(lambda number=number: log_of(gateway).count("the settings were not changed") >= number)
            doctor = gateway.clew("doctor")
            assert (doctor.returncode, "still uses its last settings" in doctor.stdout) == (1, True), doctor.stdout
            gateway.config.write_text(HEAD + private(vendor.url))
            until(lambda: not problem_of(gateway))


@pytest.mark.parametrize("text", ["", " \n\n"], ids=["nothing", "blanks"])
def test_an_empty_file_is_an_error_at_the_start(tmp_path: Path, text: str) -> None:
    config = tmp_path / "clew.toml"
    config.write_text(text)
    environ = {"PATH": os.environ["PATH"], "CLEW_HOME": str(tmp_path)}
    done = run_clew(["serve", "--port", "0"], env=environ, timeout=MOST_SECONDS)
    assert (done.returncode, done.stderr) == (
        5,
        f"Error: {config}: the file is empty. Delete it to use what the environment gives, or write a new one with "
        "`clew config init --force`\n",
    )


def test_a_reload_that_asks_for_no_key_any_more_is_logged() -> None:
    """It is what the file says, so it holds; but nobody should find out by chance."""
    with Simulator() as vendor, Served(HEAD + private(vendor.url)) as gateway:
        assert asked_without_key(gateway) == 401
        gateway.config.write_text(HEAD + private(vendor.url).replace('"key"\nkey = "sim-test-key"', '"passthrough"'))
        until(lambda: asked_without_key(gateway) != 401)
        until(lambda: log_of(gateway).count("allow more clients") == 2)
        said = [line for line in log_of(gateway).splitlines() if "allow more clients" in line]
        assert ["clients on this machine need no gateway key" in said[0], "requests go to private" in said[1]] == [
            True,
            True,
        ]


@proves("fault:P6")
@pytest.mark.parametrize("text", ["active = ", ""], ids=["broken", "nothing"])
def test_a_worker_that_is_killed_while_the_file_is_broken_is_replaced(text: str) -> None:
    with Simulator() as vendor, Served(HEAD + private(vendor.url), "--workers", "2") as gateway:
        until(lambda: len(workers(gateway)) == 2)
        until(lambda: answered_by(gateway) == (200, "private"))
        gateway.config.write_text(text)
        until(lambda: log_of(gateway).count("the settings were not changed") == 3)  # two workers and their parent
        for before in workers(gateway):
            os.kill(before, signal.SIGKILL)
            until(lambda before=before: before not in (now := workers(gateway)) and len(now) == 2)
        until(lambda: answers(gateway))
        until(lambda: problem_of(gateway))  # the new one has read the file, too
        gateway.config.write_text(HEAD + private(vendor.url))
        until(lambda: not problem_of(gateway))


def answers(gateway: Served) -> bool:
    try:
        return answered_by(gateway) == (200, "private")
    except OSError:  # nobody listens yet
        return False

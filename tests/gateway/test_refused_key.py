"""A backend that refuses its key: anyone who reads it learns which backend, where the key comes from, and what to do."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.testing import Simulator
from tests.gateway.served import Served
from tests.gateway.test_disabled_backend import admin

pytestmark = pytest.mark.slow

HEAD = 'active = "glm"\n[gateway]\nadmin_port = 0\ndrain_seconds = 1\n'
SECRET = "sim-a-wrong-key"


@pytest.fixture
def vendor() -> Iterator[Simulator]:
    with Simulator() as simulator:
        yield simulator


def config(vendor: Simulator, key: str) -> str:
    return f'{HEAD}[backends.glm]\nurl = "{vendor.url}"\nrealm = "anthropic"\nauth = "key"\nkey = "{key}"\n'


@pytest.mark.parametrize(("status", "kind"), [(401, "literal"), (403, "file")])
def test_every_place_says_where_the_key_comes_from(vendor: Simulator, tmp_path: Path, status: int, kind: str) -> None:
    file = tmp_path / "key"
    file.write_text(SECRET)
    file.chmod(0o600)
    with Served(config(vendor, SECRET if kind == "literal" else f"file:{file}")) as gateway:
        line = f"{gateway.config}:9"
        source = line if kind == "literal" else f"file:{file} ({line})"
        said = f"The key comes from {source}: correct it there. `clew backends test glm` tries it"
        vendor.fault(f"status {status}")
        answered, _, body = gateway.ask(stream=False).response()
        message = json.loads(body)["error"]["message"]
        assert (answered, message) == (502, f"glm refused every key that clew holds for it ({status}). {said}")
        vendor.fault(f"status {status}")
        asked = gateway.clew("ask", "Why?", "--model", "claude-opus-5-5")
        assert (asked.returncode, said in asked.stderr) == (4, True), asked.stderr
        doctor = gateway.clew("doctor").stdout
        assert f"glm refused its key at the last call ({status}, " in doctor
        assert f"the key comes from {source}" in doctor
        assert "`clew backends test glm` tries it" in doctor
        page = admin(gateway, "GET", "/backends")[1]
        assert (source in page, "clew backends test glm" in page) == (True, True)
        assert not any(SECRET in each for each in (message, asked.stderr, doctor, page))


def test_where_money_is_missing_nobody_is_sent_to_look_for_the_right_key(vendor: Simulator) -> None:
    with Served(config(vendor, "sim-right")) as gateway:
        vendor.fault("status 402")
        answered, _, body = gateway.ask(stream=False).response()
        said = f"The account has no credit: add some, or use another key. The key comes from {gateway.config}:9."
        message = f"glm refused every key that clew holds for it (402). {said} `clew backends test glm` tries it"
        assert (answered, json.loads(body)["error"]["message"]) == (502, message)


def test_an_answer_since_then_clears_it(vendor: Simulator) -> None:
    with Served(config(vendor, "sim-right")) as gateway:
        vendor.fault("status 401")
        assert gateway.ask(stream=False).response()[0] == 502
        assert gateway.ask(stream=False).response()[0] == 200
        assert "refused its key" not in gateway.clew("doctor").stdout
        assert "was refused" not in admin(gateway, "GET", "/backends")[1]


def test_a_backend_without_a_key_is_not_said_to_refuse_one(vendor: Simulator) -> None:
    """There is none to put right, only one to add."""
    settings = f'{HEAD}[backends.glm]\nurl = "{vendor.url}"\nrealm = "anthropic"\nauth = "none"\n'
    with Served(settings) as gateway:
        status, _, body = gateway.ask(stream=False).response()
        said = "Its settings have no key: add one. `clew backends test glm` tries it"
        message = json.loads(body)["error"]["message"]
        assert (status, message) == (502, f"glm refuses a request without a key (401). {said}")
        doctor = gateway.clew("doctor").stdout
        assert "glm refused a request without a key at the last call (401, " in doctor
        assert "status 401: it refuses a request without a key" in gateway.clew("backends", "test", "glm").stdout
        assert "A request without a key was refused: add a key" in admin(gateway, "GET", "/backends")[1]

"""`clew check` on a conversation that was held through clew: first that it works, then what would be refused without clew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clew.settings.home import write_private
from clew.testing.plugin import StartSimulator
from clew.thinking.keyring import keyring_of, secret_file_of
from tests.build import user
from tests.cli.invoking import Clew
from tests.engine.gate import SECRET, Gate, claude, other
from tests.engine.talk import MODEL, Talk

pytestmark = pytest.mark.slow


@pytest.fixture
def home(simulators: StartSimulator, tmp_path: Path) -> Path:
    """Claude answered, then GLM, and then Claude again; the client's history is in `request.json` and `session.jsonl`."""
    a, b = simulators(), simulators(realm="glm")
    home = a.home(tmp_path / "home", glm=b)
    write_private(home / "secret", secret_file_of(keyring_of(SECRET)))
    with Gate(home, claude(a), other(b)) as gate:
        talk = Talk(gate)
        for backend in ("claude", "glm", "claude"):
            gate.use(backend)
            talk.says(f"You, {backend}?")
        gate.use("claude")
    (home / "request.json").write_text(json.dumps({**talk.body, "messages": [*talk.messages, user("And?")]}))
    (home / "session.jsonl").write_text("".join(json.dumps(_line(each)) + "\n" for each in talk.messages))
    return home


def _line(message: dict[str, Any]) -> dict[str, Any]:
    model = {"model": MODEL} if message["role"] == "assistant" else {}
    return {"type": message["role"], "uuid": "u", "sessionId": "s", "message": {**message, **model}}


@pytest.fixture
def clew(home: Path) -> Clew:
    return Clew(home)


@pytest.mark.parametrize("file", ["request.json", "session.jsonl"])
def test_a_healthy_conversation_of_a_switched_session_works_through_clew(clew: Clew, file: str) -> None:
    done = clew("check", str(clew.home / file))
    first, *rest = done.stdout.splitlines()
    assert (done.exit_code, first.partition(":")[0]) == (0, "Through clew this conversation works")
    assert [line for line in rest if line.endswith(f"for {MODEL} if it is sent there without clew")]
    assert any("R33.invalid-signature" in line for line in rest)


@pytest.mark.parametrize("file", ["request.json", "session.jsonl"])
def test_for_a_target_without_clew_it_is_refused(clew: Clew, file: str) -> None:
    assert clew("check", str(clew.home / file), "--for", "anthropic").exit_code == 1
    assert clew("check", str(clew.home / file), "--for", "claude").exit_code == 0, "a backend of the config"


@pytest.mark.parametrize("file", ["request.json", "session.jsonl"])
def test_what_this_store_recorded_is_not_made_by_a_backend_that_nobody_recorded(clew: Clew, file: str) -> None:
    done = clew("check", str(clew.home / file), "--for", "glm")
    assert (done.exit_code, "nobody recorded" in done.stdout) == (0, False)
    assert "left out: made by claude" in done.stdout
    assert f"native signature, claude {MODEL}" in done.stdout


def test_a_program_reads_both_verdicts(clew: Clew) -> None:
    told = json.loads(clew("check", str(clew.home / "request.json"), "--json").stdout)
    assert (told["clean"], told["works_through_clew"]) == (False, True)


def test_what_clew_cannot_mend_does_not_work(clew: Clew) -> None:
    """A conversation of this clew is refused all the same, where what is wrong is nothing that clew repairs."""
    file = clew.home / "request.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "max_tokens": -1}))
    done = clew("check", str(file))
    assert (done.exit_code, "Through clew" in done.stdout) == (1, False)

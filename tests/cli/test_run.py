"""`clew run`: what the client gets, what comes back, and what is said at the end."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.gateway.client import RunSummary
from clew.model.change import Change
from clew.model.turn import Exchange
from clew.testing import Simulator
from tests.build import GLM, OPUS
from tests.forking import ClewProcess, run_clew
from tests.gateway.served import CLEW, MOST_SECONDS, backend
from tests.manifest import proves, public
from tests.store.turns import recorded
from tests.waiting import until

TALK = """
import anthropic, sys
client = anthropic.Anthropic()
messages = [{"role": "user", "content": "Why?"}]
for _ in range(3):
    answer = client.messages.create(model="claude-opus-5-5", max_tokens=2000, messages=messages)
    messages += [
        {"role": "assistant", "content": [block.to_dict() for block in answer.content]},
        {"role": "user", "content": "And?"},
    ]
sys.exit(7)
"""

ASK = """
import json, os, sys, urllib.request
body = {"model": "claude-opus-5-5", "max_tokens": 2000, "messages": [{"role": "user", "content": "Why?"}]}
head = {"x-api-key": os.environ["ANTHROPIC_AUTH_TOKEN"], "anthropic-version": "2023-06-01", "content-type": "application/json"}
url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), head)).read()
sys.exit(7)
"""
"""One question, without the SDK, whose import takes two seconds."""


@pytest.fixture
def home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="clew-") as directory:
        yield Path(directory)


def environment(home: Path, **more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "CLEW_HOME": str(home), **more}


def run(home: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return run_clew(["run", *arguments], env=environment(home, **more), timeout=3 * MOST_SECONDS)


def configure(home: Path, **backends: str) -> None:
    rows = "".join(backend(name, url) for name, url in backends.items())
    (home / "clew.toml").write_text(f'active = "{next(iter(backends))}"\n{rows}')
    (home / "clew.toml").chmod(0o600)


SHOW = "import os; print({k: v for k, v in os.environ.items() if k.startswith('ANTHROPIC_') or k == 'MINE'})"


@pytest.mark.slow
@public("cli")
@proves("req:S1-51")
def test_a_client_keeps_its_environment_and_gets_the_gateways_address(home: Path) -> None:
    """Without a config there is Claude alone, with the client's own credential: so the key goes beside it."""
    told = run(home, "--", sys.executable, "-c", SHOW, MINE="1", ANTHROPIC_CUSTOM_HEADERS="x-team: 1")
    given = eval(told.stdout)
    assert given.pop("MINE") == "1"
    assert given.pop("ANTHROPIC_BASE_URL").startswith("http://127.0.0.1:")
    [first, key] = given.pop("ANTHROPIC_CUSTOM_HEADERS").split("\n")
    assert (first, key.startswith("x-clew-key: clew_run_"), given) == ("x-team: 1", True, {})


@pytest.mark.slow
def test_where_only_stored_keys_are_used_the_runs_key_is_the_credential(home: Path) -> None:
    """And it goes in a header besides, for clients that prefer an ANTHROPIC_API_KEY."""
    configure(home, a="http://127.0.0.1:9")
    given = eval(run(home, sys.executable, "-c", SHOW).stdout)
    assert set(given) == {"ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS"}
    assert given["ANTHROPIC_CUSTOM_HEADERS"] == f"x-clew-key: {given['ANTHROPIC_AUTH_TOKEN']}"


OPENAI = "import os; print({k: v for k, v in os.environ.items() if k.startswith('OPENAI_')})"
TAKES_OWN = """
[backends.mine]
dialect = "openai-chat"
url = "http://127.0.0.1:9/v1"
auth = "passthrough"
"""


@pytest.mark.slow
@public("cli")
@pytest.mark.parametrize("takes_own", [False, True])
def test_clients_of_openai_get_its_variables_and_lose_a_key_that_no_backend_takes(home: Path, takes_own: bool) -> None:
    """Most of them can send one credential only. Where a backend takes the client's own, that stays."""
    configure(home, a="http://127.0.0.1:9")
    if takes_own:
        with (home / "clew.toml").open("a") as file:
            file.write(TAKES_OWN)
    given = eval(run(home, sys.executable, "-c", OPENAI, OPENAI_API_KEY="sk-mine").stdout)
    header = given.pop("OPENAI_CUSTOM_HEADERS").removeprefix("x-clew-key: ")
    assert header.startswith("clew_run_")
    assert given.pop("OPENAI_BASE_URL").endswith("/v1")
    assert given == {"OPENAI_API_KEY": "sk-mine" if takes_own else header}


@pytest.mark.slow
@public("cli")
def test_codex_gets_a_provider_by_options_of_this_run(home: Path) -> None:
    """They stand before what the user says to it, and name the variables that hold the key."""
    codex = home / "codex"
    codex.write_text('#!/bin/sh\nfor each; do echo "$each"; done; echo "$OPENAI_API_KEY"; echo "$CLEW_RUN_KEY"\n')
    codex.chmod(0o755)
    configure(home, a="http://127.0.0.1:9")
    *told, key, again = run(home, "--", str(codex), "exec", "Why?").stdout.splitlines()
    assert ([*told[:3:2], *told[4:]], key, key.startswith("clew_run_")) == (["-c", "-c", "exec", "Why?"], again, True)
    provider = tomllib.loads("\n".join(told[1:4:2]))
    assert provider["model_provider"] == "clew"
    assert provider["model_providers"]["clew"].pop("base_url").startswith("http://127.0.0.1:")
    assert provider["model_providers"]["clew"] == {
        "name": "clew",
        "env_key": "OPENAI_API_KEY",
        "env_http_headers": {"x-clew-key": "CLEW_RUN_KEY"},
        "wire_api": "responses",
    }


@pytest.mark.slow
@pytest.mark.parametrize("own", [Simulator.key, "sk-ant-of-something-else"])
def test_a_vendors_key_in_the_environment_does_not_stand_in_the_way(home: Path, own: str) -> None:
    """The SDK sends ANTHROPIC_API_KEY instead of the gateway's token, whether the gateway has that key or not."""
    with Simulator() as simulator:
        configure(home, a=simulator.url)
        told = run(home, "--", sys.executable, "-c", TALK, ANTHROPIC_API_KEY=own)
        assert told.returncode == 7, told.stderr
        assert [entry["verdict"]["ok"] for entry in simulator.journal()] == [True] * 3


@pytest.mark.slow
@public("cli")
@proves("req:S1-51", "req:C35")
def test_a_conversation_through_it_and_what_is_said_at_the_end(home: Path) -> None:
    """The exit code is the client's. Its blocks went back, and it holds seals that only clew can open."""
    with Simulator(kind="compat") as simulator:
        configure(home, other=simulator.url)
        told = run(home, "--", sys.executable, "-c", TALK)
        assert told.returncode == 7, told.stderr
        *_, summary, seals = told.stderr.splitlines()
        assert summary == "clew: 3 requests to other; 2 blocks kept, 0 restored, 0 left out"
        assert seals.startswith("clew: 3 sealed blocks of other vendors went into the client's transcript.")
        assert [entry["verdict"]["ok"] for entry in simulator.journal()] == [True] * 3
    assert '"event":"request"' in (home / "run.log").read_text()
    assert list((home / "run").iterdir()) == []


@pytest.mark.slow
def test_a_backend_is_chosen_for_this_run_alone(home: Path) -> None:
    with Simulator() as first, Simulator() as second:
        configure(home, a=first.url, b=second.url)
        assert run(home, "--backend", "b", "--", sys.executable, "-c", ASK).returncode == 7
        assert (len(first.journal()), len(second.journal())) == (0, 1)
        told = run(home, "--backend", "b", "--", str(CLEW), "status", "--json").stdout
        assert [each["active"]["backend"] for each in json.loads(told)["gateways"]] == ["b"]
        assert run(home, "--", sys.executable, "-c", ASK).returncode == 7
        assert (len(first.journal()), len(second.journal())) == (1, 1)


@pytest.mark.slow
@public("cli")
@proves("req:S1-52")
def test_an_unknown_backend_fails_and_the_names_are_listed(home: Path) -> None:
    configure(home, a="http://127.0.0.1:9", b="http://127.0.0.1:9")
    told = run(home, "--backend", "c", "--", "true")
    assert told.returncode == 2
    assert "There is no backend 'c'. There are: a, b." in told.stderr


@pytest.mark.slow
def test_an_option_that_there_is_not_is_no_command(home: Path) -> None:
    told = run(home, "--backnd", "glm", "--", "true")
    assert (told.returncode, told.stderr.splitlines()[-1]) == (
        2,
        "Error: No such option '--backnd'. Did you mean '--backend'?",
    )
    assert run(home, "sh", "-c", "exit $1", "--backnd", "4").returncode == 4, "behind the command, options are its own"


@pytest.mark.slow
def test_a_command_that_is_not_there_is_said_to_be_so(home: Path) -> None:
    told = run(home, "--", "no-such-command")
    assert (told.returncode, told.stderr) == (127, "Error: no-such-command is not a program on your PATH\n")
    (home / "notes").write_text("")
    assert run(home, str(home / "notes")).returncode == 126


@pytest.mark.slow
def test_signals_are_passed_on_and_a_death_by_signal_is_told_as_a_shell_does(home: Path) -> None:
    script = "trap 'exit 9' TERM; touch ready; while :; do sleep 0.05; done"
    process = ClewProcess(["run", "--", "sh", "-c", script], env=environment(home), cwd=home)
    try:
        until((home / "ready").exists)
        process.send_signal(signal.SIGTERM)
        assert process.wait(MOST_SECONDS) == 9
    finally:
        process.kill()
    assert run(home, "--", "sh", "-c", "kill -KILL $$").returncode == 128 + 9


EARLY = """
import asyncio, os, signal
from clew.cli.run import _pass_signals_on

class Client:
    def send_signal(self, number):
        print(number.name, flush=True)

async def scene():
    client = asyncio.get_running_loop().create_future()
    _pass_signals_on(client)
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.sleep(0.1)
    print("it is there", flush=True)
    client.set_result(Client())
    await asyncio.sleep(0.1)

asyncio.run(scene())
"""


@pytest.mark.slow
def test_a_signal_that_comes_before_the_client_is_there_waits_for_it() -> None:
    """Else it would end the gateway alone, and leave the client behind."""
    done = subprocess.run([sys.executable, "-c", EARLY], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split("\n") == ["it is there", "SIGTERM", ""]


@pytest.mark.slow
def test_the_terminals_interrupt_is_the_clients_to_answer(home: Path) -> None:
    """Both are in the terminal's foreground: the client hears it once, and the gateway goes on serving it."""
    import pty

    script = (
        "trap 'echo heard; n=390' INT; touch ready; n=0; while [ $n -lt 400 ]; do sleep 0.05; n=$((n+1)); done; echo over"
    )
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(home)
        os.execve(CLEW, [str(CLEW), "run", "--", "sh", "-c", script], environment(home))
    until((home / "ready").exists)
    os.write(terminal, b"\x03")
    said = b""
    end = time.monotonic() + MOST_SECONDS
    while b"over" not in said and time.monotonic() < end:
        said += os.read(terminal, 1024)
    os.waitpid(pid, 0)
    os.close(terminal)
    assert said.count(b"heard") == 1


def exchange(thread: str, kept: int, *changes: tuple[str, str]) -> Exchange:
    made = tuple(Change("thinking", path, what, "why") for path, what in changes)
    same = {"id": "e", "principal": "local", "started": 0.0, "ended": 1.0, "asked_model": "m", "backend": "b", "model": "m"}
    return Exchange(**same, thread=thread, kept=kept, changes=made)


def test_each_block_counts_once_though_every_request_brings_it_again() -> None:
    """What was kept counts by the longest history of each thread; a change by its place."""
    tally = RunSummary()
    assert tally.lines() == []
    tally.add(exchange("one", 1, ("messages.1.content.0", "left out")), None)
    tally.add(exchange("one", 2, ("messages.1.content.0", "left out"), ("messages.3.content.0", "restored")), None)
    tally.add(exchange("two", 1, ("messages.1.content.0", "left out"), ("messages.5.content.0", "healed")), None)
    assert tally.lines() == ["clew: 3 requests to b; 3 blocks kept, 1 restored, 2 left out, 1 healed"]


def test_only_seals_that_clew_minted_are_told_of() -> None:
    tally = RunSummary()
    tally.add(exchange("one", 0), recorded("a", origin=OPUS))
    assert len(tally.lines()) == 1
    tally.add(exchange("one", 0), recorded("b", origin=GLM))
    assert tally.lines()[1].startswith("clew: 1 sealed block of other vendors")

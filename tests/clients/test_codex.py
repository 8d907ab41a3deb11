"""Codex through the gateway: its tool loop on three makers, resumed, started by `clew run`, and its session files."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.clients.codex import MOST_SECONDS, UNGUARDED, Codex
from tests.clients.installed import codex
from tests.clients.makers import LOOP, Makers, makers
from tests.counts import SOAK
from tests.forking import run_clew
from tests.manifest import public

pytestmark = pytest.mark.slow

FUNCTION = LOOP.replace("call: run", "call: exec_command").replace('"command"', '"cmd"')
"""For models of which Codex offers a function for commands."""

SHORT = """
turn:
  think: Claude thinks.
  call: exec_command {"cmd": "echo one"}
turn:
  think: And again.
  text: Done.
"""
MODELS = ["gpt-5.5", "claude-opus-5-5"]


def as_program(command: str) -> str:
    """For the newest models Codex offers one freeform tool, `exec`, which runs JavaScript."""
    return json.dumps(
        {"input": f"const done = await tools.exec_command({json.dumps({'cmd': command})}); text(done.output);"}
    )


FREEFORM = re.sub(
    r'call: run {"command": "([^"]*)"}',
    lambda match: f"call: functions__exec {as_program(match[1])}",
    LOOP.replace('  call: run {"command": "echo two"}\n', ""),
)
"""One call at a time: for these models Codex asks for no more."""


def is_carried(stage: Makers, client: Codex) -> bool:
    """A loop over three makers in which the gateway dies; then resumed by a new process, with the gateway killed before."""
    first = client.ask("Have a look.", deaths=1)
    stage.gateway.kill()
    stage.gateway.start()
    second = client.ask("[[scenario:thinking]] And now?", resume=first.session)

    assert (first.answer, first.status, second.status) == ("Done.", 0, 0), (first, second)
    assert second.session == first.session
    assert (first.outputs[0], first.complaints) == ("one\n", [])
    assert stage.counts() == {"openai": 4, "claude": 1, "deepseek": 2}
    assert stage.is_well()
    return stage.says_nothing_aloud()


@pytest.mark.parametrize("model", MODELS if SOAK else MODELS[:1])
@public("gateway", "cli")
def test_each_maker_gets_its_own_back_and_the_session_is_imported_as_known(model: str, tmp_path: Path) -> None:
    """OpenAI → Claude → DeepSeek → OpenAI. What Codex kept in its session file is what the gateway has recorded."""
    with makers(FUNCTION, tmp_path) as stage:
        client = Codex(gateway=stage.gateway, home=tmp_path / "home", model=model)
        assert is_carried(stage, client)
        told = stage.gateway.clew("import", str(client.sessions)).splitlines()
        assert told[:2] == ["0 turns of 0 conversations imported", "7 turns known already"]


@public("gateway")
def test_a_freeform_tool_comes_back_as_what_it_is_from_every_maker(tmp_path: Path) -> None:
    """Its text goes to OpenAI as it is, and to the others as an object; Codex gets a freeform call from all of them."""
    with makers(FREEFORM, tmp_path) as stage:
        assert is_carried(stage, Codex(gateway=stage.gateway, home=tmp_path / "home", model="gpt-6.1-sol"))


@public("cli")
def test_codex_is_started_with_a_gateway_of_its_own_in_one_line(tmp_path: Path) -> None:
    """No configuration and no key of its own; a vendor's key in the environment does not stand in the way."""
    with makers(SHORT, tmp_path) as stage:
        home = tmp_path / "clew"
        home.mkdir(mode=0o700)
        (home / "clew.toml").write_text(stage.gateway.config.read_text())
        done = run_clew(
            ["run", "--backend", "claude", "--", codex(), "exec", *UNGUARDED, "-m", "gpt-5.5", "Have a look."],
            env={**stage.gateway.environment, "HOME": str(tmp_path), "CLEW_HOME": str(home), "OPENAI_API_KEY": "sk-other"},
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            timeout=MOST_SECONDS,
        )
        assert done.returncode == 0, done.stderr
        assert '"text":"Done."' in done.stdout
        assert "clew: 2 requests to claude; 1 block kept, 0 restored, 0 left out\n" in done.stderr
        assert (stage.counts(), stage.is_well()) == ({"openai": 0, "claude": 2, "deepseek": 0}, True)

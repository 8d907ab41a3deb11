"""The panel of `clew run` over Claude Code: both versions, one of which draws on the terminal's first screen, one on the second."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.emulator import Emulator, emulated
from tests.clients.claude import ClaudeCode
from tests.clients.conftest import both_versions
from tests.clients.gateway import CLEW
from tests.clients.witness import Witness

pytestmark = pytest.mark.slow

KEY = "\x1d"
ANSWER = "think: Short.\ntext: A short answer."


def at_home(client: ClaudeCode) -> dict[str, str]:
    """Its first questions are answered, and its environment names no address: `clew run` brings it."""
    asked = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    settled = {"hasCompletedOnboarding": True, "theme": "dark", "projects": {str(client.work): asked}}
    (client.home / ".claude.json").write_text(json.dumps(settled))
    home = client.home / "clew"
    home.mkdir(mode=0o700)
    environment = {name: value for name, value in client.environment.items() if not name.startswith("ANTHROPIC_")}
    return {**environment, "CLEW_HOME": str(home), "SIM_KEY": Witness.key}


def ask(terminal: Emulator, question: str) -> None:
    """The prompt is shown before it is sent: what comes in one piece is a paste for Claude Code."""
    terminal.type(question)
    terminal.until(question)
    terminal.type("\r")


@both_versions
def test_the_backend_is_switched_over_claude_code_and_its_screen_comes_back(
    claude_code: Callable[[str, str], ClaudeCode], tmp_path: Path
) -> None:
    with Witness(ANSWER, tmp_path) as sim:
        client = claude_code("", "")
        environment = at_home(client)
        rows = [f'[backends.{name}]\nurl = "{sim.url}"\nkey = "${{SIM_KEY}}"\nrealm = "anthropic"\n' for name in "ab"]
        (client.home / "clew/clew.toml").write_text('active = "a"\n' + "".join(rows))
        with emulated([CLEW, "run", "--", client.binary], environment, cwd=client.work, width=100, height=40) as terminal:
            terminal.until("❯")
            ask(terminal, "first question")
            terminal.until(lambda text: "first question" in text and "● A short answer." in text)
            terminal.type(KEY)
            assert "→ 1  a" in terminal.until("Thinking blocks")
            terminal.type("2")
            terminal.until("b is active for this run, from the next request on.")
            terminal.resize(110, 42)
            terminal.type("\x1b")
            terminal.until(lambda text: "first question" in text and "Thinking blocks" not in text)
            ask(terminal, "second question")
            terminal.until(lambda text: text.count("● A short answer.") == 2)
            terminal.type("\x03")
            if "Interrupted" in terminal.until(lambda text: "again to exit" in text or "Interrupted" in text):
                terminal.type("\x03")  # the answer was shown, and its end was not read yet
                terminal.until("again to exit")
            terminal.type("\x03")
            assert terminal.ended() == 0
            assert "to a, b; 1 block kept, 0 restored, 0 left out" in terminal.text
            assert not terminal.screen.on_second
        assert (sim.refusals(), len(sim.made)) == ([], 2)

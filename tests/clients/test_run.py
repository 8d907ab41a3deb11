"""`clew run -- claude`: a gateway for the time of one command, and what it says when that is over."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.claude import MOST_SECONDS, ClaudeCode
from tests.clients.gateway import CLEW
from tests.clients.scene import CONFIG
from tests.clients.test_claude_code_alone import LOOP
from tests.clients.witness import Witness
from tests.manifest import proves

pytestmark = pytest.mark.slow


def run(client: ClaudeCode, sim: Witness, *command: str) -> subprocess.CompletedProcess[str]:
    home = client.home / "clew"
    home.mkdir(parents=True, mode=0o700, exist_ok=True)
    (home / "clew.toml").write_text(CONFIG.format(more="", a=sim.url, b=sim.url, c=sim.url))
    environment = {name: value for name, value in client.environment.items() if not name.startswith("ANTHROPIC_")}
    return subprocess.run(
        [CLEW, "run", "--", *command],
        env={**environment, "CLEW_HOME": str(home), "SIM_KEY": sim.key},
        cwd=client.work,
        capture_output=True,
        text=True,
        timeout=MOST_SECONDS,
    )


def test_the_client_has_the_terminal_and_clew_the_last_word(
    claude_code: Callable[[str, str], ClaudeCode], tmp_path: Path
) -> None:
    """No address, no key in the client's environment: `run` brings both, and passes the exit code."""
    with Witness(LOOP, tmp_path) as sim:
        client = claude_code("", "")
        (client.work / "note.txt").write_text("a note\n")
        done = run(client, sim, str(client.binary), "-p", "Have a look.", "--allowedTools", "Bash,Read")

        assert (done.returncode, done.stdout) == (0, "Done.\n")
        assert done.stderr == "clew: 3 requests to a; 2 blocks kept, 0 restored, 0 left out\n"
        assert (sim.refusals(), sim.given_back()) == ([], [[], sim.made[:1], sim.made[:2]])


@proves("req:S1-51")
def test_a_client_that_fails_fails_with_its_own_code(claude_code: Callable[[str, str], ClaudeCode], tmp_path: Path) -> None:
    """And where nothing was asked, nothing is said about it."""
    with Witness(LOOP, tmp_path) as sim:
        client = claude_code("", "")
        done = run(client, sim, str(client.binary), "--no-such-option")

        assert (done.returncode, done.stdout) == (1, "")
        assert "--no-such-option" in done.stderr
        assert "clew:" not in done.stderr

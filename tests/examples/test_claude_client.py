"""The small client in the manner of Claude Code, as its user starts it, against the strict simulator."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.testing import Simulator
from tests.build import Json
from tests.engine.talk import asked_of, refusals, thoughts_in
from tests.manifest import proves, public

pytestmark = pytest.mark.slow

FILE = Path(__file__).parents[2] / "examples/claude_client/client.py"
MANUAL = "claude-sonnet-4-5"


@pytest.fixture
def claude() -> Iterator[Simulator]:
    with Simulator() as simulator:
        yield simulator


def run(claude: Simulator, directory: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    (directory / "notes.txt").write_text("Bees can count to four.")
    own = {"PATH": "/usr/bin:/bin", "ANTHROPIC_BASE_URL": claude.url, "ANTHROPIC_API_KEY": claude.key}
    command = [sys.executable, FILE, *words]
    return subprocess.run(command, cwd=directory, env=own | environ, capture_output=True, text=True, timeout=120)


def marks_in(body: Json) -> int:
    return json.dumps(body).count('"cache_control"')


@public("library")
@proves(
    "req:S0-1",
    "req:S0-14",
    "req:S0-15",
    "req:S0-24",
    "req:S0-38",
    "req:C32",
    "req:S0-42",
    "req:S0-44",
    "req:S0-45",
    "req:S0-52",
)
def test_a_session_with_tools_and_thinking_is_taken_by_the_vendor(claude: Simulator, tmp_path: Path) -> None:
    """Two questions with a tool each: every thought goes back as it came, and nothing is refused."""
    done = run(claude, tmp_path, "What is in notes.txt?", "ultrathink: is it true?")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "I read: “Bees can count to four.”"), done.stderr
    asked = asked_of(claude)
    assert [len(body["messages"]) for body in asked] == [1, 3, 5, 7]
    assert [body.get("thinking", {}).get("type") for body in asked] == [None, None, "adaptive", "adaptive"]
    assert asked[2]["output_config"] == {"effort": "high"}
    assert asked[2]["context_management"] == {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}
    assert all(2 <= marks_in(body) <= 4 for body in asked)
    signed = [block["signature"] for block in thoughts_in(asked[-1])]
    assert len(signed) == 3
    assert all(signed)
    assert {"model", "system", "messages", "max_tokens"} <= asked[0].keys()
    assert refusals(claude) == []


@public("library")
@proves("req:S0-29", "req:S0-36", "req:S0-37", "req:S0-23")
def test_what_its_user_types_ahead_of_the_command_counts(claude: Simulator, tmp_path: Path) -> None:
    """MAX_THINKING_TOKENS=50000, and no caching for this line."""
    variables = {"MAX_THINKING_TOKENS": "50000", "DISABLE_PROMPT_CACHING_SONNET": "1", "CLIENT_MODEL": MANUAL}
    done = run(claude, tmp_path, "ultrathink", **variables)
    assert done.returncode == 0, done.stderr
    assert 'tengu_thinking {"provider": "anthropic", "tokenCount": 50000}' in done.stderr.splitlines()
    assert [body["thinking"] for body in asked_of(claude)] == [{"type": "enabled", "budget_tokens": 30976}] * 2
    assert [marks_in(body) for body in asked_of(claude)] == [0, 0]
    assert refusals(claude) == []


@public("library")
@proves("req:S0-32")
def test_a_number_that_is_none_is_a_warning_and_no_thinking(claude: Simulator, tmp_path: Path) -> None:
    done = run(claude, tmp_path, "ultrathink", MAX_THINKING_TOKENS="abc", CLIENT_MODEL=MANUAL)
    assert done.returncode == 0, done.stderr
    assert "warning: MAX_THINKING_TOKENS='abc' is not a number" in done.stderr
    assert not any("thinking" in body for body in asked_of(claude))


@public("library")
@proves("req:S0-43")
def test_after_a_compaction_the_budget_is_worked_out_anew(claude: Simulator, tmp_path: Path) -> None:
    """The word was in what the summary stands for; a new one counts again."""
    words = ("ultrathink about notes.txt", "/compact", "Go on.", "ultrathink again")
    done = run(claude, tmp_path, *words, CLIENT_MODEL=MANUAL)
    assert done.returncode == 0, done.stderr
    asked = asked_of(claude)
    again = next(at for at, body in enumerate(asked) if at and len(body["messages"]) < len(asked[at - 1]["messages"]))
    assert "thinking" in asked[0]
    assert "thinking" not in asked[again]
    assert "thinking" in asked[-1]
    assert refusals(claude) == []


@pytest.mark.parametrize(
    ("words", "key", "says"),
    [
        ("Hello", "", "failed: "),
        ("[[scenario:cut-off]]", "k", "failed: the "),
        ("[[scenario:overloaded-late]]", "k", "failed: "),
    ],
)
def test_what_goes_wrong_is_told_in_words(claude: Simulator, tmp_path: Path, words: str, key: str, says: str) -> None:
    """A refusal, a connection that breaks, an error in the stream."""
    done = run(claude, tmp_path, words, ANTHROPIC_API_KEY=key)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1].startswith(says)
    assert "Traceback" not in done.stderr

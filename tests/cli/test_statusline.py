"""`clew statusline`: one line for Claude Code's status bar, quickly, whatever is the matter."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from clew.model.change import Change
from clew.store.values import Usage
from tests.cli.homes import Home, turn, yesterday


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def said(home: Home, given: str) -> str:
    done = home.clew("statusline", input=given)
    assert (done.exit_code, done.stderr) == (0, "")
    [line] = done.stdout.splitlines()
    return line


def talked(home: Home) -> None:
    changes = (Change("thinking", "messages.1.content.0", "restored", "the client lost it"),)
    usage = Usage(input=100, cache_read=900, output=5)
    fields = {"asked_model": "claude-opus-5-5", "backend": "glm", "model": "glm-5.3", "session": "s1"}
    home.keep(turn(at=yesterday(), exchange="x1", thread="t1", changes=changes, usage=usage, kept=2, **fields))


def test_it_says_who_answered_what_became_of_the_thinking_and_who_is_next(home: Home) -> None:
    talked(home)
    line = said(home, json.dumps({"session_id": "s1", "model": {"id": "claude-opus-5-5"}}))
    assert line == "claude-opus-5-5 → glm glm-5.3 · thinking 2 kept, 1 restored · cache 90 % · next: claude"


def test_nobody_is_next_who_is_it_already(home: Home) -> None:
    talked(home)
    home.lines("use", "glm")
    assert said(home, '{"session_id": "s1"}').endswith("cache 90 %")


@pytest.mark.parametrize("given", ["", "no JSON", "[]", '{"session_id": "another"}', "\udcff"])
def test_a_session_that_nobody_knows_shows_what_is_active(home: Home, given: str) -> None:
    talked(home)
    assert said(home, given.encode("utf-8", "surrogateescape").decode("latin-1")) == "clew → claude"


def test_without_a_store_too(home: Home) -> None:
    assert said(home, "{}") == "clew → claude"
    assert not home.file.exists()


def test_a_config_that_cannot_be_used_does_not_blank_it(home: Home) -> None:
    home.config.write_text("active = 3")
    assert said(home, "{}") == "clew → no backend"


def test_neither_it_nor_completion_loads_what_takes_long() -> None:
    """They run while somebody waits for a key stroke."""
    loads = "import sys, clew.cli, clew.cli.statusline, clew.cli.completion; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", loads], capture_output=True, text=True, check=True).stdout.split()
    assert {"rich", "uvloop", "uvicorn", "starlette", "genai_prices", "prometheus_client"} & set(loaded) == set()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_for_this_command(home: Home, shell: str) -> None:
    script = "\n".join(home.lines("completion", shell))
    assert f"_CLEW_COMPLETE={shell}_complete" in script


def test_a_shell_gets_commands_to_complete() -> None:
    environ = {"_CLEW_COMPLETE": "bash_complete", "COMP_WORDS": "clew st", "COMP_CWORD": "1", "PATH": "/usr/bin:/bin"}
    asked = subprocess.run([sys.executable, "-m", "clew"], env=environ, capture_output=True, text=True, timeout=20)
    assert asked.stdout.split() == ["plain,status", "plain,statusline"], asked.stderr

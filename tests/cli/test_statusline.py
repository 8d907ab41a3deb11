"""`clew statusline`: one line for Claude Code's status bar, quickly, whatever is the matter."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from clew.model.change import Change
from clew.model.turn import TokenUsage
from tests.cli.homes import Home, turn, yesterday
from tests.forking import run_clew
from tests.store.make_old import OLD


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
    usage = TokenUsage(input=100, cache_read=900, output=5)
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


def test_a_config_that_leaves_it_open_is_read_properly(home: Home) -> None:
    """Nobody is named, or not as a backend of the file is; what was chosen is there no more, and is not replaced; and there is no store."""
    glm, kimi = (f'[backends.{name}]\npreset = "zai"\nkey = "k"\n' for name in ("glm", "kimi"))
    home.config.write_text(glm)
    assert said(home, "{}") == "clew → glm"
    home.config.write_text('active = "${WHO:-glm}"\n' + glm)
    assert said(home, "{}") == "clew → glm"
    home.config.write_text('active = "kimi"\n' + glm + kimi)
    assert said(home, "{}") == "clew → kimi"
    home.lines("use", "glm")
    assert said(home, "{}") == "clew → glm"
    home.config.write_text('active = "kimi"\n' + kimi)
    assert said(home, "{}") == "clew → glm"
    home.config.write_text('active = "kimi"\n' + glm + kimi + '[store]\nurl = "off"\n')
    assert said(home, "{}") == "clew → kimi"


def test_a_store_of_an_older_schema_is_brought_up_to_date(home: Home) -> None:
    shutil.copy(OLD / "v1.sqlite", home.file)
    home.file.chmod(0o600)
    assert said(home, '{"session_id": "s1"}') == "clew → glm"
    assert json.loads(home.clew("status", "--json").stdout)["store"]["state"] == "ok"


def test_a_store_that_others_can_read_is_said_to_be(home: Home) -> None:
    talked(home)
    home.file.chmod(0o644)
    assert "can be used by others" in said(home, "{}")


def test_a_config_that_cannot_be_used_does_not_blank_it(home: Home) -> None:
    home.config.write_text("active = 3")
    assert said(home, "{}") == f"clew → no backend · {BROKEN}"
    talked(home)
    assert said(home, '{"session_id": "s1"}').endswith(f"cache 90 % · {BROKEN}")


BROKEN = "the config cannot be used: `clew config check`"
MANGLED = {
    "not TOML": b"active = [broken",
    "not UTF-8": b'active = "\xff"',
    "too deep": b"a = " + b"[" * 100_000,
    "too deep by dots": b"a." * 3_000 + b"b = 1",
    "a number without end": b"a = " + b"9" * 10_000,
    "no table": b"backends = 3",
}


@pytest.mark.parametrize("text", MANGLED.values(), ids=MANGLED)
def test_whatever_the_config_is_the_prompt_gets_one_line(home: Home, text: bytes) -> None:
    """As a shell or Claude Code runs it."""
    home.config.write_bytes(text)
    done = run_clew(["statusline"], env=home.environ, input="{}", timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"clew → no backend · {BROKEN}\n", "")
    checked = run_clew(["config", "check"], env=home.environ, timeout=120)
    assert (checked.returncode, "Traceback" in checked.stderr) == (5, False)


HEAVY = {
    *("rich", "uvloop", "uvicorn", "starlette", "genai_prices", "prometheus_client", "asyncio", "ssl", "subprocess"),
    *(
        "clew.settings.load",
        "clew.backends.presets",
        "clew.store.sqlite.store",
        "clew.store.sqlite.writer",
        "clew.engine",
        "clew.chat",
    ),
}
"""What takes long to load."""


def loaded_by(home: Home) -> set[str]:
    """The modules that the command has loaded when it is over, as a process of its own."""
    runs = "import sys; from clew.cli import main; main(['statusline'], standalone_mode=False); print(*sys.modules)"
    asked = [sys.executable, "-c", runs]
    given = json.dumps({"session_id": "s1"})
    done = subprocess.run(asked, env=home.environ, input=given, capture_output=True, text=True, check=True, timeout=120)
    line, modules = done.stdout.splitlines()
    assert line.startswith("claude-opus-5-5 → glm glm-5.3"), done.stderr
    return set(modules.split())


@pytest.mark.parametrize("chosen", ["", "glm"])
def test_it_loads_nothing_that_takes_long(home: Home, chosen: str) -> None:
    """It runs three times a second, while somebody types."""
    talked(home)
    if chosen:
        home.lines("use", chosen)
    assert HEAVY & loaded_by(home) == set()


def test_completion_loads_nothing_that_takes_long() -> None:
    loads = "import sys, clew.cli, clew.cli.completion; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", loads], capture_output=True, text=True, check=True).stdout.split()
    assert {"rich", "uvloop", "uvicorn", "starlette", "genai_prices", "prometheus_client"} & set(loaded) == set()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_for_this_command(home: Home, shell: str) -> None:
    script = "\n".join(home.lines("completion", shell))
    assert f"_CLEW_COMPLETE={shell}_complete" in script


def test_a_shell_gets_commands_to_complete() -> None:
    environ = {"_CLEW_COMPLETE": "bash_complete", "COMP_WORDS": "clew st", "COMP_CWORD": "1", "PATH": "/usr/bin:/bin"}
    asked = subprocess.run([sys.executable, "-m", "clew"], env=environ, capture_output=True, text=True, timeout=60)
    assert asked.stdout.split() == ["plain,status", "plain,store", "plain,statusline"], asked.stderr

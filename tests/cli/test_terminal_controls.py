"""Nothing that a model or a client wrote is obeyed by a terminal, in JSON and in exports too; files and pipes get it as it is."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from clew.chat.formats import FORMATS
from clew.cli.output import visible_json
from tests.build import text
from tests.cli.homes import THREAD, Home, yesterday
from tests.forking import ClewProcess
from tests.store.turns import recorded, turn

EVIL = "\x9b31mred\x85 \x7f safe\u202egpj.exe\u2066x\u2069 \u200e\u061c"
OBEYED = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def written(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.environ["A_KEY_THAT_NOBODY_SET"] = "k"
    said = recorded("r", thread=THREAD, blocks=(written(text(EVIL)),))
    spoken = turn(said, at=yesterday(), asked_model=f"claude-{EVIL}", request_id=EVIL)
    home.keep(structs.replace(spoken, title=EVIL, asked=(written({"role": "user", "content": EVIL}),)))
    return home


def on_terminal(home: Home, *arguments: str) -> str:
    """All that a command writes to the terminal that is its standard output."""
    ours, theirs = pty.openpty()
    with ClewProcess(arguments, env={**os.environ, **home.environ, "TERM": "xterm"}, stdout=theirs) as process:
        os.close(theirs)
        raw = b""
        while part := _read(ours):
            raw += part
        os.close(ours)
        process.wait(120)
    return raw.decode().replace("\r\n", "\n")


def _read(file: int) -> bytes:
    try:
        return os.read(file, 65_536)
    except OSError:  # the other end is closed
        return b""


LISTINGS = [["log"], ["show"], ["show", THREAD], ["show", THREAD, "--as", "claude"], ["status"], ["use"], ["doctor"]]


@pytest.mark.parametrize("arguments", LISTINGS, ids=" ".join)
def test_json_on_a_terminal_holds_nothing_that_it_would_obey_and_the_same_value(home: Home, arguments: list[str]) -> None:
    shown = on_terminal(home, *arguments, "--json")
    assert OBEYED.findall(shown) == []
    value = json.loads(shown)
    assert ascii(EVIL)[1:-1] in ascii(value) or arguments[0] not in ("log", "show")


@pytest.mark.parametrize("format", FORMATS)
def test_an_export_on_a_terminal_holds_nothing_that_it_would_obey(home: Home, format: str) -> None:
    shown = on_terminal(home, "export", THREAD, "-q", "--format", format)
    assert OBEYED.findall(shown) == []
    assert "red" in shown
    if FORMATS[format].suffix.endswith("jsonl"):
        assert ascii(EVIL)[1:-1] in ascii([json.loads(line) for line in shown.splitlines()])


@pytest.mark.parametrize("format", FORMATS)
def test_an_export_into_a_pipe_or_a_file_keeps_its_bytes(home: Home, tmp_path: Path, format: str) -> None:
    file = tmp_path / "out"
    home.lines("export", THREAD, "-q", "--format", format, "-o", str(file))
    asked = ["export", THREAD, "-q", "--format", format]
    with ClewProcess(asked, env={**os.environ, **home.environ}, stdout=subprocess.PIPE) as process:
        piped = process.communicate(timeout=120)[0]
    assert (process.returncode, piped) == (0, file.read_bytes())
    if FORMATS[format].suffix.endswith(("json", "jsonl")):
        assert EVIL.encode() in piped


def test_escapes_stand_for_the_same_value() -> None:
    raw = json.dumps({EVIL: [EVIL, "é", "日本"]}, ensure_ascii=False).encode()
    assert json.loads(visible_json(raw)) == json.loads(raw)
    assert OBEYED.findall(visible_json(raw).decode()) == []
    assert "日本" in visible_json(raw).decode()


def test_no_command_prints_json_in_another_way() -> None:
    commands = Path(sys.modules["clew.cli"].__file__ or "").parent
    past = [file.name for file in commands.glob("*.py") if re.search(r"click\.echo\(\s*(msgspec|json)\.", file.read_text())]
    assert past == []

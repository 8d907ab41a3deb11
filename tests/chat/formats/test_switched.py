"""Exports of conversations that went to several makers: they can be sent again, and importing them adds nothing."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.testing import Simulator
from clew.testing.plugin import StartSimulator
from tests.cli.homes import Home
from tests.engine.chatting import chat
from tests.engine.gate import Gate, claude, other
from tests.engine.talk import MODEL, Talk

pytestmark = pytest.mark.slow

SENDABLE = ["anthropic", "openai", "claude-code"]
SEEDS = range(4)


@pytest.fixture
def spoken(tmp_path: Path, simulators: StartSimulator, request: pytest.FixtureRequest) -> Iterator[Home]:
    """A home with a conversation of six questions, each of which some maker answered, with tools."""
    seed: int = request.param
    chance = random.Random(seed)
    home = Home(tmp_path / "home", "")
    makers: list[Simulator] = [
        simulators(seed=seed),
        simulators(seed=seed, realm="glm"),
        simulators(seed=seed, kind="deepseek-chat", realm="deepseek"),
    ]
    with Gate(home.root, claude(makers[0]), other(makers[1]), chat(makers[2], "deepseek")) as gate:
        talk = Talk(gate, headers={"x-claude-code-session-id": f"session-{seed}"} if seed % 2 else {})
        for number in range(6):
            gate.use(chance.choice(["claude", "glm", "deepseek"]))
            talk.messages.append(_asked(number, marked=chance.random() < 0.8))
            _to_its_end(talk)
            if chance.random() < 0.3:  # another branch
                branch = talk.fork()
                branch.asks("What else?")
        gate.use("deepseek")
        talk.messages.append(_asked(6, marked=True))
        _to_its_end(talk)
    return home


def _asked(number: int, *, marked: bool) -> Any:
    reminder = {"type": "text", "text": f"<system-reminder>{'Mind this. ' * 400}</system-reminder>"}
    words: dict[str, Any] = {"type": "text", "text": f"Question {number}: read a.txt."}
    return {"role": "user", "content": [reminder, words | ({"cache_control": {"type": "ephemeral"}} if marked else {})]}


def _to_its_end(talk: Talk) -> None:
    """Clients move their marks: no request has more than one of them, what is recorded has them all."""
    for message in talk.messages[:-1]:
        for block in message["content"] if isinstance(message["content"], list) else ():
            block.pop("cache_control", None)
    talk.step()
    while talk.calls:
        talk.runs()
        talk.step()


def exported(home: Home, format: str, file: Path) -> Path:
    assert home.lines("export", "last", "-q", "--format", format, "-o", str(file)) == []
    return file


def calls_and_results(format: str, text: str) -> tuple[list[str], list[str]]:
    if format == "openai":
        messages = json.loads(text)["messages"]
        calls = [call["id"] for message in messages for call in message.get("tool_calls") or ()]
        return calls, [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    messages = (
        json.loads(text)["messages"]
        if format == "anthropic"
        else [json.loads(line)["message"] for line in text.splitlines()]
    )
    blocks = [block for message in messages if isinstance(message["content"], list) for block in message["content"]]
    calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
    return calls, [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]


@pytest.mark.parametrize("spoken", SEEDS, indirect=True)
def test_an_export_can_be_sent_again_and_adds_nothing_when_it_is_imported(spoken: Home, tmp_path: Path) -> None:
    before = spoken.json("show")
    for format in SENDABLE:
        file = exported(spoken, format, tmp_path / f"talk.{format}")
        text = file.read_text()
        calls, results = calls_and_results(format, text)
        assert results, "there is something to see"
        assert set(results) <= set(calls)
        assert set(results) == set(calls) or format == "claude-code", "a branch may end with a call"
        assert text.count('"cache_control"') <= 4
        if format != "claude-code":
            assert json.loads(text)["model"] == MODEL
        if format != "openai":
            checked = spoken.clew("check", str(file))
            assert checked.exit_code == 0, checked.output
        tally = spoken.json("import", str(file))
        assert (tally["turns"], tally["broken"]) == (0, 0), format
        assert spoken.json("import", "--dry-run", str(file))["turns"] == 0
        assert spoken.json("show") == before


@pytest.mark.parametrize("spoken", [1], indirect=True)
def test_an_export_goes_round_through_another_home(spoken: Home, tmp_path: Path) -> None:
    """What is imported there, and exported again, adds nothing in either home."""
    for format in SENDABLE:
        there = Home(tmp_path / f"there-{format}", "")
        file = exported(spoken, format, tmp_path / f"talk.{format}")
        assert there.json("import", str(file))["turns"] > 0
        assert there.json("import", str(file))["turns"] == 0
        again = exported(there, format, tmp_path / f"again.{format}")
        assert there.json("import", str(again))["turns"] == 0
        assert spoken.json("import", str(again))["turns"] == 0, format


@pytest.mark.parametrize("spoken", [2], indirect=True)
@pytest.mark.parametrize("format", ["markdown", "html"])
def test_pages_for_people_fold_reminders(spoken: Home, tmp_path: Path, format: str) -> None:
    text = exported(spoken, format, tmp_path / "page").read_text()
    assert "System reminder, 4,400 characters" in text
    assert "Question 0: read a.txt." in text
    assert text.count("Mind this.") == (0 if format == "markdown" else text.count("<details><summary>System reminder") * 400)


@pytest.mark.parametrize("name", ["talk.md", "talk.html"])
def test_a_page_for_people_says_that_it_cannot_be_imported_and_what_can(tmp_path: Path, name: str) -> None:
    home = Home(tmp_path / "home", "")
    (tmp_path / name).write_text("# A talk\n\nHello.\n")
    done = home.clew("import", str(tmp_path / name))
    assert done.exit_code == 1
    assert "cannot be imported: export the conversation as one of clew, anthropic, openai, claude-code" in done.stderr

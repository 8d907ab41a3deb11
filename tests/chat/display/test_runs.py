"""An agent's run on a screen, and the person who is asked before a tool runs."""

from __future__ import annotations

import io
from contextlib import closing
from pathlib import Path

import pytest

from clew import Agent, Denied, ToolCall, tool
from clew.chat.agent.events import FromAgent, LimitReached, OutputRejected, StepRetried, ToolFinished, ToolStarted
from clew.chat.agent.plan import Reached
from clew.chat.agent.tools import Later
from clew.chat.display.runs import Approving, show
from clew.chat.display.view import LiveView, PlainView
from clew.errors import BackendOverloaded
from clew.testing import Simulator
from tests.chat.display.test_views import Terminal


@tool(approval=True)
def read(file_path: str) -> str:
    """Reads a file."""
    return "127.0.0.1 localhost"


@pytest.mark.slow
def test_a_run_with_somebody_who_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While they think about it nothing is drawn over the question."""
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("LINES", "20")
    terminal = Terminal()
    said = iter(["y", "not that one"])

    def answer(question: str) -> str:
        before = len(terminal.pictures)
        terminal.write(question + "\n")
        assert len(terminal.pictures) == before + 1
        return next(said)

    with Simulator() as claude, closing(LiveView(terminal, pause=0.002)) as view:
        backend = f'[backends.claude]\npreset = "anthropic"\nurl = "{claude.url}"\nkey = "{claude.key}"\n'
        (tmp_path / "clew.toml").write_text(backend)
        agent = Agent(model="claude-opus-5-5", tools=[read], approve=Approving(view, answer))
        with agent.open(home=tmp_path) as opened:
            for event in opened.stream("Look. [[scenario:interleaved]]"):
                show(event, view)
    lines = terminal.screen.lines
    assert lines.count("Run it? [y/N, or why not]") == 2
    assert [line.split()[0] for line in lines if line.startswith(("✓", "✗"))] == ["✓", "✗"]
    assert any(line.endswith("denied: not that one") for line in lines)
    assert lines[-1] == "Reason: not that one", "which the model was told, and repeats"


CALL = ToolCall("1", "read", '{"x": "\x1b"}')


def test_what_else_a_run_tells_is_noted() -> None:
    out, aside = io.StringIO(), io.StringIO()
    view = PlainView(out, aside, thoughts=True)
    for event in (
        StepRetried(1, BackendOverloaded("Overloaded\x1b"), 2.0),
        FromAgent("helper", CALL, ToolStarted(CALL)),
        FromAgent("helper", CALL, FromAgent("below", CALL, ToolFinished(CALL, {"a": 1}, is_error=True, seconds=1.0))),
        OutputRejected(1, "no number"),
        LimitReached(Reached("steps", 10, 10)),
    ):
        show(event, view)
    view.close()
    assert out.getvalue() == ""
    assert aside.getvalue().splitlines() == [
        "Overloaded␛; asked again in 2 s",
        '→ helper: read {"x": "␛"} running',
        '→ below: read {"x": "␛"} failed {"a":1}',
        "the answer is not of the type that was asked for: no number",
        "the limit of 10 steps is reached",
    ]


@pytest.mark.parametrize(
    ("said", "decision"),
    [
        ("y", True),
        (" YES ", True),
        ("", Denied("the user said no")),
        ("n", Denied("the user said no")),
        ("ask me", Denied("ask me")),
    ],
)
def test_an_answer_is_yes_no_or_the_reason(said: str, decision: bool | Denied) -> None:
    asked: list[str] = []
    approve = Approving(read=lambda question: (asked.append(question), said)[1])
    assert approve(CALL, read) == decision
    assert asked == ['read {"x": "␛"}\nRun it? [y/N, or why not] ']


def test_where_nobody_sits_the_decision_is_left_for_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert Approving()(CALL, read) == Later()

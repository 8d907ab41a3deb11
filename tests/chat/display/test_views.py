"""What is seen of an answer: on a terminal, and in a pipe."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread

import pytest

from clew.chat.display.view import COMPACTED, LiveView, PlainView, view_for
from clew.chat.messages import ToolCall
from clew.chat.service import Compacted, TextDelta, ThinkingDelta
from clew.chat.turns import Turn
from tests.chat.display.screen import Screen
from tests.manifest import proves
from tests.waiting import until

EVIL = "\x1b]0;owned\x07\x1b[31mred\x9b2J\r\rx"
HARMLESS = "␛]0;owned␇␛[31mred�2J␍␍x"


class Terminal(io.StringIO):
    """One that keeps a screen. What is written to it in one piece is one picture."""

    def __init__(self, width: int = 60, height: int = 20) -> None:
        super().__init__()
        self.screen = Screen(width, height)
        self.pictures: list[list[str]] = []

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.screen.feed(text)
        self.pictures.append(self.screen.lines)
        return len(text)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def terminal_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("LINES", "20")
    monkeypatch.setenv("TERM", "xterm")


@contextmanager
def live(terminal: Terminal, *, show_thinking: bool = False, name: str = "") -> Iterator[tuple[LiveView, Clock]]:
    clock = Clock()
    view = LiveView(terminal, show_thinking=show_thinking, name=name, clock=clock, pause=0.002)
    try:
        yield view, clock
    finally:
        view.close()
    assert terminal.screen.cursor


def sees(terminal: Terminal, *lines: str) -> Callable[[], object]:
    return lambda: terminal.pictures[-1:] and terminal.pictures[-1][-len(lines) :] == list(lines)


@proves("req:C33")
def test_thinking_is_one_line_that_counts_and_text_is_markdown() -> None:
    """What is going on is always on the screen; what stays is drawn once."""
    terminal = Terminal()
    with live(terminal, name="claude") as (view, clock):
        until(sees(terminal, "waiting for claude… 0 s"))
        clock.now += 3
        until(sees(terminal, "waiting for claude… 3 s"))
        view.add(ThinkingDelta("Let me see what the user may want of me."))
        clock.now += 12
        until(sees(terminal, "thinking… 12 s, ≈11 tokens"))
        view.add(TextDelta("# Head\n\nSome **bo"))
        until(sees(terminal, "thought for 12 s, ≈11 tokens", "", "Head", "", "Some **bo"))
        view.add(TextDelta("ld** text\n\n- one\n- two"))
        until(sees(terminal, "Some bold text", "", " • one", " • two"))
    assert terminal.screen.lines == [
        *("thought for 12 s, ≈11 tokens", "", "Head", "", "Some bold text", "", " • one", " • two"),
    ]


def test_thinking_is_shown_in_full_if_that_is_wanted() -> None:
    terminal = Terminal()
    with live(terminal, show_thinking=True) as (view, clock):
        view.add(ThinkingDelta("First thought.\n\nSecond *tho"))
        until(sees(terminal, "First thought.", "", "Second *tho", "", "thinking… 0 s, ≈8 tokens"))
        view.add(ThinkingDelta("ught*"))
        clock.now += 2
        view.add(TextDelta("Answer."))
    assert terminal.screen.lines == [
        *("First thought.", "", "Second *thought*", "", "thought for 2 s, ≈10 tokens", "", "Answer."),
    ]


def test_a_silence_in_the_middle_of_a_text_is_seen() -> None:
    terminal = Terminal()
    with live(terminal) as (view, clock):
        view.add(TextDelta("One"))
        clock.now += 5
        until(sees(terminal, "One", "… 5 s"))
        view.add(TextDelta(" more."))
        until(sees(terminal, "One more."))
    assert terminal.screen.lines == ["One more."]


def test_an_answer_that_never_came_leaves_nothing() -> None:
    terminal = Terminal()
    with live(terminal):
        until(sees(terminal, "waiting… 0 s"))
    assert terminal.screen.lines == []


def test_thoughts_between_texts_have_their_places() -> None:
    terminal = Terminal()
    with live(terminal) as (view, _):
        for event in (ThinkingDelta("One."), TextDelta("First."), ThinkingDelta("Two."), TextDelta("Second.")):
            view.add(event)
    assert terminal.screen.lines == [
        *("thought for 0 s, ≈2 tokens", "", "First.", "", "thought for 0 s, ≈2 tokens", "", "Second."),
    ]


def test_each_tool_has_a_line_with_its_state() -> None:
    """In the order of the calls; what is settled stays."""
    terminal = Terminal()
    first, second = ToolCall("1", "Read", '{"path":"a"}'), ToolCall("2", "Run", '{"cmd": "rm\x1b[0m"}')
    with live(terminal) as (view, clock):
        view.add(TextDelta("I look."))
        view.tool(first, "running")
        view.tool(second, "asking")
        clock.now += 1.5
        until(sees(terminal, "I look.", '… Read {"path":"a"} running 1.5 s', '? Run {"cmd": "rm␛[0m"} asking'))
        view.tool(second, "denied", "not in\nproduction")
        view.tool(first, "done")
        view.tool(ToolCall("3", "Look", "{}"), "running")
        view.tool(ToolCall("3", "Look", "{}"), "failed", "no such file")
    assert terminal.screen.lines == [
        "I look.",
        '✓ Read {"path":"a"} done 1.5 s',
        '✗ Run {"cmd": "rm␛[0m"} denied: not in production',
        "✗ Look {} failed 0.0 s: no such file",
    ]


def test_a_call_that_nobody_runs_here_is_named() -> None:
    terminal = Terminal()
    with live(terminal) as (view, _):
        view.add(ToolCall("1", "Read", '{"path": "' + "x" * 500 + '"}'))
    assert " ".join(terminal.screen.lines).startswith('→ Read {"path": "xxx')
    assert "".join(terminal.screen.lines).endswith("… (512 characters)")


@proves("req:C34", "fault:X11")
def test_nothing_that_was_said_is_obeyed_or_lost() -> None:
    """The screen refuses every sequence that no view writes."""
    terminal = Terminal()
    with live(terminal, show_thinking=True, name="evil\x1b[2J") as (view, _):
        view.add(ThinkingDelta(EVIL))
        view.add(TextDelta(f"`{EVIL}` <b>tag</b> [text](http://example.com/{EVIL[:4]}) ![alt](http://x/y.png)\n\n"))
        view.add(TextDelta("[1]: http://example.com/only\n"))
        view.tool(ToolCall("1", EVIL, EVIL), "failed", EVIL)
    seen = "".join(line + " " for line in terminal.screen.lines)
    assert seen.count("owned") == 5
    for part in (HARMLESS, "<b>tag</b>", "http://example.com/", "alt", "http://x/y.png", "[1]: http://example.com/only"):
        assert part in seen.replace("  ", " "), part


def test_a_block_that_is_taller_than_the_screen_is_drawn_whole_at_its_end() -> None:
    """Until then its end is seen. What scrolled away is never drawn over: the screen would refuse."""
    terminal = Terminal(height=20)
    code = [f"line {number}" for number in range(100)]
    with live(terminal) as (view, _):
        view.add(TextDelta("```\n"))
        for line in code:
            view.add(TextDelta(f"{line}\n"))
        until(sees(terminal, " line 98", " line 99"))
        assert len(terminal.screen.lines) < 20
        view.add(TextDelta("```\nDone."))
    assert terminal.screen.lines == [*(f" {line}" for line in code), "", "Done."]


def test_a_paragraph_that_is_taller_than_the_screen_is_seen_from_its_end() -> None:
    """Its lines are long, so there are more of them on the screen than in the text."""
    terminal = Terminal(height=20)
    with live(terminal) as (view, _):
        for number in range(500):
            view.add(TextDelta(f"word{number} "))
        until(lambda: terminal.pictures and terminal.pictures[-1] and terminal.pictures[-1][-1].endswith("word499"))
        seen = len(terminal.pictures)
        until(lambda: len(terminal.pictures) > seen + 3)
        assert len(terminal.screen.lines) < 20
    assert " ".join(terminal.screen.lines).split() == [f"word{number}" for number in range(500)]


def test_the_cost_of_an_answer_grows_with_its_length_and_not_faster() -> None:
    """A hundred kilobytes of one open paragraph: each picture is as small as the first."""
    terminal = Terminal()
    with live(terminal) as (view, _):
        for _ in range(200):
            view.add(TextDelta("A line of about fifty characters, again and again.\n" * 10))
        seen = len(terminal.pictures)
        until(lambda: len(terminal.pictures) > seen + 2)
        assert len(terminal.screen.lines) < 20


def test_a_line_as_long_as_the_screen_is_wide_does_not_wrap() -> None:
    terminal = Terminal(width=60)
    with live(terminal) as (view, _):
        view.add(TextDelta("x" * 59 + "\n\n" + "漢" * 40))
        until(sees(terminal, "漢" * 11))
    assert terminal.screen.lines == ["x" * 59, "", "漢" * 29, "漢" * 11]


def compacted() -> Compacted:
    refused = Turn(id="1", at=0.0, asked=(), answer=None, outcome="refused")
    return Compacted(refused, Turn(id="2", at=1.0, asked=(), answer=None, outcome="whole", is_summary=True))


def test_a_conversation_that_goes_on_from_a_summary_says_so() -> None:
    terminal, aside = Terminal(width=120), io.StringIO()
    with live(terminal) as (view, _):
        for event in (ThinkingDelta("Hm."), compacted(), TextDelta("So.")):
            view.add(event)
    assert " ".join(terminal.screen.lines).split("  ")[1:] == [COMPACTED, "So."]
    plain = PlainView(io.StringIO(), aside)
    plain.add(compacted())
    assert aside.getvalue() == f"{COMPACTED}\n"


# In a pipe


@pytest.mark.parametrize(
    "evil",
    [
        "\x1b]8;;http://evil.example/\x1b\\click\x1b]8;;\x1b\\",
        "\x1b]52;c;ZXZpbA==\x07",
        "\x9d52;c;ZXZpbA==\x9c",
        "\x1bP+q\x1b\\",
    ],
    ids=["a link that says another name", "the clipboard", "the clipboard, in one byte", "a question to the terminal"],
)
@proves("fault:X11")
def test_links_the_clipboard_and_questions_are_pictures(evil: str) -> None:
    terminal, out = Terminal(), io.StringIO()
    with live(terminal) as (view, _):
        view.add(TextDelta(evil))
    plain = PlainView(out)
    plain.add(TextDelta(evil))
    plain.close()
    for seen in ("".join(terminal.screen.lines), out.getvalue()):
        assert not {"\x1b", "\x07", "\x9c", "\x9d"} & set(seen)
        assert ("␛" in seen) or ("�" in seen)


@proves("req:C34", "fault:X11")
def test_a_pipe_gets_the_text_alone_and_harmless() -> None:
    out, aside = io.StringIO(), io.StringIO()
    view = PlainView(out, aside, thoughts=True)
    for event in (ThinkingDelta("Hm."), TextDelta("One\r"), TextDelta("\n**two**"), ThinkingDelta("So."), TextDelta(EVIL)):
        view.add(event)
    view.tool(ToolCall("1", "Read\x1b", "{}"), "done", "12 lines")
    view.close()
    assert out.getvalue() == f"One\n**two**\n{HARMLESS}\n"
    assert aside.getvalue() == "Hm.\nSo.\n→ Read␛ {} done 12 lines\n"


def test_a_pipe_gets_no_thinking_unless_it_is_wanted_and_no_line_too_many() -> None:
    out = io.StringIO()
    view = PlainView(out)
    for event in (ThinkingDelta("Hm."), TextDelta("One.\n"), ToolCall("1", "Read")):
        view.add(event)
    view.close()
    assert out.getvalue() == "One.\n"


def test_what_is_held_back_is_not_lost() -> None:
    out = io.StringIO()
    view = PlainView(out)
    view.add(TextDelta("One\r"))
    view.close()
    assert out.getvalue() == "One␍\n"


def test_anyone_who_gets_the_screen_reads_first_what_was_said() -> None:
    """A person who is asked about a call wants to know why the model makes it."""
    terminal = Terminal()
    with live(terminal, show_thinking=True) as (view, clock):
        view.add(ThinkingDelta("The hosts first."))
        view.add(TextDelta("I look into"))
        clock.now += 1
        with view.paused():
            assert terminal.screen.lines == ["The hosts first.", "", "thought for 0 s, ≈4 tokens", "", "I look into"]
            clock.now += 60
        view.add(ThinkingDelta("Hm."))
        view.add(TextDelta("Yes."))
    assert terminal.screen.lines[-3:] == ["thought for 0 s, ≈2 tokens", "", "Yes."]


def test_a_view_is_closed_while_somebody_has_the_screen() -> None:
    """Ctrl-C at a question that another thread asks: nobody waits for the answer to it."""
    terminal = Terminal()
    with live(terminal) as (view, _), view.paused():
        view.add(TextDelta("Meanwhile."))
        closing = Thread(target=view.close)
        closing.start()
        closing.join(120)
        assert not closing.is_alive()
    assert terminal.screen.lines == ["Meanwhile."]


def test_the_view_fits_where_it_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    view = view_for(Terminal(), io.StringIO())
    view.close()
    assert isinstance(view, LiveView)
    assert isinstance(view_for(io.StringIO(), io.StringIO()), PlainView)
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(view_for(Terminal(), io.StringIO()), PlainView)

"""`clew chat`: a conversation on a terminal, typed and seen as a person would; and in a pipe."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import time
from typing import Any

import pytest

import clew.cli.chat
from clew.cli.chat import ChatPrompt
from clew.settings.home import Home as Place
from clew.settings.processes import RegisteredGateway, register, unregister
from clew.testing import Simulator
from tests.chat.conversation.gateway import Gateway
from tests.cli.homes import Home
from tests.cli.ptys import Pty, on_terminal
from tests.manifest import proves, public
from tests.waiting import until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def simulator() -> Iterator[Simulator]:
    with Simulator() as simulator:
        yield simulator


@pytest.fixture
def home(tmp_path: Path, simulator: Simulator) -> Home:
    simulator.reset()
    row = f'url = "{simulator.url}"\nrealm = "anthropic"\nkey = "{simulator.key}"\n'
    rows = f'[backends.second]\n{row}[backends.claude]\n{row}model = "claude-opus-5-5"\n'
    home = Home(tmp_path / "home", f'active = "claude"\n{rows}')
    home.config.chmod(0o600)
    return home


def asked(simulator: Simulator) -> list[Any]:
    """The last message of each request."""
    bodies = [json.loads(simulator.body(entry["n"])) for entry in simulator.journal()]
    return [body["messages"][-1]["content"] for body in bodies]


def piped(home: Home, *lines: str, code: int = 0) -> str:
    """What goes to standard output."""
    done = home.clew("chat", "-q", input="".join(f"{line}\n" for line in lines))
    assert done.exit_code == code, done.stderr
    return done.stdout


# In a pipe


def test_each_line_is_a_question(home: Home, simulator: Simulator) -> None:
    assert piped(home, "One.", "", "Two.") == "You said: “One.”\nYou said: “Two.”\n"
    assert len(json.loads(simulator.body(simulator.journal()[-1]["n"]))["messages"]) == 3
    assert [thread["turns"] for thread in home.json("show")] == [2]


def test_several_lines_can_be_one_question(home: Home, simulator: Simulator) -> None:
    piped(home, "One, \\", "and two.", '"""Three', "", 'four."""', "//five", "six \\")
    assert asked(simulator) == ["One, \nand two.", "Three\n\nfour.", "/five"]


def test_the_first_failure_ends_a_pipe_with_its_code(home: Home, simulator: Simulator) -> None:
    simulator.fault("status 401", times=None)
    done = home.clew("chat", input="One.\nTwo.\n")
    assert (done.exit_code, done.stdout) == (4, "")
    assert "claude refused every key" in done.stderr
    done = home.clew("chat", input="/retyr\nTwo.\n")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "there is no /retyr; is /retry meant?" in done.stderr


def test_backend_effort_and_thinking_change_between_two_questions(home: Home, simulator: Simulator) -> None:
    out = piped(
        home, "/use", "/use second claude-sonnet-5", "/effort low", "/thinking off", "One.", "/thinking show", "Two."
    )
    assert out.splitlines()[:5] == [
        "* claude",
        "  second",
        "second gives the next answer, with claude-sonnet-5",
        "effort: low",
        "thinking: off, if the model allows that; its text is folded",
    ]
    one, two = (json.loads(simulator.body(entry["n"])) for entry in simulator.journal())
    assert (one["model"], one["output_config"], one["thinking"]) == (
        "claude-sonnet-5",
        {"effort": "low"},
        {"type": "disabled"},
    )
    assert two["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert "thinking: asked for; its text is shown" in out


def test_lines_of_a_conversation_are_listed_and_gone_to(home: Home, simulator: Simulator) -> None:
    """Retry and edit leave what was there as a branch."""
    out = piped(
        home,
        "One.",
        "/edit Two.",
        "/retry",
        "/branch",
        "/branch 1",
        "/show",
        "Three.",
        "/branch turn 1",
        "/branch 9",
        code=1,
    )
    said = out.splitlines()
    assert asked(simulator) == ["One.", "Two.", "Two.", "Three."]
    listed = [line.split() for line in said if "claude-opus-5-5" in line and line.lstrip().startswith(("1 ", "2 ", "* "))]
    assert [row[-1] for row in listed] == ["claude-opus-5-5"] * 3
    assert [row[0] for row in listed] == ["1", "2", "*"]
    assert said.count("here now: 1 turn; your next question continues from there") == 2
    assert "  One." in said
    last = json.loads(simulator.body(simulator.journal()[-1]["n"]))
    assert [message["content"] for message in last["messages"] if message["role"] == "user"] == ["One.", "Three."]


@public("cli")
@proves("req:S2-42")
def test_title_usage_and_show_tell_what_there_is(home: Home) -> None:
    out = piped(
        home, "/show", "/usage", "/title", "/branch", "Hello.", "/title A new name", "More.", "/usage", "/title", "/help"
    )
    said = out.splitlines()
    assert said[:4] == [
        "Nothing was asked yet.",
        "Nothing was used yet.",
        "it has no title yet: your first question becomes the title",
        "Nothing was asked yet.",
    ]
    [head] = [index for index, line in enumerate(said) if line.split()[:2] == ["answer", "in"]]
    assert [line.split()[0] for line in said[head + 1 : head + 4]] == ["1", "2", "all"]
    assert said[head + 4] == "A new name"
    assert home.json("show")[0]["title"] == "A new name"
    assert any(line.strip().startswith("/export FORMAT FILE") for line in said)


def test_a_conversation_is_written_to_a_file(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "talk.md"
    piped(home, "Hello.", f"/export markdown {file}")
    assert "Hello." in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "the formats are clew, " in home.clew("chat", input="/export nonsense x\n").stderr
    assert "nothing was asked yet" in home.clew("chat", input=f"/export markdown {file}\n").stderr
    assert "talk.md/x: " in home.clew("chat", "--last", input=f"/export markdown {file}/x\n").stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--last",), "No conversation was recorded yet, so there is no last one"),
        (("--last", "--thread", "x"), "--last and --thread both name a conversation"),
        (("--backend", "nope"), "There is no backend 'nope'"),
    ],
)
def test_mistakes_on_the_command_line_are_told(home: Home, arguments: tuple[str, ...], words: str) -> None:
    done = home.clew("chat", *arguments, input="")
    assert (done.exit_code, done.stdout) == (2, "")
    assert words in done.stderr


# On a terminal


def said(terminal: Pty, text: str, answer: str) -> None:
    """At a prompt, and until there is one again, below an answer that was not there before."""
    before = _times(answer, terminal.until(is_at_prompt))
    terminal.type(f"{text}\r")
    terminal.until(lambda lines: _times(answer, lines) > before)
    terminal.until(is_at_prompt)


def _times(answer: str, lines: list[str]) -> int:
    return "\n".join(lines).count(answer)


def interrupted(terminal: Pty) -> None:
    """Ctrl-C where a person would press it: when the prompt waits for a key. Python hears none between two keys."""
    terminal.until(is_at_prompt)
    until(terminal.is_asleep)
    terminal.type("\x03")


def is_at_prompt(lines: list[str]) -> bool:
    return bool(lines) and lines[-1] == ">"


def test_a_conversation_is_typed_edited_completed_and_resumed(home: Home, simulator: Simulator) -> None:
    with on_terminal(home, "chat") as terminal:
        terminal.until(is_at_prompt)
        assert terminal.screen.lines[0] == "claude, claude-opus-5-5 · /help lists commands, Ctrl-D leaves"
        said(terminal, "Helo\x7flo", "You said: “Hello”")
        said(terminal, "/use se\t", "second gives the next answer")
        terminal.type("\x1b[A\x1b[A")
        terminal.until(lambda lines: lines[-1] == "> Hello")
        terminal.type(" again\r")
        terminal.until("You said: “Hello again”")
        terminal.until(is_at_prompt)
        terminal.type("/edit\r")
        terminal.until("edit> Hello again")
        terminal.type("!\r")
        terminal.until("You said: “Hello again!”")
        terminal.until(is_at_prompt)
        terminal.type("\x04")
        assert terminal.ended() == 0
        [thread] = home.json("show")
        assert terminal.screen.lines[-1] == f"saved; continue with `clew chat --thread {thread['id']}`"
    assert asked(simulator) == ["Hello", "Hello again", "Hello again!"]
    history = home.root / "chat_history"
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    entries = [json.loads(line) for line in history.read_text().splitlines()]
    assert entries == ["Hello", "/use second ", "Hello again", "/edit", "Hello again!"]
    with on_terminal(home, "chat", "--last") as terminal:
        terminal.until(is_at_prompt)
        assert terminal.screen.lines[1] == "continuing “Hello”: 2 turns, /show shows them"
        terminal.type("\x1b[A")
        terminal.until(lambda lines: lines[-1] == "> Hello again!")
        terminal.type("\x15/quit\r")
        assert terminal.ended() == 0


def test_what_is_pasted_is_one_question(home: Home, simulator: Simulator) -> None:
    with on_terminal(home, "chat", "-q") as terminal:
        terminal.until(is_at_prompt)
        terminal.type("\x1b[200~One,\ntwo\x1b[201~")
        terminal.until("two")
        terminal.type(" three\r")
        terminal.until("three”")
        terminal.until(is_at_prompt)
        terminal.type("\x04")
        assert terminal.ended() == 0
    assert asked(simulator) == ["One,\ntwo three"]
    assert json.loads((home.root / "chat_history").read_text()) == "One,\ntwo three"


def test_ctrl_c_stops_the_answer_and_keeps_it_and_twice_at_the_prompt_leaves(home: Home, simulator: Simulator) -> None:
    simulator.fault("stall 60 before=message_delta")
    with on_terminal(home, "chat") as terminal:
        terminal.until(is_at_prompt)
        terminal.type("Why? [[scenario:thinking]]\r")
        terminal.until("thought for")
        assert not terminal.echoes, "it would be drawn into the answer"
        terminal.type("\x03")
        terminal.until("stopped; the finished part is kept, and /retry asks again")
        terminal.until(is_at_prompt)
        terminal.type("/retry\r")
        terminal.until("claude, claude-opus-5-5 · 7 tokens in")
        terminal.until(is_at_prompt)
        interrupted(terminal)
        terminal.until("press Ctrl-C again, or Ctrl-D, to leave")
        interrupted(terminal)
        assert terminal.ended() == 0
        assert terminal.screen.lines[-1].startswith("saved; continue with `clew chat --thread ")
    assert [turn["answer"] is not None for turn in home.json("show", "last")["turns"]] == [True, True]


def test_ctrl_c_that_comes_when_the_answer_is_over_does_not_leave(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Anyone who meant to stop the answer would be thrown out of the conversation."""
    late = iter([KeyboardInterrupt])

    def summary(*_: object) -> None:
        for each in late:
            raise each

    monkeypatch.setattr(clew.cli.chat, "print_summary", summary)
    monkeypatch.setattr(clew.cli.chat, "ChatPrompt", _Typed)
    done = home.clew("chat", input="One.\nTwo.\n")
    assert (done.exit_code, done.stdout) == (0, "You said: “One.”\nYou said: “Two.”\n")


class _Typed(ChatPrompt):
    """A pipe that is taken for a person."""

    @property
    def is_live(self) -> bool:
        return True

    @is_live.setter
    def is_live(self, live: bool) -> None: ...


def test_a_failure_is_told_and_the_conversation_goes_on(home: Home, simulator: Simulator) -> None:
    simulator.fault("status 400 message='evil \x1b[2J words'")
    with on_terminal(home, "chat") as terminal:
        terminal.until(is_at_prompt)
        said(terminal, "One", "the question is kept, and /retry asks again")
        assert "Error: claude says: evil ␛[2J words" in terminal.screen.lines
        said(terminal, "/retry", "You said: “One”")
        said(terminal, "/nonsense", "Error: there is no /nonsense; /help lists the commands")
        terminal.type("\x04")
        assert terminal.ended() == 0


@contextmanager
def registered(home: Home) -> Iterator[None]:
    """A gateway that the commands of this home find."""
    with Gateway(home.root) as gateway:
        admin = gateway.admin
        row = register(
            Place(home.root), RegisteredGateway(pid=os.getpid(), url=admin.url, socket=str(admin.socket), started=time())
        )
        try:
            yield
        finally:
            unregister(Place(home.root), row)


def test_a_chat_whose_gateway_is_restarted_says_so_once_and_goes_on(home: Home, simulator: Simulator) -> None:
    """With the new one, or with none: what was said is known to both, and so are the place and who was chosen to answer."""
    first = ExitStack()
    first.enter_context(registered(home))
    with first, on_terminal(home, "chat") as terminal:
        terminal.until(is_at_prompt)
        said(terminal, "One.", "You said: “One.”")
        said(terminal, "Beside.", "You said: “Beside.”")
        said(terminal, "/branch turn 1", "here now: 1 turn")
        said(terminal, "/use claude claude-opus-5-5", "claude gives the next answer, with claude-opus-5-5")
        first.close()
        with registered(home):
            said(terminal, "Two.", "You said: “Two.”")
        said(terminal, "Three.", "You said: “Three.”")
        said(terminal, "Four.", "You said: “Four.”")
        told = [line for line in terminal.screen.lines if "gateway" in line]
        terminal.type("\x04")
        assert terminal.ended() == 0
    assert told == [
        "the gateway of this chat has ended; the chat continues with the one that runs now",
        "the gateway of this chat has ended; the chat continues without one",
    ]
    last = json.loads(simulator.body(simulator.journal()[-1]["n"]))["messages"]
    assert [message["content"] for message in last[::2]] == ["One.", "Two.", "Three.", "Four."]


def test_a_gateway_that_ends_in_the_middle_of_an_answer_leaves_a_question_to_ask_again(
    home: Home, simulator: Simulator
) -> None:
    first = ExitStack()
    first.enter_context(registered(home))
    with first, on_terminal(home, "chat") as terminal:
        terminal.until(is_at_prompt)
        said(terminal, "One.", "You said: “One.”")
        simulator.fault("stall 60 before=message_delta")
        terminal.type("Two.\r")
        terminal.until("You said: “Two.”")
        first.close()
        terminal.until("the gateway of this chat has ended; the chat continues without one")
        terminal.until("the finished part is kept, and /retry asks again")
        terminal.until(is_at_prompt)
        said(terminal, "/retry", "You said: “Two.”")
        terminal.type("\x04")
        assert terminal.ended() == 0
    assert asked(simulator) == ["One.", "Two.", "Two."]


def test_what_is_typed_during_an_answer_is_the_next_question(home: Home, simulator: Simulator) -> None:
    simulator.fault("stall 0.7 before=message_delta")
    with on_terminal(home, "chat") as terminal:
        terminal.until(is_at_prompt)
        terminal.type("Why? [[scenario:thinking]]\r")
        terminal.until("thought for")
        terminal.type("Next\r")
        terminal.until(lambda lines: "\n".join(lines).count(" tokens in") == 2)
        terminal.until(is_at_prompt)
        assert asked(simulator) == ["Why? [[scenario:thinking]]", "Next"]
        terminal.type("\x04")
        assert terminal.ended() == 0

"""The same conversation for programs without an event loop."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from clew import Conversation, Ended, TextDelta, document, image
from clew.chat.blocking import Answer
from clew.errors import BackendOverloaded, RequestInvalid, SettingsInvalid
from clew.testing import Simulator
from tests.chat.conversation.gateway import Gateway
from tests.engine.talk import MODEL, SHOWN, TOOLS, refusals

pytestmark = pytest.mark.slow

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360f8cfc0f01f0005000201"
    "5d0a2db40000000049454e44ae426082"
)


Opened = Callable[..., AbstractContextManager[Conversation]]


@pytest.fixture(params=["here", "gateway"])
def opened(request: pytest.FixtureRequest, home: Path) -> Iterator[Opened]:
    """Opens conversations in this process, and over a gateway."""
    usual = {"model": MODEL, "tools": TOOLS, "thinking": SHOWN, "max_tokens": 4000, "home": home, "environ": {}}
    with Gateway(home) if request.param == "gateway" else nullcontext() as gateway:
        there = {"url": gateway.url, "key": gateway.token} if gateway else {}
        yield lambda thread="", **wishes: Conversation.open(thread, **{**usual, **there, **wishes})


def test_a_conversation_without_an_event_loop(opened: Opened, a: Simulator) -> None:
    """Every verb once: ask, results, edit, branch, retry, rename, use, as_sent; and open it again."""
    with opened() as conversation:
        events = list(conversation.ask("Look. [[scenario:interleaved]]"))
        assert isinstance(events[-1], Ended)
        assert conversation.messages[-1]["content"] == events[-1].message.raw_content
        while conversation.calls:
            message = conversation.results({call.id: OSError("no such file") for call in conversation.calls}).message()
        assert message.content == "Done: no such file"
        last = conversation.turns[-1]
        conversation.edit(last, "Thank you.").message()
        conversation.branch(last)
        answer = conversation.retry()
        answer.message()
        assert answer.turn == conversation.turns[-1]
        assert len(conversation.branches) == 3
        conversation.rename("Hosts")
        conversation.use("deepseek", model="deepseek-chat")
        assert (conversation.title, conversation.backend, conversation.model) == ("Hosts", "deepseek", "deepseek-chat")
        assert conversation.as_sent().backend == "deepseek"
        thread, messages = conversation.thread, conversation.messages
    with opened(thread) as again:
        assert (again.title, again.messages) == ("Hosts", messages)
    assert refusals(a) == []


def test_a_conversation_that_was_closed_says_so(opened: Opened, a: Simulator) -> None:
    with opened() as conversation:
        conversation.ask("Hello.").message()
        answer = conversation.ask("And?")
    for late in (answer.message, conversation.as_sent):
        with pytest.raises(RequestInvalid, match="is closed"):
            late()
    assert len(conversation.turns) == 1


def test_wishes_can_change_between_two_answers(opened: Opened, a: Simulator) -> None:
    """All three are as if the conversation had been opened so."""
    with opened(thinking=None, effort="low") as conversation:
        conversation.ask("Hello.").message()
        conversation.wish(model="claude-sonnet-5", thinking=SHOWN, effort="high")
        conversation.ask("And?").message()
    [first, second] = (json.loads(a.body(entry["n"])) for entry in a.journal())
    assert (first["model"], first.get("thinking"), first["output_config"]) == (MODEL, None, {"effort": "low"})
    assert (second["model"], second["thinking"], second["output_config"]) == ("claude-sonnet-5", SHOWN, {"effort": "high"})


def test_a_failure_is_raised_and_tried_again(opened: Opened, a: Simulator) -> None:
    with opened() as conversation:
        a.fault("status 529")
        with pytest.raises(BackendOverloaded):
            conversation.ask("Hello.").message()
        conversation.retry().message()
        assert [(turn.outcome, turn.attempts) for turn in conversation.turns] == [("whole", 2)]


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C is heard, also where a shell has put the tests into the background and told them to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_stops_the_answer_and_keeps_it(opened: Opened, a: Simulator) -> None:
    """What was finished is there, marked as cut, and the conversation goes on: the model is told that it was cut short."""
    with opened() as conversation:
        a.fault("stall 30 content=7")
        answer = conversation.ask("Look. [[scenario:interleaved]]")
        with pytest.raises(KeyboardInterrupt):
            listen_until_interrupted(answer)
        assert [turn.outcome for turn in conversation.turns] == ["cut"]
        assert [block["type"] for block in conversation.messages[1]["content"]] == ["thinking"]
        conversation.ask("Go on.").message()
        conversation.ask("And now?").message()
        assert [turn.outcome for turn in conversation.turns] == ["cut", "whole", "whole"]
        assert [message["content"] for message in conversation.messages[2::2]] == ["Go on.", "And now?"]
    assert refusals(a) == []
    bodies = [a.body(entry["n"]) for entry in a.journal()[1:]]
    assert [body.count(b"The answer before this message was interrupted") for body in bodies] == [1, 1]


def listen_until_interrupted(answer: Answer) -> None:
    """As a person does who presses Ctrl-C soon after the first words."""
    next(event for event in answer if isinstance(event, TextDelta))
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    for _ in answer:
        pass


def test_a_picture_is_said_and_kept(opened: Opened, a: Simulator, tmp_path: Path) -> None:
    picture = tmp_path / "dot.png"
    picture.write_bytes(PNG)
    with opened() as conversation:
        conversation.ask(["What is this?", image(picture)]).message()
        assert conversation.messages[0]["content"] == [{"type": "text", "text": "What is this?"}, image(picture)]
        assert conversation.title == "What is this?"
    assert refusals(a) == []


def test_a_pdf_is_said_and_kept_and_goes_on_with_the_conversation(opened: Opened, a: Simulator, tmp_path: Path) -> None:
    """It is in every request that follows, as it was said."""
    report = tmp_path / "report.pdf"
    report.write_bytes(b"%PDF-1.4\n%%EOF\n")
    with opened() as conversation:
        conversation.ask(["What does it say?", document(report)]).message()
        conversation.ask("And now?").message()
        assert conversation.messages[0]["content"][1] == document(report)
    assert refusals(a) == []
    bodies = [json.loads(a.body(entry["n"])) for entry in a.journal()]
    assert [body["messages"][0]["content"][1] for body in bodies] == [document(report)] * 2


def test_results_are_wanted_for_each_call_and_for_no_other(opened: Opened) -> None:
    with opened() as conversation:
        with pytest.raises(RequestInvalid, match="results are wanted for"):
            conversation.results({"toolu_1": "?"})
        with pytest.raises(RequestInvalid, match="nothing was asked yet"):
            conversation.retry()
        with pytest.raises(RequestInvalid, match="nothing to send"):
            conversation.ask("")
        with pytest.raises(RequestInvalid, match="nothing was asked yet"):
            conversation.rename("Nothing")


def test_a_model_must_be_named_by_somebody(opened: Opened) -> None:
    with opened(model="") as conversation, pytest.raises(SettingsInvalid, match="which model"):
        conversation.ask("Hello.").message()


@pytest.mark.parametrize("store", ['url = "off"', "content = false"])
def test_a_conversation_needs_a_store_that_keeps_what_is_said(home: Path, store: str) -> None:
    """Here, and on a gateway."""
    with (home / "clew.toml").open("a") as settings:
        settings.write(f"\n[store]\n{store}\n")
    kept = "a conversation is kept in the store"
    with pytest.raises(SettingsInvalid, match=kept), Conversation.open(home=home, environ={}):
        pass
    with Gateway(home) as gateway, pytest.raises(SettingsInvalid, match=kept):
        Conversation.open(url=gateway.url, key=gateway.token, environ={}).__enter__()


@pytest.mark.parametrize(
    ("wishes", "why"),
    [
        ({"tools": [print]}, r"tools\.0: a tool of a conversation is a dictionary .* a function is for `clew\.Agent`"),
        ({"on_overflow": "compakt"}, "on_overflow is 'error' or 'compact', not 'compakt'"),
    ],
)
def test_what_could_not_be_asked_is_refused_when_it_is_opened(tmp_path: Path, wishes: Any, why: str) -> None:
    with pytest.raises(SettingsInvalid, match=why), Conversation.open(home=tmp_path, **wishes):
        pass

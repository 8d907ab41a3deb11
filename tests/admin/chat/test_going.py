"""Answers and connections: each may end without the other."""

from __future__ import annotations

import json
import socket
import threading
from typing import Any

import pytest

from clew.chat.ui.parts import message_of_parts
from clew.testing import Simulator
from tests.admin.booth import KEY
from tests.admin.chat.served import MODEL, TOOLS, ChatServer, kinds, parts_of, read_until, user
from tests.manifest import proves, public
from tests.waiting import until

pytestmark = pytest.mark.slow

THINKING = "Look. [[scenario:interleaved]]"

PLACES = {
    "before the backend answers": ("slow-start {}", "start-step"),
    "while it thinks": ("stall {} content=2", "reasoning-delta"),
    "between its blocks": ("stall {} content=4", "reasoning-end"),
    "while it speaks": ("stall {} content=6", "text-delta"),
    "while it calls": ("stall {} content=14", "tool-input-start"),
}
"""Where a fault holds the answer for so many seconds, and what a client has heard by then."""


def whole(chat: ChatServer, id: str) -> bool:
    found = chat.messages(id)
    return found[-1]["role"] == "assistant" and found[-1]["metadata"]["outcome"] == "whole"


@public("gateway")
@proves("req:S4-9")
@pytest.mark.parametrize("place", PLACES)
def test_an_answer_comes_to_its_end_though_its_client_is_gone(place: str, chat: ChatServer, claude: Simulator) -> None:
    """Document 004, a lost client at every step: what was said and what is answered are kept, in full."""
    fault, heard = PLACES[place]
    claude.fault(fault.format(0.1))
    id = f"gone-{list(PLACES).index(place)}"
    with chat.posted(THINKING, chat=id, tools=TOOLS) as reply:
        read_until(reply, heard)
    assert chat.messages(id)[0]["role"] == "user"
    until(lambda: whole(chat, id))
    assert [part["type"] for part in chat.messages(id)[1]["parts"]] == [
        *("step-start", "reasoning", "text", "reasoning", "tool-Read")
    ]


def raw(chat: ChatServer, body: bytes, length: int) -> None:
    """A request of somebody who is gone before anything comes back."""
    head = [
        "POST /api/chat HTTP/1.1",
        f"Host: 127.0.0.1:{chat.port}",
        "Content-Type: application/json",
        f"X-Api-Key: {KEY}",
        f"Content-Length: {length}",
    ]
    with socket.create_connection(("127.0.0.1", chat.port), timeout=120) as connection:
        connection.sendall("\r\n".join([*head, "", ""]).encode() + body)


@proves("req:S4-9")
def test_a_client_that_goes_before_it_said_all_said_nothing(chat: ChatServer) -> None:
    body = json.dumps({"id": "half", "messages": [user(THINKING)], "model": MODEL}).encode()
    raw(chat, body[:40], len(body))
    chat.post("Hello. [[scenario:text]]", chat="afterwards")
    assert chat.call_api("/api/chat/half").status == 404


@proves("req:S4-9")
def test_a_client_that_goes_at_once_is_answered_all_the_same(chat: ChatServer) -> None:
    body = json.dumps({"id": "at-once", "messages": [user("Hello. [[scenario:text]]")], "model": MODEL}).encode()
    raw(chat, body, len(body))
    until(lambda: chat.call_api("/api/chat/at-once").status == 200 and whole(chat, "at-once"))


@pytest.mark.parametrize("place", PLACES)
def test_anyone_who_comes_back_hears_it_from_the_beginning(place: str, chat: ChatServer, claude: Simulator) -> None:
    fault, heard = PLACES[place]
    claude.fault(fault.format(0.7))
    id = f"back-{list(PLACES).index(place)}"
    with chat.posted(THINKING, chat=id, tools=TOOLS) as reply:
        before = read_until(reply, heard)
    with chat.resumed(id) as reply:
        assert reply.status == 200
        parts = parts_of(reply.read())
    assert parts[: len(before)] == before
    assert message_of_parts(parts) == chat.messages(id)[1]
    with chat.resumed(id) as reply:
        assert (reply.status, reply.read()) == (204, b"")


def test_an_end_that_nobody_heard_can_still_be_heard(chat: ChatServer, claude: Simulator) -> None:
    """A connection that breaks just before the end: what is missing is there a moment later."""
    claude.fault("stall 0.7 content=4")
    with chat.posted(THINKING, chat="unheard", tools=TOOLS) as reply:
        read_until(reply, "reasoning-end")
    until(lambda: whole(chat, "unheard"))
    with chat.resumed("unheard") as reply:
        assert message_of_parts(parts_of(reply.read())) == chat.messages("unheard")[1]


def test_several_may_listen_to_one_answer(chat: ChatServer, claude: Simulator) -> None:
    claude.fault("stall 1 content=4")
    heard: list[Any] = []
    with chat.posted(THINKING, chat="several", tools=TOOLS) as reply:
        first = read_until(reply, "reasoning-end")

        def listen() -> None:
            with chat.resumed("several") as other:
                heard.append(parts_of(other.read()))

        threads = [threading.Thread(target=listen) for _ in range(3)]
        for thread in threads:
            thread.start()
        until(lambda: chat.listeners("several") == 4)
        rest = parts_of(reply.read().removeprefix(b"\n"))
        for thread in threads:
            thread.join(120)
    assert heard == [[*first, *rest]] * 3


def test_anyone_who_comes_back_in_a_tool_loop_gets_the_whole_message(chat: ChatServer, claude: Simulator) -> None:
    """A client that resumes takes what it is told for all of the message."""
    said = [user(THINKING)]
    message = message_of_parts(chat.post(said, chat="mid-loop", tools=TOOLS))
    parts = [
        {**part, "state": "output-available", "output": "3"} if part["type"] == "tool-Read" else part
        for part in message["parts"]
    ]
    claude.fault("stall 0.7 content=1")
    with chat.posted([*said, {**message, "parts": parts}], chat="mid-loop", tools=TOOLS) as reply:
        read_until(reply, "start-step")
    with chat.resumed("mid-loop") as reply:
        replayed = parts_of(reply.read())
    assert message_of_parts(replayed) == chat.messages("mid-loop")[1]
    assert kinds(replayed).count("start-step") == 2


def test_stop_keeps_the_blocks_that_were_finished(chat: ChatServer, claude: Simulator) -> None:
    claude.fault("stall 30 content=6")
    with chat.posted(THINKING, chat="stopped", tools=TOOLS) as reply:
        read_until(reply, "text-delta")
        assert chat.call_api("/api/chat/stopped/stream", method="DELETE").json == {"stopped": True}
        kept = chat.messages("stopped")
        rest = parts_of(reply.read().removeprefix(b"\n"))
    assert [part["type"] for part in kept[1]["parts"]] == ["step-start", "reasoning"]
    assert kept[1]["metadata"]["outcome"] == "cut"
    usage = kept[1]["metadata"]["usage"]
    assert usage["estimated"] and usage["output"] > 1, "the vendor counted no more than the first token"
    assert [part for part in rest if part["type"] == "abort"] == [{"type": "abort", "reason": "stopped"}]
    assert (rest[-1]["type"], rest[-1]["finishReason"]) == ("finish", "interrupted")
    assert chat.call_api("/api/chat/stopped/stop", method="POST", body={}).json == {"stopped": False}


def test_a_chat_that_was_stopped_goes_on(chat: ChatServer, claude: Simulator) -> None:
    claude.fault("stall 30 content=6")
    with chat.posted(THINKING, chat="went-on", tools=TOOLS) as reply:
        heard = read_until(reply, "text-delta")
        chat.call_api("/api/chat/went-on/stop", method="POST", body={})
    chat.post([user(THINKING), message_of_parts(heard), user("Go on.")], chat="went-on", tools=TOOLS)
    sent = json.loads(claude.body(claude.journal()[-1]["n"]))["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "user"]
    assert [message["role"] for message in chat.messages("went-on")] == ["user", "assistant", "user", "assistant"]


def test_a_chat_has_one_answer_at_a_time(chat: ChatServer, claude: Simulator) -> None:
    claude.fault("stall 30 content=1")
    with chat.posted("One.", chat="busy") as first:
        read_until(first, "start-step")
        with chat.posted("Two.", chat="busy") as second:
            status, said = second.status, json.loads(second.read())["error"]
        with chat.posted("Two.", chat="other") as elsewhere:
            assert elsewhere.status == 200
            elsewhere.read()
        assert [message["parts"][0]["text"] for message in chat.messages("busy")] == ["One."]
        chat.call_api("/api/chat/busy/stream", method="DELETE")
    assert (status, said["what"]) == (409, "an answer is under way in this chat")
    assert "DELETE" in said["next"]


def test_an_answer_that_nobody_listens_to_any_more_gives_way_to_the_next_question(
    chat: ChatServer, claude: Simulator
) -> None:
    """`useChat` has a stop that only hangs up; anyone who then says something else is not kept waiting."""
    claude.fault("stall 30 content=6")
    with chat.posted(THINKING, chat="hung-up", tools=TOOLS) as reply:
        heard = read_until(reply, "text-delta")
    parts = chat.post([user(THINKING), message_of_parts(heard), user("Something else.")], chat="hung-up", tools=TOOLS)
    assert parts[-1]["type"] == "finish"
    outcomes = [message["metadata"]["outcome"] for message in chat.messages("hung-up") if message["role"] == "assistant"]
    assert outcomes == ["cut", "whole"]

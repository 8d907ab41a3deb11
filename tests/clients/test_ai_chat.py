"""The real `ai` package talks to the chat server: its transport, its reader and its Chat, unchanged."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from clew.testing import Simulator
from tests.admin.booth import KEY
from tests.admin.chat.served import MODEL, TOOLS, ChatServer, configured
from tests.clients.front import Front
from tests.engine.talk import refusals
from tests.manifest import proves
from tests.waiting import until

pytestmark = pytest.mark.slow

LOOP = "Look. [[scenario:interleaved]]"


@pytest.fixture(scope="module")
def claude() -> Iterator[Simulator]:
    with Simulator(stance={"prefix_enforcement": "on"}) as simulator:
        yield simulator


@pytest.fixture(scope="module")
def chat(claude: Simulator, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChatServer]:
    compacts = '[chat]\non_overflow = "compact"\n'
    with ChatServer(configured(tmp_path_factory.mktemp("ai") / "h", {"claude": claude}, compacts)) as server:
        yield server


@pytest.fixture(scope="module")
def front(chat: ChatServer) -> Iterator[Front]:
    with Front(f"{chat.admin.url}/api/chat", KEY, model=MODEL, tools=TOOLS) as front:
        yield front


def said(message: Any) -> list[str]:
    return [part["type"] for part in message["parts"]]


def plain(message: Any) -> Any:
    """Without what only one side notes: ids of reasoning, and members that are there and undefined."""
    parts = [{name: value for name, value in part.items() if name != "id"} for part in message["parts"]]
    return {**message, "parts": parts}


@proves("req:S4-5", "req:S4-7")
def test_a_conversation_with_thinking_and_tools(front: Front, chat: ChatServer, claude: Simulator) -> None:
    """The client runs the tools and sends the rest by itself: one message, three steps, and the next question after it."""
    claude.reset()
    seen = front.do("send", "talk", text=LOOP)
    assert (seen.status, seen.error) == ("ready", None)
    assert [message["role"] for message in seen.messages] == ["user", "assistant"]
    assert said(seen.messages[1])[:5] == ["step-start", "reasoning", "text", "reasoning", "tool-Read"]
    assert said(seen.messages[1]).count("step-start") == 3
    assert seen.finishes[-1] == {"isAbort": False, "isDisconnect": False, "isError": False, "finishReason": "stop"}
    after = front.do("send", "talk", text="And now? [[scenario:thinking]]")
    assert [message["role"] for message in after.messages] == ["user", "assistant", "user", "assistant"]
    assert {part["state"] for message in after.messages for part in message["parts"] if "state" in part} == {
        "done",
        "output-available",
    }
    read = chat.messages("talk")
    assert [plain(message) for message in after.messages if message["role"] == "assistant"] == [
        message for message in read if message["role"] == "assistant"
    ]
    assert refusals(claude) == []


def test_parts_have_ids_of_their_own_and_come_in_order(front: Front, claude: Simulator) -> None:
    """Each part begins, grows and ends before the next; no id is used twice in a message."""
    claude.reset()
    seen = front.do("send", "ids", text=LOOP)
    open_part, used = "", list[str]()
    for chunk in seen.chunks:
        kind, _, what = chunk["type"].partition("-")
        if kind not in ("text", "reasoning"):
            continue
        if what == "start":
            assert open_part == "" and chunk["id"] not in used
            open_part = chunk["id"]
            used.append(open_part)
        assert chunk["id"] == open_part
        open_part = "" if what == "end" else open_part
    assert open_part == "" and len(used) >= 4
    starts = [chunk["messageId"] for chunk in seen.chunks if chunk["type"] == "start"]
    assert starts == [seen.messages[1]["id"]] * 3
    assert seen.kinds[:2] == ["start", "start-step"] and seen.kinds[-2:] == ["finish-step", "finish"]


def test_the_transport_and_the_reader_alone(front: Front, claude: Simulator) -> None:
    """`DefaultChatTransport` and `readUIMessageStream`, without a Chat."""
    claude.reset()
    seen = front.do("read", "reader", text="Hello. [[scenario:thinking]]")
    assert said(seen.messages[1]) == ["step-start", "reasoning", "text"]
    assert [part["state"] for part in seen.messages[1]["parts"][1:]] == ["done", "done"]


@pytest.mark.parametrize(
    ("place", "content"), [("start", 1), ("reasoning-delta", 2), ("text-delta", 6), ("tool-input-start", 14)]
)
def test_a_dropped_connection_is_resumed(
    front: Front, chat: ChatServer, claude: Simulator, place: str, content: int
) -> None:
    """The answer went on; anyone who comes back has all of it, once."""
    claude.reset()
    id = f"dropped-{place}"
    claude.fault(f"stall 0.6 content={content}")
    lost = front.do("send", id, text=LOOP, breaksAfter=place)
    assert (lost.status, lost.finishes[0]["isDisconnect"]) == ("error", True)
    back = front.do("resume", id)
    assert (back.status, back.error) == ("ready", None)
    assert [message["role"] for message in back.messages] == ["user", "assistant"]
    assert said(back.messages[1])[:5] == ["step-start", "reasoning", "text", "reasoning", "tool-Read"]
    assert plain(back.messages[1]) == chat.messages(id)[1]
    assert front.do("resume", id).chunks == []


def test_a_chat_that_became_too_long_goes_on_in_the_same_message(front: Front, chat: ChatServer, claude: Simulator) -> None:
    """The client holds one part about it, in its last state, and goes on from the new line; a slash in an id is one."""
    claude.reset()
    front.do("send", "too/long", text="One. [[scenario:text]]")
    claude.fault("status 400 message='prompt is too long: 2 tokens > 1 maximum'")
    seen = front.do("send", "too/long", text="Two. [[scenario:text]]")
    assert (seen.status, seen.error, said(seen.messages[3])) == ("ready", None, ["step-start", "data-compaction", "text"])
    assert seen.messages[3]["parts"][1]["data"]["state"] == "done"
    after = front.do("send", "too/long", text="Three. [[scenario:text]]")
    asked = json.loads(claude.body(claude.journal()[-1]["n"]))["messages"]
    assert (len(after.messages), [message["role"] for message in asked]) == (6, ["user", "assistant", "user"])
    assert "conversation-summary" in asked[0]["content"][0]["text"]
    assert (front.do("resume", "too/long").chunks, len(chat.messages("too%2Flong"))) == ([], 4)


def test_a_page_that_is_loaded_anew_goes_on_where_it_was(front: Front, chat: ChatServer, claude: Simulator) -> None:
    claude.reset()
    front.do("send", "old", text="One. [[scenario:thinking]]")
    front.do("load", "old", messages=chat.messages("old"))
    seen = front.do("send", "old", text="Two. [[scenario:thinking]]")
    assert [message["role"] for message in seen.messages] == ["user", "assistant", "user", "assistant"]
    assert len(chat.messages("old")) == 4


def test_regenerate_and_edit_make_branches(front: Front, chat: ChatServer, claude: Simulator) -> None:
    claude.reset()
    first = front.do("send", "tree", text="One. [[scenario:text]]")
    again = front.do("regenerate", "tree")
    assert [message["role"] for message in again.messages] == ["user", "assistant"]
    assert again.messages[1]["id"] != first.messages[1]["id"]
    edited = front.do("send", "tree", text="Other. [[scenario:text]]", messageId=again.messages[0]["id"])
    assert [message["role"] for message in edited.messages] == ["user", "assistant"]
    lines = chat.call_api("/api/chat/tree").json["lines"]
    assert [line["turn"] for line in lines] == [seen.messages[1]["id"] for seen in (first, again, edited)]


def test_an_error_is_told_and_asking_again_mends_it(front: Front, chat: ChatServer, claude: Simulator) -> None:
    claude.reset()
    claude.fault("status 529")
    failed = front.do("send", "corrected", text="One. [[scenario:text]]")
    assert failed.status == "error" and failed.error is not None and failed.error.endswith("choose another backend.")
    again = front.do("regenerate", "corrected")
    assert (again.status, said(again.messages[-1])) == ("ready", ["step-start", "text"])
    assert [message["role"] for message in chat.messages("corrected")] == ["user", "assistant"]


def test_anyone_who_stops_an_answer_keeps_what_was_finished_and_goes_on(
    front: Front, chat: ChatServer, claude: Simulator
) -> None:
    """The client hears that it was interrupted, and sends nothing by itself."""
    claude.reset()
    claude.fault("stall 30 content=6")

    def stop() -> None:
        until(lambda: b'"text-delta"' in chat.told("halted"))
        chat.call_api("/api/chat/halted/stream", method="DELETE")

    stopping = threading.Thread(target=stop)
    stopping.start()
    seen = front.do("send", "halted", text=LOOP)
    stopping.join(120)
    assert (seen.status, seen.finishes[-1]["finishReason"]) == ("ready", "interrupted")
    assert [(part["type"], part.get("state")) for part in seen.messages[1]["parts"]] == [
        ("step-start", None),
        ("reasoning", "done"),
        ("text", "streaming"),
    ]
    assert said(chat.messages("halted")[1]) == ["step-start", "reasoning"]
    after = front.do("send", "halted", text="Go on. [[scenario:text]]")
    assert (after.status, len(after.messages)) == ("ready", 4)
    assert [message["metadata"]["outcome"] for message in chat.messages("halted")] == ["cut", "cut", "whole", "whole"]

"""What a front end hears: parts in the order of their making, and the same when it reads them again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clew.chat.ui.parts import message_of_parts
from clew.testing import Simulator
from tests.admin.chat.served import TOOLS, ChatServer, configured, kinds, user
from tests.manifest import proves, public

pytestmark = pytest.mark.slow


def call_in(message: Any) -> Any:
    [call] = [part for part in message["parts"] if part["type"].startswith("tool-")]
    return call


@proves("req:S4-5", "req:S4-6", "req:S4-7")
def test_parts_come_in_the_order_in_which_the_model_made_them(chat: ChatServer) -> None:
    """Document 004, steps 5 to 8: the new answer is not re-ordered, neither streamed nor stored nor read."""
    parts = chat.post("Look. [[scenario:interleaved]]", chat="order", tools=TOOLS)
    assert kinds(parts) == [
        *("start", "start-step", "message-metadata"),
        *("reasoning-start", "reasoning-delta", "reasoning-end"),
        *("text-start", "text-delta", "text-end"),
        *("reasoning-start", "reasoning-delta", "reasoning-end"),
        *("tool-input-start", "tool-input-available"),
        *("finish-step", "finish"),
    ]
    turn = parts[0]["messageId"]
    assert list(dict.fromkeys(part["id"] for part in parts if "id" in part)) == [f"{turn}.{at}" for at in range(3)]
    assert parts[-1]["finishReason"] == "tool-calls"
    asked, answered = chat.messages("order")
    assert (asked["role"], asked["parts"]) == ("user", [{"type": "text", "text": "Look. [[scenario:interleaved]]"}])
    assert answered == message_of_parts(parts)


def test_the_headers_are_those_that_the_client_looks_for(chat: ChatServer) -> None:
    """clients 2.2."""
    with chat.posted("Hello.", chat="headers") as reply:
        headers = {name.lower(): value for name, value in reply.getheaders()}
        reply.read()
    assert headers["content-type"] == "text/event-stream; charset=utf-8"
    assert (headers["x-vercel-ai-ui-message-stream"], headers["x-accel-buffering"]) == ("v1", "no")


def test_metadata_says_who_answered_what_it_took_and_what_became_of_thinking(chat: ChatServer) -> None:
    first = chat.post("One. [[scenario:thinking]]", chat="metadata")
    answer = message_of_parts(first)
    last = chat.post([user("One."), answer, user("Two. [[scenario:thinking]]")], chat="metadata")[-1]["messageMetadata"]
    assert {name: last[name] for name in ("thread", "outcome", "backend", "model")} == {
        "thread": "metadata",
        "outcome": "whole",
        "backend": "claude",
        "model": "claude-opus-5-5",
    }
    assert last["usage"]["output"] > last["usage"]["thinking"] > 0 and last["usage"]["estimated"] is False
    assert last["cost"]["usd"] > 0
    assert last["thinking"] == {"kept": 1, "changed": 0, "changes": []}


def test_who_answers_is_told_when_it_is_known_and_not_before(tmp_path: Path) -> None:
    """The active backend does not answer, and who answers for it has a model of its own."""
    away = '[backends.away]\nurl = "http://127.0.0.1:1"\nauth = "none"'
    with Simulator(kind="compat") as own:
        row = f'[backends.own]\nurl = "{own.url}"\nauth = "key"\nkey = "{own.key}"\nmodel = "own-model"'
        root = configured(tmp_path / "h", {}, f"{away}\n{row}")
        file = root / "clew.toml"
        file.write_text(f'active = "away"\nfailover = ["own"]\n{file.read_text()}')
        with ChatServer(root) as server:
            parts = server.post("Hello.", chat="who")
    told = [part for part in parts if "messageMetadata" in part]
    assert [part["type"] for part in told] == ["start", "message-metadata", "finish"]
    assert set(told[0]["messageMetadata"]) == {"thread", "turn"}
    assert told[1]["messageMetadata"] == {"backend": "own", "model": "own-model"}
    assert parts.index(told[1]) < next(at for at, part in enumerate(parts) if part["type"].endswith("-delta"))


@proves("req:S4-2", "req:S4-10")
def test_a_front_end_runs_the_tools_and_the_answer_goes_on_in_the_same_message(chat: ChatServer, claude: Simulator) -> None:
    """The whole loop is one message for a person, and one turn for each model call."""
    said = [user("Look. [[scenario:interleaved]]")]
    message = message_of_parts(chat.post(said, chat="loop", tools=TOOLS))
    call = call_in(message)
    done = {**call, "state": "output-available", "output": {"found": 3}}
    held = {**message, "parts": [done if part is call else part for part in message["parts"]]}
    parts = chat.post([*said, held], chat="loop", tools=TOOLS, messageId=message["id"])
    assert parts[0]["messageId"] == message["id"]
    assert parts[0]["messageMetadata"]["turn"] != message["metadata"]["turn"]
    sent = json.loads(claude.body(claude.journal()[-1]["n"]))["messages"]
    assert [block["type"] for block in sent[1]["content"]] == ["thinking", "text", "thinking", "tool_use"]
    assert sent[2]["content"] == [{"type": "tool_result", "tool_use_id": call["toolCallId"], "content": '{"found": 3}'}]
    answered = chat.messages("loop")[-1]
    assert answered["id"] == message["id"]
    assert [part["type"] for part in answered["parts"]].count("step-start") == 2
    assert answered["parts"][: len(held["parts"])] == held["parts"]


def test_an_output_that_failed_or_was_denied_goes_back_as_an_error(chat: ChatServer, claude: Simulator) -> None:
    said = [user("Look. [[scenario:parallel]]")]
    message = message_of_parts(chat.post(said, chat="failing", tools=TOOLS))
    ends = [
        {"state": "output-error", "errorText": "no such file"},
        {"state": "output-denied", "approval": {"id": "a", "approved": False, "reason": "Not that one."}},
        {"state": "output-available", "output": "fine"},
    ]
    calls = iter(ends)
    parts = [{**part, **next(calls)} if part["type"] == "tool-Read" else part for part in message["parts"]]
    chat.post([*said, {**message, "parts": parts}], chat="failing", tools=TOOLS)
    results = json.loads(claude.body(claude.journal()[-1]["n"]))["messages"][-1]["content"]
    assert [(result["content"], result.get("is_error", False)) for result in results] == [
        ("no such file", True),
        ("The user did not allow this call. Not that one.", True),
        ("fine", False),
    ]
    states = [part["state"] for part in chat.messages("failing")[1]["parts"] if part["type"] == "tool-Read"]
    assert states == ["output-error", "output-error", "output-available"]


def test_outputs_and_the_next_question_may_come_together(chat: ChatServer, claude: Simulator) -> None:
    said = [user("Look. [[scenario:interleaved]]")]
    message = message_of_parts(chat.post(said, chat="together", tools=TOOLS))
    call = call_in(message)
    held = {**message, "parts": [{**call, "state": "output-available", "output": "3"}]}
    chat.post([*said, held, user("And now?")], chat="together", tools=TOOLS)
    last = json.loads(claude.body(claude.journal()[-1]["n"]))["messages"][-1]
    assert [block["type"] for block in last["content"]] == ["tool_result", "text"]
    assert [message["role"] for message in chat.messages("together")] == ["user", "assistant", "user", "assistant"]
    assert call_in(chat.messages("together")[1])["output"] == "3"


@public("gateway")
@proves("req:S4-1")
def test_system_messages_are_no_part_of_the_conversation(chat: ChatServer, claude: Simulator) -> None:
    """S4-1: what is kept and what is sent lacks them; they are what the model is told about itself."""
    system = {"id": "s", "role": "system", "parts": [{"type": "text", "text": "Be brief."}]}
    chat.post([system, user("Hello.")], chat="system")
    body = json.loads(claude.body(claude.journal()[-1]["n"]))
    assert (body["system"], [message["role"] for message in body["messages"]]) == ("Be brief.", ["user"])
    assert [message["role"] for message in chat.messages("system")] == ["user", "assistant"]


def test_pictures_and_documents_are_sent_and_shown_as_they_came(chat: ChatServer, claude: Simulator) -> None:
    pixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    file = {"type": "file", "mediaType": "image/png", "url": pixel}
    message = {**user("What is this?"), "parts": [{"type": "text", "text": "What is this?"}, file]}
    chat.post([message], chat="picture")
    content = json.loads(claude.body(claude.journal()[-1]["n"]))["messages"][0]["content"]
    assert [block["type"] for block in content] == ["text", "image"]
    assert chat.messages("picture")[0]["parts"] == message["parts"]


def test_a_chat_that_began_elsewhere_goes_on_here(chat: ChatServer, claude: Simulator) -> None:
    """S4-4: what the front end brings along goes through the three transforms, and is kept with the question."""
    tool = {"type": "tool-Read", "toolCallId": "t1", "state": "output-available", "input": {}, "output": "x"}
    before = {
        "id": "a",
        "role": "assistant",
        "parts": [{"type": "reasoning", "text": "Hm."}, tool, {"type": "text", "text": "Well."}],
    }
    chat.post([user("Before."), before, user("Now?")], chat="elsewhere", tools=TOOLS)
    sent = json.loads(claude.body(claude.journal()[-1]["n"]))["messages"]
    assert [(each["role"], [block["type"] for block in each["content"]]) for each in sent] == [
        ("user", ["text"]),
        ("assistant", ["tool_use"]),
        ("user", ["tool_result"]),
        ("assistant", ["text"]),
        ("user", ["text"]),
    ]
    read = chat.messages("elsewhere")
    assert [message["role"] for message in read] == ["user", "assistant", "user", "assistant"]
    assert read[1]["parts"] == [
        {"type": "step-start"},
        {**before["parts"][0], "state": "done"},
        tool,
        {"type": "step-start"},
        {**before["parts"][-1], "state": "done"},
    ]
    chat.post([*read, user("And then? [[scenario:text]]")], chat="elsewhere", tools=TOOLS)
    assert len(chat.messages("elsewhere")) == 6


def test_a_chat_may_begin_with_a_greeting_of_the_front_end(chat: ChatServer) -> None:
    """Many do: a message of the assistant that no model said."""
    greeting = {"id": "hi", "role": "assistant", "parts": [{"type": "text", "text": "How can I help?"}]}
    parts = chat.post([greeting, user("Hello. [[scenario:text]]")], chat="greeting")
    assert parts[-1]["type"] == "finish"
    assert [message["role"] for message in chat.messages("greeting")] == ["assistant", "user", "assistant"]

"""Asked again, asked otherwise, failed: nothing that was said is lost, and nothing is there twice."""

from __future__ import annotations

import asyncio
import json
import uuid
from typing import Any
from urllib.parse import quote

import pytest

from clew import AsyncConversation
from clew.chat.ui.parts import message_of_parts
from clew.errors import BackendBroken
from clew.testing import Simulator
from tests.admin.booth import KEY, Booth
from tests.admin.chat.served import MODEL, ChatServer, kinds, parts_of, read_until, user
from tests.manifest import proves, public

pytestmark = pytest.mark.slow


def texts(messages: list[Any]) -> list[str]:
    """What each message says, of an answer only that it is one."""
    return [each["parts"][0]["text"] if each["role"] == "user" else "…" for each in messages]


def test_regenerating_makes_a_branch_and_keeps_the_answer_that_was_there(chat: ChatServer) -> None:
    first = message_of_parts(chat.post("One. [[scenario:text]]", chat="again"))
    second = message_of_parts(
        chat.post("One. [[scenario:text]]", chat="again", trigger="regenerate-message", messageId=first["id"])
    )
    assert first["id"] != second["id"]
    read = chat.call_api("/api/chat/again").json
    assert texts(read["messages"]) == ["One. [[scenario:text]]", "…"]
    assert [line["turn"] for line in read["lines"]] == [first["id"], second["id"]]
    old = chat.call_api(f"/api/chat/again?turn={first['id']}").json["messages"]
    assert old[-1]["id"] == first["id"]


def test_an_edited_message_is_a_branch_at_its_place(chat: ChatServer) -> None:
    one = user("One. [[scenario:text]]", "u1")
    first = message_of_parts(chat.post([one], chat="edited"))
    two = message_of_parts(chat.post([one, first, user("Two. [[scenario:text]]", "u2")], chat="edited"))
    other = message_of_parts(chat.post([one, first, user("Other. [[scenario:text]]", "u2")], chat="edited", messageId="u2"))
    root = message_of_parts(chat.post([user("Zero. [[scenario:text]]", "u1")], chat="edited", messageId="u1"))
    read = chat.call_api("/api/chat/edited").json
    assert texts(read["messages"]) == ["Zero. [[scenario:text]]", "…"]
    assert [line["turn"] for line in read["lines"]] == [two["id"], other["id"], root["id"]]
    line = chat.call_api(f"/api/chat/edited?turn={other['id']}").json["messages"]
    assert texts(line) == ["One. [[scenario:text]]", "…", "Other. [[scenario:text]]", "…"]


def test_a_client_that_wants_no_branch_is_told_that_the_chat_went_on(chat: ChatServer) -> None:
    """Another window asked something meanwhile. A question that failed there is in nobody's way."""
    one = user("One. [[scenario:text]]")
    first = message_of_parts(chat.post([one], chat="windows", branch=False))
    chat.post([one, first, user("Fails. [[scenario:overloaded]]")], chat="windows", branch=False)
    chat.post([one, first, user("Two. [[scenario:text]]")], chat="windows", branch=False)
    body = {"id": "windows", "messages": [one, first, user("Three. [[scenario:text]]")], "branch": False}
    refused = chat.call_api("/api/chat", method="POST", body=body)
    assert (refused.status, refused.json["error"]["what"]) == (409, "the chat went on after this answer")
    assert "Three. [[scenario:text]]" not in texts(chat.messages("windows"))
    chat.post([one, first, user("Three. [[scenario:text]]")], chat="windows")
    assert texts(chat.messages("windows")) == ["One. [[scenario:text]]", "…", "Three. [[scenario:text]]", "…"]


def test_anyone_who_knows_only_the_id_goes_on_where_the_message_ended(chat: ChatServer) -> None:
    """A front end may keep ids and parts alone."""
    one = user("One. [[scenario:text]]")
    first = message_of_parts(chat.post([one], chat="bare"))
    chat.post([one, {**first, "metadata": None}, user("Two. [[scenario:text]]")], chat="bare")
    assert texts(chat.messages("bare")) == ["One. [[scenario:text]]", "…", "Two. [[scenario:text]]", "…"]


def test_the_last_message_alone_follows_the_newest_answer(chat: ChatServer) -> None:
    chat.post("One. [[scenario:text]]", chat="alone")
    body = {"id": "alone", "message": user("Two. [[scenario:text]]")}
    reply = chat.call_api("/api/chat", method="POST", body=body)
    assert parts_of(reply.raw)[-1]["type"] == "finish"
    assert texts(chat.messages("alone")) == ["One. [[scenario:text]]", "…", "Two. [[scenario:text]]", "…"]


def test_a_front_end_without_history_regenerates_and_edits_by_the_ids_it_read(chat: ChatServer) -> None:
    def ask(**body: Any) -> Any:
        return message_of_parts(
            parts_of(chat.call_api("/api/chat", method="POST", body={"id": "bare-ids", "model": MODEL, **body}).raw)
        )

    first = ask(message=user("One. [[scenario:text]]"))
    second = ask(message=user("Two. [[scenario:text]]"))
    again = ask(trigger="regenerate-message", messageId=first["id"])
    newest = ask(trigger="regenerate-message")
    edited = ask(message=user("Other. [[scenario:text]]"), messageId=f"{second['id']}.0")
    read = chat.call_api("/api/chat/bare-ids").json
    assert texts(read["messages"]) == ["One. [[scenario:text]]", "…", "Other. [[scenario:text]]", "…"]
    assert read["turn"] == edited["id"]
    assert [line["turn"] for line in read["lines"]] == [second["id"], again["id"], newest["id"], edited["id"]]


def test_an_answer_of_another_chat_has_no_place_in_this_one(chat: ChatServer) -> None:
    stranger = {"id": "nobody", "role": "assistant", "parts": [{"type": "text", "text": "I was never said."}]}
    chat.post("One. [[scenario:text]]", chat="strange")
    with chat.posted([user("One."), stranger, user("Two.")], chat="strange") as reply:
        assert (reply.status, json.loads(reply.read())["error"]["why"]) == (
            400,
            "the last answer in `messages` does not belong to this thread: read the thread again",
        )


FAULTS = {
    "status 529 retry-after=1": ("Overloaded", "Try again in a moment, or choose another backend."),
    "status 401": ("claude refused every key", "Correct the key and ask again, or choose another backend."),
    "status 500": ("Internal server error", "Try again."),
    "cut at=900": ("", "Try again."),
}


@public("gateway")
@proves("req:S4-8")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_failure_is_told_in_words_that_help_and_the_question_can_be_asked_again(
    fault: str, chat: ChatServer, claude: Simulator
) -> None:
    """S4-8: the user's message is there once, marked, and asked again without a second one."""
    id = f"failed-{list(FAULTS).index(fault)}"
    claude.fault(fault)
    said = "One. [[scenario:text]]"
    parts = chat.post(said, chat=id)
    assert kinds(parts)[-2:] == ["message-metadata", "error"]
    words, next = FAULTS[fault]
    assert words in parts[-1]["errorText"] and parts[-1]["errorText"].endswith(next)
    assert claude.key not in json.dumps(parts)
    assert chat.messages(id)[0]["metadata"]["outcome"] in ("failed", "refused", "cut")
    again = chat.post(said, chat=id, trigger="regenerate-message")
    assert again[-1]["type"] == "finish"
    assert texts(chat.messages(id)) == [said, "…"]


@proves("fault:X12")
def test_a_backend_that_repeats_its_key_gives_nothing_away(chat: ChatServer, claude: Simulator) -> None:
    """X12: vendors quote what they were shown."""
    claude.fault(f'status 400 type=invalid_request_error message="{claude.key} may not do that"')
    error = chat.post("Hello.", chat="quoted")[-1]
    assert error["type"] == "error" and "may not do that" in error["errorText"]
    assert claude.key not in error["errorText"]


@pytest.mark.parametrize("path", ["/api/chat/deleted", "/api/threads/deleted"])
def test_a_chat_that_is_deleted_while_an_answer_comes_is_gone(path: str, chat: ChatServer, claude: Simulator) -> None:
    """Whichever way: a page deletes threads, a front end chats."""
    claude.fault("stall 30 content=2")
    with chat.posted("Hello. [[scenario:text]]", chat="deleted") as reply:
        read_until(reply, "text-delta")
        assert chat.ask(path, method="DELETE").json == {"forgotten": "deleted"}
        assert parts_of(reply.read().removeprefix(b"\n"))[-1]["finishReason"] == "interrupted"
    assert chat.call_api("/api/chat/deleted").status == 404


def test_a_conversation_that_is_deleted_while_an_answer_comes_is_gone(chat: ChatServer, claude: Simulator) -> None:
    """The same for anyone who listens over `/api/conversations`."""
    claude.fault("stall 30 content=2")

    async def talk() -> str:
        async with AsyncConversation.open(url=chat.admin.url, key=KEY, model=MODEL, environ={}) as conversation:
            answer = conversation.ask("Hello. [[scenario:text]]")
            await anext(answer)
            path = f"/api/threads/{conversation.thread}"
            deleted = await asyncio.to_thread(lambda: chat.ask(path, method="DELETE"))
            assert deleted.json == {"forgotten": conversation.thread}
            with pytest.raises(BackendBroken, match="broke off"):
                await answer
            return path

    path = asyncio.run(talk())
    assert chat.ask(path).status == 404


BAD: dict[str, tuple[Any, int, str]] = {
    "nothing": ({"id": "bad"}, 400, "there is no message to answer"),
    "an answer last": ({"messages": [{"id": "a", "role": "assistant", "parts": []}]}, 400, "nothing to answer yet"),
    "an empty message": ({"messages": [user("")]}, 400, "is empty"),
    "no model": ({"messages": [user("Hello.")]}, 400, "which model?"),
    "an unknown backend": ({"messages": [user("Hello.")], "backend": "gemini"}, 400, "there is no backend 'gemini'"),
    "an unknown trigger": ({"messages": [user("Hello.")], "trigger": "resume"}, 400, "trigger"),
    "a file of no use": (
        {"messages": [{"id": "u", "role": "user", "parts": [{"type": "file", "mediaType": "audio/wav", "url": "data:,"}]}]},
        400,
        "cannot be sent",
    ),
    "an address of this machine": (
        {
            "messages": [
                {"id": "u", "role": "user", "parts": [{"type": "file", "mediaType": "image/png", "url": "file:///etc"}]}
            ]
        },
        400,
        "a data URL, or an address",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_what_cannot_be_asked_is_refused_with_a_reason_and_nothing_is_kept(what: str, chat: ChatServer) -> None:
    body, status, why = BAD[what]
    reply = chat.call_api("/api/chat", method="POST", body={"id": f"bad-{list(BAD).index(what)}", **body})
    assert reply.status == status
    assert why in reply.why
    assert "doctor" not in reply.json["error"]["next"]
    assert chat.call_api(f"/api/chat/bad-{list(BAD).index(what)}").status == 404


def test_a_body_has_bounds_and_a_content_type(own_chat: ChatServer) -> None:
    """reliability 4.1."""
    assert own_chat.call_api("/api/chat", method="POST", body={}, **{"content-type": "text/plain"}).status == 415
    large = {"messages": [user("x" * (33 * 1024 * 1024))], "model": MODEL}
    assert own_chat.call_api("/api/chat", method="POST", body=large).status == 413


def test_an_admin_without_an_engine_says_so(kept_booth: Booth) -> None:
    reply = kept_booth.ask("/api/chat", method="POST", body={"messages": [user("Hello.")], "model": MODEL})
    assert (reply.status, reply.json["error"]["what"]) == (409, "there are no backends here")


@proves("req:S4-33")
def test_a_chat_has_one_thread_whatever_its_name_is(chat: ChatServer) -> None:
    """S4-33: a name that is no id becomes a UUID, the same each time; what is kept has its own ids, times and metadata."""
    first = chat.post("One. [[scenario:text]]", chat=":r1:ü")
    thread = first[0]["messageMetadata"]["thread"]
    assert str(uuid.UUID(thread)) == thread
    answer = message_of_parts(first)
    assert (
        chat.post([user("One."), answer, user("Two. [[scenario:text]]")], chat=":r1:ü")[0]["messageMetadata"]["thread"]
        == thread
    )
    read = chat.call_api(f"/api/chat/{quote(':r1:ü', safe='')}").json
    assert read["id"] == thread
    assert read["messages"] == chat.messages(thread)
    assert read["messages"][1] == answer
    times = [message["metadata"]["at"] for message in read["messages"]]
    assert times == sorted(times) and times[1] == answer["metadata"]["at"]
    assert chat.call_api("/api/chat/never-begun").status == 404

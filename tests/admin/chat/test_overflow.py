"""A chat that does not fit the model's window any more: refused, or gone on with from a summary, as the settings say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.testing import Simulator
from tests.admin.chat.served import ChatServer, Part, configured, kinds, user

pytestmark = pytest.mark.slow

TOO_LONG = "status 400 message='prompt is too long: 2 tokens > 1 maximum'"
COMPACTS = '[chat]\non_overflow = "compact"\n'


@pytest.fixture(scope="module")
def compacting(claude: Simulator, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChatServer]:
    """A server that compacts, for all tests of the module."""
    with ChatServer(configured(tmp_path_factory.mktemp("compacts") / "h", {"claude": claude}, COMPACTS)) as server:
        yield server


def of_kind(parts: list[Part], kind: str) -> list[Part]:
    return [part for part in parts if part["type"] == kind]


def asked_last(claude: Simulator) -> list[Any]:
    return json.loads(claude.body(claude.journal()[-1]["n"]))["messages"]


def test_the_stream_tells_of_the_compaction_and_goes_on_with_the_same_message(
    compacting: ChatServer, claude: Simulator
) -> None:
    """What the summary says is not told as the answer; the turn is the new line's from then on."""
    claude.reset()
    compacting.post("One.", chat="long")
    first = compacting.messages("long")
    claude.fault(TOO_LONG)
    parts = compacting.post([*first, user("Two.")], chat="long")
    [start], [finish] = of_kind(parts, "start"), of_kind(parts, "finish")
    writing, done = of_kind(parts, "data-compaction")
    turn = finish["messageMetadata"]["turn"]
    refused, of = start["messageMetadata"]["turn"], first[1]["metadata"]["turn"]
    summary = done["data"].pop("summary")
    assert writing == {"type": "data-compaction", "id": refused, "data": {"state": "summarising", "before": refused}}
    assert done == {"type": "data-compaction", "id": refused, "data": {"state": "done", "before": refused, "of": of}}
    assert len({of, refused, summary, turn}) == 4
    assert [part["messageMetadata"] for part in of_kind(parts, "message-metadata")] == [
        {"turn": turn},
        {"backend": "claude", "model": "claude-opus-5-5"},  # of the answer, not of the summary
    ]
    assert {part["id"].partition(".")[0] for part in parts if "delta" in part} == {turn}
    assert [kind for kind in kinds(parts) if not kind.startswith(("text", "reasoning"))] == [
        "start",
        "start-step",
        "data-compaction",
        "message-metadata",
        "finish-step",
        "finish",
    ]


def test_the_line_that_was_too_long_is_kept_and_the_new_one_goes_on(compacting: ChatServer, claude: Simulator) -> None:
    """The summary is read as what it is; the next question follows it, and asking the first of the line anew keeps it."""
    claude.reset()
    compacting.post("One.", chat="kept")
    before = compacting.messages("kept")
    claude.fault(TOO_LONG)
    compacting.post([*before, user("Two.")], chat="kept")
    read = compacting.call_api("/api/chat/kept").json
    question, answer = read["messages"]
    stands, words = question["parts"]
    assert (stands["type"], stands["data"]["of"], words) == (
        "data-compaction",
        before[1]["metadata"]["turn"],
        {"type": "text", "text": "Two."},
    )
    compacting.post([*read["messages"], user("Three.")], chat="kept")
    assert [message["role"] for message in asked_last(claude)] == ["user", "assistant", "user"]
    assert asked_last(claude)[0]["content"][0]["text"] == stands["data"]["text"]
    old = compacting.call_api(f"/api/chat/kept?turn={before[1]['metadata']['turn']}").json["messages"]
    assert old == before
    compacting.post([question], chat="kept", trigger="regenerate-message", messageId=answer["id"])
    assert [block["text"] for block in asked_last(claude)[0]["content"]] == [stands["data"]["text"], "Two."]


def test_a_summary_that_fails_leaves_the_question_refused(compacting: ChatServer, claude: Simulator) -> None:
    claude.reset()
    compacting.post("One.", chat="fails")
    before = compacting.messages("fails")
    claude.fault(TOO_LONG)
    claude.fault("status 529")
    parts = compacting.post([*before, user("Two.")], chat="fails")
    assert "prompt is too long" in of_kind(parts, "error")[0]["errorText"]
    assert [part["data"]["state"] for part in of_kind(parts, "data-compaction")] == []
    assert compacting.messages("fails")[-1]["metadata"]["outcome"] == "refused"


def test_a_summary_that_breaks_off_is_told_as_failed(compacting: ChatServer, claude: Simulator) -> None:
    claude.reset()
    compacting.post("One.", chat="breaks")
    before = compacting.messages("breaks")
    claude.fault(TOO_LONG)
    claude.fault("cut content=2")
    parts = compacting.post([*before, user("Two.")], chat="breaks")
    assert [part["data"]["state"] for part in of_kind(parts, "data-compaction")] == ["summarising", "failed"]
    assert "prompt is too long" in of_kind(parts, "error")[0]["errorText"]


def test_without_the_setting_it_is_refused_in_the_vendors_words(chat: ChatServer, claude: Simulator) -> None:
    """As the library does by itself."""
    chat.post("One.", chat="plain")
    claude.fault(TOO_LONG)
    parts = chat.post([*chat.messages("plain"), user("Two.")], chat="plain")
    assert (of_kind(parts, "data-compaction"), len(of_kind(parts, "error"))) == ([], 1)
    assert "prompt is too long: 2 tokens > 1 maximum" in of_kind(parts, "error")[0]["errorText"]


def test_anyone_who_stops_it_while_the_summary_is_written_has_the_question_kept(claude: Simulator, tmp_path: Path) -> None:
    claude.reset()
    with ChatServer(configured(tmp_path / "h", {"claude": claude}, COMPACTS)) as server:
        server.post("One.", chat="stopped")
        before = server.messages("stopped")
        claude.fault(TOO_LONG)
        claude.fault("stall 30 content=2")
        with server.posted([*before, user("Two.")], chat="stopped") as reply:
            while b"summarising" not in reply.readline():
                pass
            assert server.call_api("/api/chat/stopped/stream", method="DELETE").json == {"stopped": True}
            rest = reply.read()
        assert b'"type":"abort"' in rest
        assert server.messages("stopped")[-1]["parts"] == [{"type": "text", "text": "Two."}]

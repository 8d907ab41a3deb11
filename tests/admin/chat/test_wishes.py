"""Whom to ask and how: as the request says, else as the chat was, else as the settings say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from clew.admin.chat.endpoints import ChatBody
from clew.chat.request import Wishes
from clew.chat.ui.parts import message_of_parts
from clew.errors import RequestInvalid
from clew.settings.values import ChatSettings
from clew.testing import Simulator
from tests.admin.chat.served import ChatServer, configured, user
from tests.engine.talk import last_asked, refusals
from tests.manifest import proves, public

SHOWN = {"type": "adaptive", "display": "summarized"}
USUAL = ChatSettings(model="usual", system="Be kind.", effort="low", max_tokens=5000)


def test_the_request_says_it_and_the_settings_fill_the_rest() -> None:
    plain = Wishes(model="usual", max_tokens=5000, system="Be kind.", thinking=SHOWN, effort="low", tools=[])
    assert ChatBody().wishes(USUAL, new=True) == plain
    asked = ChatBody(model="mine", system="Be brief.", effort="high", max_tokens=10, thinking=False)
    off: Any = {"type": "disabled"}
    assert asked.wishes(USUAL, new=True) == Wishes(
        model="mine", max_tokens=10, system="Be brief.", thinking=off, effort="high", tools=[]
    )


def test_an_old_chat_keeps_the_model_that_it_has() -> None:
    assert ChatBody().wishes(USUAL, new=False).model == ""


@pytest.mark.parametrize(
    ("said", "thinking"),
    [(True, SHOWN), (False, {"type": "disabled"}), ({"type": "enabled", "budget_tokens": 2000},) * 2],
)
def test_thinking_is_asked_for_in_one_word_or_in_full(said: Any, thinking: Any) -> None:
    assert ChatBody(thinking=said).wishes(USUAL, new=True).thinking == thinking
    assert ChatBody().wishes(ChatSettings(thinking=False), new=True).thinking == {"type": "disabled"}


@pytest.fixture(scope="module")
def both() -> Iterator[dict[str, Simulator]]:
    """Two hosts of one maker."""
    with Simulator() as a, Simulator() as b:
        yield {"claude": a, "other": b}


@pytest.mark.slow
def test_a_backend_is_chosen_for_one_answer_and_the_chat_is_not_pinned(both: dict[str, Simulator], tmp_path: Any) -> None:
    """Thinking goes back to anyone who made it, and to nobody else."""
    usual = '[chat]\nmodel = "claude-opus-5-5"\nsystem = "Be kind."\n'
    with ChatServer(configured(tmp_path / "h", both, usual)) as chat:
        held: list[Any] = []
        answered: list[str] = []
        for wish in ({}, {"backend": "other"}, {}, {"backend": ""}):
            held.append(user("Think. [[scenario:thinking]]"))
            reply = chat.call_api("/api/chat", method="POST", body={"id": "one", "messages": held, **wish})
            frames = [json.loads(line[6:]) for line in reply.raw.decode().splitlines() if line.startswith("data: {")]
            held.append(message_of_parts(frames))
            answered.append(held[-1]["metadata"]["backend"])
        assert answered == ["claude", "other", "claude", "claude"]
        assert chat.call_api("/api/chat").json["threads"][0]["pin"] == ""
        asked = [json.loads(both["claude"].body(entry["n"])) for entry in both["claude"].journal()]
        assert [body["system"] for body in asked] == ["Be kind."] * 3
        assert [refusals(each) for each in both.values()] == [[], []]


@pytest.mark.slow
def test_a_chat_that_is_pinned_stays_so_whatever_is_chosen_for_one_answer(both: dict[str, Simulator], tmp_path: Any) -> None:
    """Without a word the pinned one answers; the choice `active` is a choice too."""
    with ChatServer(configured(tmp_path / "h", both, '[chat]\nmodel = "claude-opus-5-5"\n')) as chat:
        chat.post("One. [[scenario:text]]", chat="one")
        assert chat.ask("/api/use", method="POST", body={"backend": "other", "thread": "one"}).status == 200
        for wish in ({}, {"backend": "claude"}, {"backend": ""}, {}):
            held = [*chat.messages("one"), user("Go on. [[scenario:text]]")]
            chat.call_api("/api/chat", method="POST", body={"id": "one", "messages": held, **wish})
        answers = [message["metadata"]["backend"] for message in chat.messages("one") if message["role"] == "assistant"]
        assert answers == ["claude", "other", "claude", "claude", "other"]
        assert chat.call_api("/api/chat/one").json["backend"] == "other"


@pytest.mark.parametrize("id", [".", ".."])
def test_a_chat_whose_id_no_path_can_name_is_refused_at_once(id: str) -> None:
    """Its stream could not be come back to; the SDK refuses these ids there, too."""
    with pytest.raises(RequestInvalid, match="the id of a chat is part of a path"):
        _ = ChatBody(id=id).checked_id


@pytest.mark.slow
@pytest.mark.parametrize("id", ["a/b", "Größe 2?#%2F/", "/stream", "..a", "\ue000/\ue001", "x" * 200])
def test_any_other_id_leads_to_the_chat_on_every_route(chat: ChatServer, id: str) -> None:
    """In a path it is percent-encoded, its slashes too, as the SDK does it."""
    path = f"/api/chat/{quote(id, safe='')}"
    chat.post("Hello.", chat=id)
    read = chat.call_api(path)
    assert (read.status, len(read.json["messages"])) == (200, 2)
    assert chat.call_api(f"{path}/stream").status == 204
    assert chat.call_api(path, method="PATCH", body={"title": "New"}, **{"content-type": "application/json"}).status == 200
    assert chat.call_api(path, method="DELETE").status == 200
    assert chat.call_api(path).status == 404


@pytest.mark.slow
def test_a_slash_that_is_encoded_leads_to_no_other_route(chat: ChatServer) -> None:
    """Neither past the routes of the chat, nor into them."""
    paths = ("/api%2Fchat", "/api/chat%2Fone%2Fstream", "/api/chat%2F..%2Fstatus", "/api/chat/%2E%2E%2Fstatus/stream/")
    assert [chat.call_api(path).status for path in paths] == [404] * 4


@pytest.mark.slow
@public("page")
@proves("req:S0-37")
def test_a_model_with_budgets_keeps_tokens_for_its_answer(chat: ChatServer, claude: Simulator) -> None:
    """S0-37: of the usual 16,000 there was one left."""
    body = {"id": "budget", "model": "claude-opus-4-5", "messages": [user("Hello.")]}
    assert chat.call_api("/api/chat", method="POST", body=body).status == 200
    asked = last_asked(claude)
    assert (asked["max_tokens"], asked["thinking"]["budget_tokens"]) == (16_000, 14_976)
    assert refusals(claude) == []

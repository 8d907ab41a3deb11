"""What runs for one principal is out of another's reach, though all its ids are known."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from clew.admin.routes import ROUTES
from clew.settings.home import Home
from clew.settings.named_keys import NamedKeys
from clew.testing import Simulator
from tests.admin.booth import KEY
from tests.admin.chat.served import MODEL, ChatServer, configured, parts_of, read_until, user
from tests.manifest import proves

pytestmark = pytest.mark.slow

CANARY = "mynah-bird"
QUESTION = f"Say {CANARY}. [[scenario:text]]"
MINE = "What is mine?"
BODIES: dict[tuple[str, str], Any] = {
    ("POST", "/api/chat"): {"id": "{id}", "messages": [user(f"{MINE} [[scenario:text]]")], "model": MODEL},
    ("PATCH", "/api/chat/{id}"): {"title": "Taken"},
    ("PATCH", "/api/conversations/{id}"): {"title": "Taken"},
    ("POST", "/api/conversations/{id}/turns"): {
        "asked": [{"role": "user", "content": f"{MINE} [[scenario:text]]"}],
        "model": MODEL,
        "follows": "{turn}",
        "session": "{id}",
    },
    ("PUT", "/api/conversations/{id}/begun"): {"turn": "{turn}", "run": "taken"},
}
REACHING = [route for route in ROUTES if route.scope == "inference"]


@pytest.fixture(scope="module")
def root(claude: Simulator, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return configured(tmp_path_factory.mktemp("others") / "h", {"claude": claude})


@pytest.fixture(scope="module")
def keys(root: Path) -> dict[str, str]:
    made = {name: NamedKeys(Home(root)).add(name, principal=name)[1] for name in ("ann", "bob")}
    return {**made, "owner": KEY}


@pytest.fixture(scope="module")
def house(root: Path, keys: dict[str, str]) -> Iterator[ChatServer]:
    with ChatServer(root) as server:
        yield server


@contextmanager
def chatting(house: ChatServer, claude: Simulator, key: str, chat: str) -> Iterator[tuple[str, Any]]:
    """An answer of Ann's that does not come to its end by itself, and the id of its turn."""
    house.post(QUESTION, chat=chat, key=key)
    claude.fault("stall 600 content=2")
    again = [*house.messages(chat, key), user(QUESTION)]
    with house.posted(again, chat=chat, key=key) as reply:
        read_until(reply, "text-delta")
        yield house.store.passages("ann", chat)[0].exchange, reply


def filled(value: Any, ids: dict[str, str]) -> Any:
    text = json.dumps(value)
    for name, id in ids.items():
        text = text.replace("{" + name + "}", id)
    return json.loads(text)


@proves("fault:X3")
@pytest.mark.parametrize("who", ["bob", "owner"])
def test_no_route_of_a_chat_reaches_a_running_one_of_another_principal(
    house: ChatServer, claude: Simulator, keys: dict[str, str], who: str
) -> None:
    """By every route that a key opens, with the ids of the thread and of its turn, and with how the first begins."""
    chat = f"ann-s-chat-with-{who}"
    with chatting(house, claude, keys["ann"], chat) as (turn, reply):
        before = house.store.thread("ann", chat)
        for id in (chat, chat[:12]):
            for route in REACHING:
                ids = {"id": id, "turn": turn}
                body = filled(BODIES.get((route.method, route.path)), ids)
                answer = house.call_api(filled(route.path, ids), method=route.method, body=body, key=keys[who])
                assert CANARY not in answer.raw.decode(), f"{route.method} {route.path}: {answer.raw[:300]!r}"
        for query in (
            f"/api/chat?q={CANARY}",
            f"/api/chat/{chat}?turn={turn}",
            f"/api/conversations/{chat}/sent?turn={turn}",
        ):
            assert CANARY not in house.call_api(query, key=keys[who]).raw.decode(), query
        assert house.call_api(f"/api/chat/{chat}", key=keys["ann"]).json["running"] is True
        after = house.store.thread("ann", chat)
        assert (after.title, after.pin, after.turns) == (
            before.title,
            before.pin,
            before.turns,
        )  # `used` moves while it runs
        assert house.call_api(f"/api/chat/{chat}/stream", method="DELETE", key=keys["ann"]).json == {"stopped": True}
        assert parts_of(b"data: {}\n\n" + reply.read().lstrip(b"\n"))[-1]["finishReason"] == "interrupted"
    told = json.dumps([house.messages(chat, keys["ann"])])
    assert MINE not in told
    assert house.store.verify() == ()


def test_a_conversation_that_runs_is_stopped_by_its_principal_alone(
    house: ChatServer, claude: Simulator, keys: dict[str, str]
) -> None:
    claude.fault("stall 600 content=2")
    body = {"asked": [{"role": "user", "content": QUESTION}], "model": MODEL}
    ann, path = {"x-api-key": keys["ann"]}, "/api/conversations/ann-s-talk"
    with house.opened(f"{path}/turns", method="POST", body=body, headers=ann, port=True) as reply:
        assert reply.readline() == b"event: turn\n"
        turn = json.loads(reply.readline().removeprefix(b"data: "))["turn"]["id"]
        for who in ("bob", "owner"):
            tried = house.call_api(f"{path}/turns/{turn}", method="DELETE", key=keys[who])
            assert (tried.status, CANARY in tried.raw.decode()) == (400, False)
        assert house.store.exchange("ann", turn).outcome == "open"
        assert house.call_api(f"{path}/turns/{turn}", method="DELETE", key=keys["ann"]).status == 200
        assert b"event: end" in reply.read()


def test_live_events_tell_nothing_of_another_principal(house: ChatServer, keys: dict[str, str]) -> None:
    """A key hears none; the owner's page hears of its own requests, unless it asks for somebody else's."""
    for who in ("ann", "bob", "owner"):
        assert house.call_api("/api/events", key=keys[who]).status == (401 if who == "owner" else 403)
    with house.opened("/api/events", headers=house.logged_in(), port=True) as events:
        house.post(QUESTION, chat="ann-s-event", key=keys["ann"])
        house.post("Mine. [[scenario:text]]", chat="owners-event")
        heard = b""
        while b"owners-event" not in heard:
            line = events.readline()
            assert line, heard
            heard += line
        assert b"ann" not in heard
    with house.opened("/api/events?principal=ann", headers=house.logged_in(), port=True) as events:
        house.post("Mine. [[scenario:text]]", chat="owners-event")
        house.post(QUESTION, chat="ann-s-event", key=keys["ann"])
        heard = b""
        while b"ann-s-event" not in heard:
            line = events.readline()
            assert line, heard
            heard += line
        assert b"owners-event" not in heard


def test_a_browsers_session_is_the_owners_whatever_key_comes_beside_it(house: ChatServer, keys: dict[str, str]) -> None:
    """And one that is made up, or of an admin that is gone, is nobody's."""
    house.post(QUESTION, chat="ann-s-own", key=keys["ann"])
    session = house.logged_in()
    for headers in (session, {**session, "x-api-key": keys["bob"]}):
        assert house.ask("/api/chat/ann-s-own", headers=headers, port=True).status == 404
    name = session["cookie"].partition("=")[0]
    for value in ("", "ann", keys["ann"], house.admin.token):
        assert house.ask("/api/chat/ann-s-own", headers={"cookie": f"{name}={value}"}, port=True).status == 401

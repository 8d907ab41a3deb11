"""Who may chat: holders of keys with what is theirs, pages of named origins with a key, and nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.admin.routes import ROUTES
from clew.settings.home import Home
from clew.settings.named_keys import NamedKeys
from clew.testing import Simulator
from tests.admin.booth import KEY
from tests.admin.chat.served import MODEL, ChatServer, configured, parts_of, user
from tests.manifest import proves

pytestmark = pytest.mark.slow

APP = "http://localhost:3000"
QUESTION = {"messages": [user("Hello. [[scenario:text]]")], "model": MODEL}


@pytest.fixture(scope="module")
def root(claude: Simulator, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return configured(tmp_path_factory.mktemp("house") / "h", {"claude": claude}, f'[chat]\norigins = ["{APP}"]')


@pytest.fixture(scope="module")
def ann(root: Path) -> str:
    return NamedKeys(Home(root)).add("ann", principal="ann")[1]


@pytest.fixture(scope="module")
def bob(root: Path) -> str:
    return NamedKeys(Home(root)).add("bob", principal="bob")[1]


@pytest.fixture(scope="module")
def house(root: Path, ann: str, bob: str) -> Iterator[ChatServer]:
    """With both keys from the start: a new one opens nothing for the rest of a second."""
    with ChatServer(root) as server:
        yield server


def test_a_key_sees_its_principals_chats_and_nobody_elses(house: ChatServer, ann: str, bob: str) -> None:
    """The same name of a chat is another chat for somebody else."""
    house.post("I am Ann. [[scenario:text]]", chat="mine", key=ann)
    house.post("I am the owner. [[scenario:text]]", chat="mine")
    assert house.messages("mine", ann)[0]["parts"][0]["text"] == "I am Ann. [[scenario:text]]"
    assert house.messages("mine")[0]["parts"][0]["text"] == "I am the owner. [[scenario:text]]"
    assert house.call_api("/api/chat/mine", key=bob).status == 404
    assert house.call_api("/api/chat", key=bob).json["threads"] == []
    assert house.call_api("/api/chat?q=Ann", key=bob).json == {"threads": [], "hits": []}
    found = house.call_api("/api/chat?q=Ann", key=ann).json
    assert [(thread["id"], thread["principal"]) for thread in found["threads"]] == [("mine", "ann")]
    assert house.call_api("/api/chat/mine", method="PATCH", body={"title": "Mine now"}, key=bob).status == 404
    assert house.call_api("/api/chat/mine", method="DELETE", key=bob).status == 404
    assert house.messages("mine", ann)


def test_a_key_cannot_hear_or_stop_what_another_asked(house: ChatServer, claude: Simulator, ann: str, bob: str) -> None:
    claude.fault("stall 30 content=2")
    with house.posted("Hello. [[scenario:text]]", chat="private", key=ann) as reply:
        assert reply.readline().startswith(b"data: ")
        with house.resumed("private", key=bob) as other:
            assert other.status == 204
        assert house.call_api("/api/chat/private/stream", method="DELETE", key=bob).json == {"stopped": False}
        assert house.call_api("/api/chat/private/stream", method="DELETE", key=ann).json == {"stopped": True}
        assert parts_of(b"data: {}\n\n" + reply.read().removeprefix(b"\n"))[-1]["finishReason"] == "interrupted"


@proves("fault:X3")
@pytest.mark.parametrize(
    "route",
    [route for route in ROUTES if route.scope not in ("open", "inference")],
    ids=lambda route: f"{route.method} {route.path}",
)
def test_a_key_opens_nothing_of_the_admin(house: ChatServer, ann: str, route: Any) -> None:
    """reliability 4.3: the scope inference is not a smaller admin."""
    path = route.path.replace("{id}", "mine")
    for headers in ({"x-api-key": ann}, {"authorization": f"Bearer {ann}"}, {"x-clew-key": ann}, {"x-api-key": KEY}):
        reply = house.ask(path, method=route.method, body={} if route.method == "POST" else None, headers=headers, port=True)
        # A named key is told what it lacks; the gateway's own key, and routes for the owner, stay silent.
        is_told = KEY not in headers.values() and route.scope != "owner"
        assert reply.status == (403 if is_told else 401)
        assert not is_told or "it lacks the scope" in reply.why


def test_a_key_is_taken_from_a_header_and_from_nowhere_else(house: ChatServer, ann: str) -> None:
    """reliability 4.1: never from cookies or query strings."""
    assert house.ask("/api/chat", headers={"authorization": f"Bearer {ann}"}, port=True).status == 200
    assert house.ask("/api/chat", headers={"x-clew-key": ann}, port=True).status == 200
    assert house.ask(f"/api/chat?key={ann}&x-api-key={ann}", port=True).status == 401
    assert house.ask("/api/chat", headers={"cookie": f"key={ann}; x-api-key={ann}"}, port=True).status == 401


def test_the_doors_of_the_admin_lead_to_the_owners_chats(house: ChatServer) -> None:
    house.post("Hello. [[scenario:text]]", chat="owners")
    token = {"authorization": f"Bearer {house.admin.token}"}
    for headers, port in ((token, True), (house.logged_in(), True), ({}, False)):
        assert house.ask("/api/chat/owners", headers=headers, port=port).status == 200


def test_a_chat_is_renamed_and_deleted_by_whose_it_is(house: ChatServer, ann: str) -> None:
    house.post("A canary sings. [[scenario:text]]", chat="short-lived", key=ann)
    assert house.call_api("/api/chat/short-lived", method="PATCH", body={"title": " Birds "}, key=ann).json == {
        "id": "short-lived",
        "title": "Birds",
    }
    assert house.call_api("/api/chat/short-lived", key=ann).json["title"] == "Birds"
    assert house.call_api("/api/chat/short-lived", method="PATCH", body={"title": " "}, key=ann).status == 400
    assert house.call_api("/api/chat/short-lived", method="DELETE", key=ann).json == {"forgotten": "short-lived"}
    assert house.call_api("/api/chat/short-lived", key=ann).status == 404
    files = [*house.home.root.glob("clew.db*")]
    assert files and b"canary sings" not in b"".join(path.read_bytes() for path in files)


def test_a_page_of_a_named_origin_may_call_with_a_key(house: ChatServer, ann: str) -> None:
    """reliability 4.1: exact origins, and nothing that lets a cookie along."""
    asked = {"origin": APP, "access-control-request-method": "POST", "access-control-request-headers": "content-type"}
    before = house.ask("/api/chat", method="OPTIONS", headers={**asked, "sec-fetch-site": "cross-site"}, port=True)
    assert (before.status, before.raw) == (204, b"")
    assert {name: value for name, value in before.headers.items() if name.startswith("access-control")} == {
        "access-control-allow-origin": APP,
        "access-control-allow-methods": "DELETE, GET, PATCH, POST",
        "access-control-allow-headers": "authorization, content-type, x-api-key, x-clew-key",
        "access-control-expose-headers": "retry-after, x-vercel-ai-ui-message-stream",
        "access-control-max-age": "600",
    }
    page = {"origin": APP, "sec-fetch-site": "cross-site", "sec-fetch-mode": "cors", "x-api-key": ann}
    reply = house.ask("/api/chat", method="POST", body={"id": "cors", **QUESTION}, headers=page, port=True)
    assert (reply.status, reply.headers["access-control-allow-origin"], reply.headers["vary"]) == (200, APP, "origin")
    assert parts_of(reply.raw)[-1]["type"] == "finish"
    assert "access-control-allow-credentials" not in reply.headers
    refused = house.ask("/api/chat", headers={"origin": APP}, port=True)
    assert (refused.status, refused.headers["access-control-allow-origin"]) == (401, APP)


def test_a_browser_that_asks_about_a_private_network_is_told(house: ChatServer) -> None:
    asked = {"origin": APP, "access-control-request-method": "GET", "access-control-request-private-network": "true"}
    reply = house.ask("/api/chat/x", method="OPTIONS", headers=asked, port=True)
    assert (reply.status, reply.headers["access-control-allow-private-network"]) == (204, "true")


@pytest.mark.parametrize(
    "origin",
    [
        "http://localhost:3001",
        "https://localhost:3000",
        "http://localhost:3000.evil.example",
        "null",
        f"{APP}/",
        APP.upper(),
    ],
)
def test_a_page_of_any_other_origin_may_not(house: ChatServer, ann: str, origin: str) -> None:
    for method in ("OPTIONS", "GET"):
        asked = {"origin": origin, "access-control-request-method": "POST", "x-api-key": ann}
        reply = house.ask("/api/chat", method=method, headers=asked, port=True)
        assert (reply.status, [name for name in reply.headers if name.startswith("access-control")]) == (403, [])


@pytest.mark.parametrize("path", ["/api/status", "/api/threads", "/api/chatter", "/", "/api/conversations"])
def test_a_named_origin_may_call_the_chat_alone(house: ChatServer, path: str) -> None:
    headers = {"origin": APP, "authorization": f"Bearer {house.admin.token}"}
    assert house.ask(path, headers=headers, port=True).status == 403
    assert (
        house.ask(path, method="OPTIONS", headers={"origin": APP, "access-control-request-method": "GET"}, port=True).status
        == 403
    )


def test_a_cookie_is_no_key_for_a_page_of_another_origin(house: ChatServer) -> None:
    """localhost:3000 and localhost:2540 are the same site to a browser: it would send the cookie along."""
    session = house.logged_in()
    assert house.ask("/api/chat", headers=session, port=True).status == 200
    assert house.ask("/api/chat", headers={**session, "origin": APP}, port=True).status == 401


def test_another_host_is_still_refused(house: ChatServer, ann: str) -> None:
    """DNS rebinding: the guard is as it was."""
    headers = {"host": "evil.example", "origin": APP, "x-api-key": ann}
    assert house.ask("/api/chat", headers=headers, port=True).status == 421


def test_of_a_deleted_chat_no_request_stays_in_memory(house: ChatServer, ann: str) -> None:
    """A long one is remembered, so that the next is read from where it goes on."""
    histories, long = house.runtime.engine.services.histories, f"{'A canary sings. ' * 2000}[[scenario:text]]"
    house.post(long, chat="long", key=ann)
    assert "ann" in {kept[0] for kept in histories._kept}
    assert house.call_api("/api/chat/long", method="DELETE", key=ann).status == 200
    assert "ann" not in {kept[0] for kept in histories._kept}

"""Every route × every way to come: who may do what."""

from typing import Any

import pytest

from clew.admin.routes import ROUTES as API
from clew.admin.routing import AdminRoute, Routes
from clew.model.turn import Bodies, Try
from clew.web import routes
from tests.admin.booth import CANARY, KEY, Booth
from tests.manifest import proves
from tests.store.turns import recorded, turn
from tests.waiting import until

ROUTES = (*API, *routes())

DOORS = ("nobody", "wrong token", "token in the query", "browser", "browser without csrf", "token", "socket", "key")

REFUSED: dict[str, dict[str, int]] = {
    "open": {},
    "inference": {"nobody": 401, "wrong token": 401, "token in the query": 401},
    "read": {"nobody": 401, "wrong token": 401, "token in the query": 401, "key": 401},
    "admin": {"nobody": 401, "wrong token": 401, "token in the query": 401, "key": 401},
    "fresh": {"nobody": 401, "wrong token": 401, "token in the query": 401, "key": 401},
    "owner": {
        "nobody": 401,
        "wrong token": 401,
        "token in the query": 401,
        "browser": 403,
        "key": 401,
    },
}
"""What each scope refuses, and how. What is not here gets in; a browser changes nothing without its CSRF token."""


def headers_of(door: str, booth: Booth) -> dict[str, str]:
    match door:
        case "token":
            return {"authorization": f"Bearer {booth.admin.token}"}
        case "key":
            return {"x-api-key": KEY}
        case "wrong token":
            return {"authorization": f"Bearer {booth.admin.token[:-1]}"}
        case "browser":
            return booth.logged_in()
        case "browser without csrf":
            return {"cookie": booth.logged_in()["cookie"]}
    return {}


@pytest.mark.slow
@proves("fault:X3")
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_a_route_lets_in_whom_its_scope_names(kept_booth: Booth, route: AdminRoute, door: str) -> None:
    """X3, reliability 4.3: the matrix is made from the table."""
    path = route.path.replace("{id}", "nothing").replace("{name}", "nothing") + (
        f"?token={kept_booth.admin.token}" if door == "token in the query" else ""
    )
    body = {} if route.method == "POST" else None
    with kept_booth.opened(
        path, method=route.method, body=body, headers=headers_of(door, kept_booth), port=door != "socket"
    ) as reply:
        status = reply.status
    expected = REFUSED[route.scope].get("browser" if door == "browser without csrf" else door)
    if door == "browser without csrf" and route.method != "GET" and route.scope != "open":
        expected = 403
    if expected is not None:
        assert status == expected
    elif route.path != "/login":  # it answers everybody, and tells who is not logged in so
        assert status not in (401, 403)


@proves("fault:X3")
def test_a_route_without_a_scope_keeps_the_admin_from_starting() -> None:
    """reliability 4.3."""

    async def endpoint(desk: Any, request: Any) -> Any: ...

    undeclared: Any = ""
    with pytest.raises(ValueError, match="GET /new does not declare its scope"):
        Routes([*ROUTES, AdminRoute("GET", "/new", undeclared, endpoint, "")], undeclared)


@pytest.mark.slow
@proves("fault:X12")
def test_no_answer_holds_a_secret(booth: Booth) -> None:
    """X12: keys of backends, the gateway's key, the token, the sealing secret; in a body that got one, it is hidden."""
    booth.home.key.write_text("gateway-key-canary")
    assert booth.store is not None
    answer = recorded("r")
    tries = (Try(backend="claude", status=500, why=f"{CANARY} is not valid"),)
    booth.store.record(
        turn(answer, bodies=Bodies(asked=f"oops {CANARY}".encode(), sent=b"{}", answered=b""), tries=tries)
    ).result()
    until(lambda: booth.ask("/api/exchanges/x-r").json["bodies"])
    booth.current.problem = f"clew.toml:3: https://u:{CANARY}@host cannot be used"
    for route in ROUTES:
        if route.method != "GET" or route.path == "/api/events":
            continue
        reply = booth.ask(route.path.replace("{id}", "x-r" if "exchanges" in route.path else "t"))
        text = reply.raw.decode()
        leaked = [secret for secret in (CANARY, "gateway-key-canary", booth.admin.token) if secret in text]
        assert leaked == [], route.path


@pytest.mark.slow
def test_an_unknown_path_and_an_unknown_method_say_so(booth: Booth) -> None:
    """reliability §6: errors say what, why, next."""
    assert booth.ask("/nowhere").status == 404
    wrong = booth.ask("/api/use")
    assert (wrong.status, wrong.why) == (405, "allowed: POST")
    assert booth.ask("/login?code=x", method="HEAD").status == 405


@pytest.mark.slow
def test_a_fault_of_ours_is_told_without_its_insides(
    booth: Booth, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    booth.ask("/api/status")  # once, since what follows the settings begins with the admin
    nothing: Any = None
    with monkeypatch.context() as broken:
        broken.setattr(booth.current, "snapshot", nothing)
        reply = booth.ask("/api/status")
    assert (reply.status, reply.json["error"]["what"]) == (500, "the admin failed")
    assert b"Traceback" not in reply.raw and b"NoneType" not in reply.raw
    assert [record.getMessage() for record in caplog.records] == ["the admin failed at GET /api/status"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"backend=glm", "application/x-www-form-urlencoded", 415),
        (b"{}", "text/plain", 415),
        (b"{", "application/json", 400),
        (b'{"backend": 1}', "application/json", 400),
        (b'{"backend": "glm", "more": 1}', "application/json", 400),
        (b'{"backend": "' + b"x" * 70_000 + b'"}', "application/json", 413),
    ],
)
def test_only_sound_json_changes_anything(booth: Booth, body: bytes, kind: str, status: int) -> None:
    """reliability 4.1: a form of another page cannot say this."""
    head = (
        f"POST /api/use HTTP/1.1\r\nHost: 127.0.0.1:{booth.port}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
    )
    head += f"Authorization: Bearer {booth.admin.token}\r\nConnection: close\r\n\r\n"
    assert booth.raw(head.encode() + body).split(b" ", 2)[1] == str(status).encode()

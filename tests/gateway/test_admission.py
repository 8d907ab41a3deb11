"""Whose a request is: every route with every credential, and which of them travel on."""

import json

import pytest

from clew.backends.credential import Secret
from clew.backends.row import Backend
from clew.errors import SettingsInvalid
from clew.gateway.routes import ROUTES, Route, RouteTable
from tests.gateway.conftest import KEY, KEYED, PASSTHROUGH, TEAM_KEY, Gateway, Making, said, settings_with
from tests.manifest import proves

pytestmark = pytest.mark.slow

CREDENTIALS: dict[str, dict[str, str]] = {
    "none": {},
    "empty": {"x_api_key": "", "authorization": "Bearer "},
    "wrong": {"x_api_key": "wrong"},
    "wrong bearer": {"authorization": "Bearer wrong"},
    "basic": {"authorization": f"Basic {KEY}"},
    "a longer one": {"x_api_key": f"{KEY}x"},
    "a shorter one": {"x_api_key": KEY[:-1]},
    "in a cookie": {"cookie": f"x-api-key={KEY}"},
    "listed in connection": {"connection": "x-api-key, authorization"},
    "wrong own header beside a right key": {"x_clew_key": "wrong", "x_api_key": KEY},
    "x-api-key": {"x_api_key": KEY},
    "bearer": {"authorization": f"Bearer {KEY}"},
    "bearer in lower case": {"authorization": f"bearer {KEY}"},
    "own header": {"x_clew_key": KEY},
    "listed in connection, but there": {"connection": "x-api-key", "x_api_key": KEY},
    "named": {"x_api_key": TEAM_KEY},
}
VALID = list(CREDENTIALS)[10:]
OWN_CREDENTIAL = {"x_api_key": "sk-ant-own"}
KEYED_OTHERWISE = Backend(name="glm", url="https://glm.test", realm="glm", auth="key", keys=(Secret("rotated"),))


@proves("fault:X3", "fault:C10")
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.methods[0]} {route.path}")
def test_every_route_with_every_credential(gateway: Gateway, route: Route) -> None:
    """X3: the matrix follows from the table, so a new row is in it."""
    path = route.path.replace("*", "claude-opus-5-5")
    body = b"{}" if route.methods == ("POST",) else b""
    passed = {name: gateway.ask(route.methods[0], path, body, **given)[0] for name, given in CREDENTIALS.items()}
    expected = {name: 200 if route.scope == "open" or name in VALID else 401 for name in CREDENTIALS}
    assert passed == expected


def test_a_refusal_is_the_same_whatever_is_wrong(gateway: Gateway) -> None:
    """4.2: nobody learns from the answer which part of a guess was right. And Claude Code does not try it ten times."""
    answers = [gateway.ask(**given) for name, given in CREDENTIALS.items() if name not in VALID]
    assert {said(answer) for answer in answers} == {(401, "authentication_error")}
    assert len({answer[2].partition(b'"request_id"')[0] for answer in answers}) == 1
    assert {answer[1]["x-should-retry"] for answer in answers} == {"false"}


@proves("fault:C10")
@pytest.mark.parametrize(
    ("given", "principal", "credential"),
    [
        ({"x_api_key": KEY}, "local", ()),
        ({"x_api_key": TEAM_KEY}, "team", ()),
        ({"x_clew_key": KEY} | OWN_CREDENTIAL, "local", (("x-api-key", "sk-ant-own"),)),
        ({"x_clew_key": TEAM_KEY, "authorization": "Bearer oauth"}, "team", (("authorization", "Bearer oauth"),)),
        ({"x_api_key": "sk-ant-own", "authorization": f"Bearer {KEY}"}, "local", (("x-api-key", "sk-ant-own"),)),
        ({"x_api_key": KEY, "authorization": "Bearer oauth"}, "local", (("authorization", "Bearer oauth"),)),
        ({"x_api_key": KEY, "authorization": f"Bearer {TEAM_KEY}"}, "local", ()),
        ({"x_clew_key": KEY, "x_api_key": KEY}, "local", ()),
        ({"x_clew_key": KEY, "connection": "x-api-key"} | OWN_CREDENTIAL, "local", ()),
    ],
)
def test_a_gateway_key_never_travels_on_and_the_clients_own_does(
    gateway: Gateway, given: dict[str, str], principal: str, credential: tuple[tuple[str, str], ...]
) -> None:
    """S1-48, C10: Claude Code sends both headers if it has both."""
    assert gateway.ask(cookie="a=b", user_agent="me", **given)[0] == 200
    [call] = gateway.engine.calls
    assert (call.principal, tuple(call.credential)) == (principal, credential)
    assert {"authorization", "x-api-key", "x-clew-key", "cookie"} & set(call.headers) == set()
    assert call.headers["user-agent"] == "me"


LOCAL_MODEL = Backend(name="local", url="http://127.0.0.1:11434", realm="local", auth="none")


@pytest.mark.parametrize(
    ("backends", "host", "given", "status"),
    [
        pytest.param((PASSTHROUGH,), "127.0.0.1", OWN_CREDENTIAL, 200, id="its-own-credential"),
        pytest.param((PASSTHROUGH,), "127.0.0.1", {"authorization": "Bearer oauth"}, 200, id="its-own-bearer"),
        pytest.param((PASSTHROUGH,), "127.0.0.1", {}, 401, id="none-at-all"),
        pytest.param((PASSTHROUGH,), "127.0.0.1", OWN_CREDENTIAL | {"x_clew_key": "wrong"}, 401, id="a-wrong-key-beside"),
        pytest.param((PASSTHROUGH,), "127.0.0.1", OWN_CREDENTIAL | {"connection": "x-api-key"}, 401, id="listed-away"),
        pytest.param((PASSTHROUGH, KEYED), "127.0.0.1", OWN_CREDENTIAL, 401, id="a-stored-key-could-be-spent"),
        pytest.param((PASSTHROUGH, LOCAL_MODEL), "127.0.0.1", OWN_CREDENTIAL, 401, id="somebodys-machine-could-be-used"),
        pytest.param((PASSTHROUGH,), "0.0.0.0", OWN_CREDENTIAL, 401, id="others-can-reach-it"),
        pytest.param((PASSTHROUGH,), "127.0.0.1", OWN_CREDENTIAL | {"host": "clew.example"}, 401, id="called-from-outside"),
    ],
)
def test_without_a_key_only_where_nothing_of_the_operators_can_be_spent(
    making: Making, backends: tuple[Backend, ...], host: str, given: dict[str, str], status: int
) -> None:
    gateway = making(settings_with(*backends, hosts=("clew.example",)), host=host)
    assert gateway.ask(**given)[0] == status
    assert [call.principal for call in gateway.engine.calls] == ["local"] * (status == 200)


HELD = {"x_api_key": "vendor"}
"""The key that the gateway has for the backend `glm`."""


@pytest.mark.parametrize(
    ("host", "given", "status"),
    [
        pytest.param("127.0.0.1", HELD, 200, id="as-x-api-key"),
        pytest.param("127.0.0.1", {"authorization": "Bearer vendor"}, 200, id="as-a-bearer"),
        pytest.param("::1", HELD, 200, id="on-the-other-loopback"),
        pytest.param("127.0.0.1", {"x_clew_key": "vendor"}, 401, id="in-the-gateways-own-header"),
        pytest.param("127.0.0.1", HELD | {"x_clew_key": "wrong"}, 401, id="a-wrong-gateway-key-beside"),
        pytest.param("127.0.0.1", {"x_api_key": "vendor2"}, 401, id="a-longer-one"),
        pytest.param("127.0.0.1", {"x_api_key": "vendo"}, 401, id="a-shorter-one"),
        pytest.param("127.0.0.1", HELD | {"host": "clew.example"}, 401, id="called-from-outside"),
        pytest.param("0.0.0.0", HELD, 401, id="others-can-reach-it"),
        pytest.param("192.168.1.2", HELD, 401, id="on-an-address-of-the-network"),
    ],
)
def test_a_vendors_key_that_the_gateway_holds_opens_it_on_this_machine_only(
    making: Making, host: str, given: dict[str, str], status: int
) -> None:
    """Clients that read only ANTHROPIC_API_KEY send that key. Anyone who has it can spend it without the gateway as well."""
    gateway = making(settings_with(KEYED, hosts=("clew.example",)), host=host)
    assert gateway.ask(**given)[0] == status
    assert [(call.principal, "x-api-key" in call.headers) for call in gateway.engine.calls] == [("local", False)] * (
        status == 200
    )


def test_a_vendors_key_opens_nothing_once_the_backend_is_gone(making: Making) -> None:
    """The same head on the same connection is looked at again when the settings change."""
    gateway = making(settings_with(KEYED))
    asked = gateway.request("POST", "/v1/messages", **HELD)
    peer = gateway.peer()
    assert peer.send(asked).response()[0] == 200
    gateway.plane.source.settings = settings_with(KEYED_OTHERWISE)
    assert peer.send(asked).response()[0] == 401


@pytest.mark.parametrize(
    ("given", "variable"),
    [
        ({"x_api_key": "sk-ant-api03-abc"}, "ANTHROPIC_API_KEY"),
        ({"authorization": "Bearer sk-or-v1-abc"}, "ANTHROPIC_AUTH_TOKEN"),
    ],
)
def test_a_refused_key_of_a_vendor_is_told_what_to_unset(gateway: Gateway, given: dict[str, str], variable: str) -> None:
    """The words depend on the form of the key alone, so they say nothing about what the gateway holds."""
    status, _, body = gateway.ask(**given)
    words = json.loads(body)["error"]["message"]
    assert status == 401
    assert f"unset {variable}" in words
    assert "x-clew-key" in words
    assert "ANTHROPIC_CUSTOM_HEADERS" in words
    assert "abc" not in words


def test_a_refused_key_of_an_openai_client_is_told_what_to_set(gateway: Gateway) -> None:
    status, _, body = gateway.ask(path="/v1/chat/completions", authorization="Bearer sk-proj-abc")
    words = json.loads(body)["error"]["message"]
    assert status == 401
    assert "OPENAI_API_KEY" in words
    assert "clew env --shell" in words
    assert "ANTHROPIC" not in words
    assert "abc" not in words


@proves("fault:X3")
def test_a_route_that_does_not_say_who_may_use_it_is_not_served() -> None:
    """4.3: the plane cannot be made with it."""
    for scope in ("", "everybody"):
        with pytest.raises(SettingsInvalid, match=r"/x does not say who may use it: open, key, passthrough-or-key"):
            RouteTable([Route(methods=("GET",), path="/x", scope=scope, action="greet")])


def test_a_route_that_is_there_twice_is_not_served() -> None:
    with pytest.raises(SettingsInvalid, match="/v1/messages is there twice"):
        RouteTable([*ROUTES, Route(methods=("POST",), path="/v1/messages", scope="open", action="greet")])


def test_a_route_for_keys_alone_does_not_take_a_credential_of_the_clients_own(making: Making) -> None:
    routes = RouteTable([Route(methods=("GET",), path="/x", scope="key", action="greet")])
    gateway = making(settings_with(PASSTHROUGH), routes=routes)
    assert [gateway.ask("GET", "/x", b"", x_api_key=key)[0] for key in ("sk-ant-own", KEY)] == [401, 200]

"""Who is turned away before anybody asks for a key: foreign names, foreign pages, two meanings in one request."""

import pytest

from clew.gateway.admission import Border
from clew.http.message import request_of
from tests.gateway.conftest import KEY, KEYED, PASSTHROUGH, Gateway, Making, said, settings_with
from tests.manifest import proves

pytestmark = pytest.mark.slow

HOSTILE = [
    "evil.example",
    "evil.example:{port}",
    "a/?x=",
    "127.0.0.1",
    "127.0.0.1:1",
    "localhost.:{port}",
    "127.0.0.1:{port}.evil.example",
    "user@127.0.0.1:{port}",
    "127.0.0.1:{port}@evil.example",
    "0.0.0.0:{port}",
    "2130706433:{port}",
    "::1:{port}",
    "[::1]",
    "",
]


@proves("fault:X1")
@pytest.mark.parametrize("host", HOSTILE)
def test_a_name_that_is_not_ours_is_turned_away_before_the_key_is_looked_at(gateway: Gateway, host: str) -> None:
    """X1: also with a valid key, and the name is not repeated."""
    answer = gateway.ask(host=host.format(port=gateway.port), x_api_key=KEY)
    assert said(answer) in [(421, "invalid_request_error"), (400, "invalid_request_error")]
    assert b"evil" not in answer[2]
    assert gateway.engine.calls == []


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "LocalHost:{port}", "[::1]:{port}"])
def test_loopback_names_with_the_port_are_ours(gateway: Gateway, host: str) -> None:
    assert gateway.ask(host=host.format(port=gateway.port), x_api_key=KEY)[0] == 200


def test_configured_names_are_ours_and_may_say_their_port(making: Making) -> None:
    gateway = making(settings_with(KEYED, hosts=("Clew.example", "other.example:8443")))
    taken = {
        host: gateway.ask(host=host, x_api_key=KEY)[0]
        for host in (
            "clew.example",
            "clew.example:443",
            "other.example:8443",
            "other.example",
            "clew.example:x",
            "a.clew.example",
        )
    }
    assert taken == {
        "clew.example": 200,
        "clew.example:443": 200,
        "other.example:8443": 200,
        "other.example": 421,
        "clew.example:x": 421,
        "a.clew.example": 421,
    }


def test_names_can_change_while_it_runs(gateway: Gateway) -> None:
    assert gateway.ask(host="new.example", x_api_key=KEY)[0] == 421
    gateway.plane.source.settings = settings_with(PASSTHROUGH, hosts=("new.example",))
    assert gateway.ask(host="new.example", x_api_key=KEY)[0] == 200


@proves("fault:X1")
@pytest.mark.parametrize(
    "head",
    [
        pytest.param(b"POST /v1/messages HTTP/1.1\r\n", id="no-host"),
        pytest.param(b"POST /v1/messages HTTP/1.0\r\n", id="no-host-1.0"),
        pytest.param(b"POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nHost: evil.example\r\n", id="two-hosts"),
        pytest.param(b"POST http://127.0.0.1:%d/v1/messages HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n", id="absolute-form"),
        pytest.param(b"POST http://evil.example/v1/messages HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n", id="absolute-evil"),
        pytest.param(b"OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n", id="asterisk"),
    ],
)
def test_there_is_one_way_to_say_where_a_request_goes(gateway: Gateway, head: bytes) -> None:
    """X1."""
    head = head.replace(b"%d", str(gateway.port).encode())
    rest = b"content-type: application/json\r\nx-api-key: %b\r\ncontent-length: 2\r\n\r\n{}" % KEY.encode()
    assert gateway.raw(head + rest)[0] == 400
    assert gateway.engine.calls == []


@pytest.mark.parametrize("name", ["authorization", "content-type", "origin", "x-api-key", "x-clew-key"])
def test_a_header_that_decides_something_is_there_once(gateway: Gateway, name: str) -> None:
    """Two readers of one request could otherwise each take another one."""
    doubled = gateway.request("POST", "/v1/messages", x_api_key=KEY).replace(b"\r\n\r\n", b"\r\n%b: a\r\n%b: b\r\n\r\n", 1)
    assert said(gateway.raw(doubled.replace(b"%b", name.encode()))) == (400, "invalid_request_error")


@proves("fault:X2")
@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1:{port}", "file://"]
)
def test_a_foreign_page_is_turned_away(gateway: Gateway, origin: str) -> None:
    """X2 without a browser: no CORS header ever, so that it cannot read what it is told either."""
    answer = gateway.ask(origin=origin.format(port=gateway.port), x_api_key=KEY)
    assert said(answer) == (403, "permission_error")
    assert [name for name in answer[1] if name.startswith("access-control")] == []


def test_a_page_of_our_own_and_a_configured_one_pass(making: Making) -> None:
    gateway = making(settings_with(KEYED, origins=("https://app.example/",)))
    taken = [
        gateway.ask(origin=origin, x_api_key=KEY)[0]
        for origin in (f"http://127.0.0.1:{gateway.port}", "https://app.example", "https://app.example.evil.example")
    ]
    assert taken == [200, 200, 403]


@proves("fault:X2")
def test_a_cross_site_request_without_an_origin_is_turned_away(gateway: Gateway) -> None:
    """A `no-cors` fetch and a form can come without one."""
    assert gateway.ask("GET", "/healthz", b"", sec_fetch_site="cross-site")[0] == 403
    assert gateway.ask("GET", "/healthz", b"", sec_fetch_site="same-origin")[0] == 200


@proves("fault:X2")
def test_a_preflight_is_not_answered(gateway: Gateway) -> None:
    answer = gateway.ask("OPTIONS", "/v1/messages", b"", origin="http://evil.example", access_control_request_method="POST")
    assert answer[0] == 403
    assert [name for name in answer[1] if name.startswith("access-control")] == []


@proves("fault:X2")
@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("application/json", 200),
        ("Application/JSON; charset=utf-8", 200),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("application/jsonx", 415),
        ("text/plain; application/json", 415),
        (None, 415),
    ],
)
def test_json_is_asked_for_by_name(gateway: Gateway, kind: str | None, status: int) -> None:
    """A foreign form can post, but not with this content type."""
    assert gateway.ask(content_type=kind, x_api_key=KEY)[0] == status


@proves("fault:C6")
@pytest.mark.parametrize(("coding", "status"), [("gzip", 415), ("identity", 200), ("zstd", 415), ("identity, gzip", 415)])
def test_a_compressed_body_is_not_taken(gateway: Gateway, coding: str, status: int) -> None:
    """C6: so no bomb can grow here."""
    assert gateway.ask(content_encoding=coding, x_api_key=KEY)[0] == status


def test_the_address_that_it_listens_on_is_a_name_of_ours_unless_it_is_every_address() -> None:
    def taken(host: str, given: str) -> bool:
        request = request_of(method="GET", target="/", headers=(("host", given),), body=b"")
        return Border(host, 80).check(request) is None

    assert taken("192.0.2.7", "192.0.2.7")
    assert taken("fd00::7", "[fd00::7]")
    assert taken("0.0.0.0", "localhost")
    assert not taken("0.0.0.0", "0.0.0.0")

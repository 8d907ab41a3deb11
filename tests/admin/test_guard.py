"""Where a request may come from, and what every answer carries."""

import pytest

from tests.admin.booth import Booth
from tests.manifest import proves

pytestmark = pytest.mark.slow


def bearer(kept_booth: Booth) -> dict[str, str]:
    return {"authorization": f"Bearer {kept_booth.admin.token}"}


@proves("fault:X1")
@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "evil.example:{port}", "a/?x=", "localhost:{port}.evil.example", ""]
)
def test_another_host_is_refused_before_anything_else(kept_booth: Booth, host: str) -> None:
    """X1, reliability 4.1: 421, the same for any path and any credential."""
    headers = {"host": host.format(port=kept_booth.port), **bearer(kept_booth)}
    for path in ("/api/status", "/nowhere", "/login?code=x"):
        reply = kept_booth.ask(path, headers=headers, port=True)
        assert (reply.status, reply.json["error"]["what"]) == (421, "this is not the server that was asked for")


@proves("fault:X1")
@pytest.mark.parametrize(
    "head",
    [
        "GET /healthz HTTP/1.1\r\n",
        "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: 127.0.0.1:{port}\r\n",
        "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: evil.example\r\n",
        "GET http://evil.example/healthz HTTP/1.1\r\nHost: evil.example\r\n",
    ],
)
def test_a_host_that_is_missing_or_said_twice_is_refused(kept_booth: Booth, head: str) -> None:
    """X1."""
    answer = kept_booth.raw(head.format(port=kept_booth.port).encode() + b"Connection: close\r\n\r\n")
    assert answer.split(b" ", 2)[1] in (b"400", b"421")


@proves("fault:X1")
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LocalHost"])
def test_its_own_names_are_answered(kept_booth: Booth, host: str) -> None:
    reply = kept_booth.ask("/healthz", headers={"host": f"{host}:{kept_booth.port}"}, port=True)
    assert (reply.status, reply.json) == (200, {"status": "ok"})


@proves("fault:X2")
@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1:{port}"])
def test_a_page_of_another_origin_is_refused(kept_booth: Booth, origin: str) -> None:
    """X2, reliability 4.1: 403."""
    headers = {"origin": origin.format(port=kept_booth.port), **bearer(kept_booth)}
    assert kept_booth.ask("/api/status", headers=headers, port=True).status == 403


@proves("fault:X2")
@pytest.mark.parametrize(
    ("method", "path", "fetch", "status"),
    [
        ("GET", "/api/status", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
        ("GET", "/api/events", {"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"}, 403),
        ("POST", "/api/use", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, 403),
        ("GET", "/", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-purpose": "prefetch"}, 403),
        ("GET", "/", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, 200),
        ("GET", "/api/status", {"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"}, 200),
        ("GET", "/api/status", {"sec-fetch-site": "none", "sec-fetch-mode": "navigate"}, 200),
    ],
)
def test_the_browser_says_who_called(kept_booth: Booth, method: str, path: str, fetch: dict[str, str], status: int) -> None:
    """X2: only a link may lead here from elsewhere."""
    assert kept_booth.ask(path, method=method, headers={**bearer(kept_booth), **fetch}, port=True).status == status


@pytest.mark.parametrize("path", ["/", "/healthz", "/nowhere", "/api/status", "/login?code=x", "/usage"])
def test_every_answer_forbids_what_a_browser_could_do_with_it(kept_booth: Booth, path: str) -> None:
    """reliability 4.7."""
    for headers in ({}, bearer(kept_booth), {"host": "evil.example"}):
        reply = kept_booth.ask(path, headers=headers, port=True)
        assert reply.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self';")
        assert "frame-ancestors 'none'; base-uri 'none'; form-action 'self'" in reply.headers["content-security-policy"]
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["referrer-policy"] == "no-referrer"
        assert reply.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in reply.headers
        assert "server" not in reply.headers


@proves("fault:X4")
@pytest.mark.parametrize(
    "path",
    [
        "//api/status",
        "/%61pi/status",
        "/v1/../api/status",
        "/api/status/",
        "/api/status.",
        "/API/status",
        "/api/status;x",
        "/api//status",
    ],
)
def test_a_strange_path_opens_nothing(kept_booth: Booth, path: str) -> None:
    """X4: 404, or the same question for a credential."""
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{kept_booth.port}\r\nConnection: close\r\n\r\n"
    assert kept_booth.raw(request.encode()).split(b" ", 2)[1] in (b"401", b"404")

"""What crosses the gateway and what does not, in both directions."""

import pytest

from clew.dialects.headers import request_headers, response_headers

CLAUDE_CODE = {
    "accept": "application/json",
    "anthropic-beta": "claude-code-20250219, interleaved-thinking-2025-05-14",
    "anthropic-dangerous-direct-browser-access": "true",
    "anthropic-version": "2023-06-01",
    "user-agent": "claude-cli/2.1.325 (external, sdk-cli)",
    "x-app": "cli",
    "x-claude-code-agent-id": "a1b2",
    "x-claude-code-session-id": "7f0c",
    "x-stainless-retry-count": "0",
    "idempotency-key": "stainless-python-retry-1",
}


def test_what_claude_code_says_to_the_vendor_arrives() -> None:
    """The names that the capture of 2.1.325 has, and the values as they came."""
    assert request_headers(CLAUDE_CODE) == tuple((name.encode(), value.encode()) for name, value in CLAUDE_CODE.items())


@pytest.mark.parametrize(
    "name",
    [
        *("authorization", "x-api-key", "x-clew-key", "cookie", "proxy-authorization", "x-goog-api-key"),
        *("connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "proxy-connection", "http2-settings"),
        *("host", "content-length", "content-type", "content-encoding", "accept-encoding", "expect", "origin", "referer"),
        *("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via", "anthropic_version", "x-sim-fault"),
    ],
)
def test_everything_else_stays_here(name: str) -> None:
    """Hop-by-hop, credentials, cookies, forwarding notes, and whatever nobody named."""
    assert request_headers({name: "x", "accept": "y"}) == ((b"accept", b"y"),)


def test_a_name_listed_in_connection_is_not_forwarded() -> None:
    """C10: and none of what is listed can be a credential that we would then not ask for."""
    headers = {"connection": "close, Anthropic-Beta ,x-api-key", "anthropic-beta": "b", "anthropic-version": "v"}
    assert request_headers(headers) == ((b"anthropic-version", b"v"),)


def test_a_value_keeps_its_bytes() -> None:
    assert request_headers({"user-agent": "caf\xe9"}) == ((b"user-agent", b"caf\xe9"),)


def test_the_vendors_notes_reach_the_client() -> None:
    headers = (
        (b"Date", b"now"),
        (b"Request-Id", b"req_1"),
        (b"retry-after", b"2"),
        (b"Retry-After-Ms", b"1500"),
        (b"x-should-retry", b"true"),
        (b"anthropic-ratelimit-tokens-remaining", b"9"),
        (b"anthropic-organization-id", b"org"),
        (b"Set-Cookie", b"a=b"),
        (b"Content-Type", b"text/event-stream"),
        (b"Transfer-Encoding", b"chunked"),
        (b"Content-Encoding", b"gzip"),
        (b"Server", b"x"),
        (b"Access-Control-Allow-Origin", b"*"),
        (b"x-clew-backend", b"forged"),
    )
    assert response_headers(headers) == [
        ("request-id", "req_1"),
        ("retry-after", "2"),
        ("retry-after-ms", "1500"),
        ("x-should-retry", "true"),
        ("anthropic-ratelimit-tokens-remaining", "9"),
        ("anthropic-organization-id", "org"),
    ]


def test_a_backends_one_hop_names_and_line_breaks_stay_out() -> None:
    headers = (
        (b"Connection", b"x-should-retry"),
        (b"x-should-retry", b"1"),
        (b"request-id", b"a\rb"),
        (b"retry-after", b"3"),
    )
    assert response_headers(headers) == [("retry-after", "3")]

"""JSON of every bad kind, through the real gateway to a simulator; and headers that ask to be dropped."""

import json
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from clew.testing import Simulator
from tests.gateway.served import KEY, Served, backend, worked
from tests.manifest import proves

pytestmark = pytest.mark.slow

FIELDS = b'"model":"claude-opus-5-5","max_tokens":100'
TALK = b'"messages":[{"role":"user","content":"Hello"}]'
GOOD = b"{%b,%b}" % (FIELDS, TALK)
LONG = 2_000_000

BAD: dict[str, bytes] = {
    "nothing": b"",
    "white space": b"  \n",
    "no object": b"[]",
    "a number": b"1",
    "cut off": GOOD[:-2],
    "two documents": GOOD + GOOD,
    "a comment": b"{%b, /* x */ %b}" % (FIELDS, TALK),
    "a trailing comma": b"{%b,%b,}" % (FIELDS, TALK),
    "NaN": b'{%b,"x":NaN,%b}' % (FIELDS, TALK),
    "Infinity": b'{%b,"x":-Infinity,%b}' % (FIELDS, TALK),
    "ten thousand levels": b'{%b,"x":%b%b,%b}' % (FIELDS, b"[" * 10_000, b"]" * 10_000, TALK),
    "levels without an end": b'{%b,"x":%b' % (FIELDS, b'{"a":' * 100_000),
    "a BOM": b"\xef\xbb\xbf" + GOOD,
    "UTF-16": GOOD.decode().encode("utf-16"),
    "not UTF-8": GOOD.replace(b"Hello", b"\xff\xfe"),
    "a control character": GOOD.replace(b"Hello", b"a\x01b"),
    "a bad escape": GOOD.replace(b"Hello", b"\\x41"),
    "a lone surrogate": GOOD.replace(b"Hello", b"\\ud800"),
    "messages that are none": b'{%b,"messages":{}}' % FIELDS,
    "a million messages": b'{%b,"messages":[%b]}' % (FIELDS, b",".join([b'{"role":"user","content":"x"}'] * 1_000_000)),
    "a million commas": b'{%b,"messages":[%b]}' % (FIELDS, b"," * LONG),
}

ODD: dict[str, bytes] = {
    "a large number": b'{%b,"metadata":{"user_id":"a"},"temperature":1e0,%b}' % (FIELDS, TALK),
    "a doubled key that nobody edits": b'{%b,"metadata":{"user_id":"a","user_id":"b"},%b}' % (FIELDS, TALK),
    "a string of ten megabytes": GOOD.replace(b"Hello", b"x" * 10_000_000),
}


@pytest.fixture(scope="module")
def vendor() -> Iterator[Simulator]:
    with Simulator(stance={"without_grades": ["C", "D"]}) as simulator:
        yield simulator


@pytest.fixture(scope="module")
def gateway(vendor: Simulator) -> Iterator[Served]:
    config = 'active = "claude"\n[gateway]\nadmin_port = 0\n' + backend("claude", vendor.url, 'realm = "anthropic"\n')
    with ExitStack() as stack:
        yield stack.enter_context(Served(config, "--no-admin"))


def send(gateway: Served, body: bytes, *headers: str) -> tuple[int, dict[str, str], bytes]:
    lines = [
        "POST /v1/messages HTTP/1.1",
        f"Host: 127.0.0.1:{gateway.port}",
        "content-type: application/json",
        "anthropic-version: 2023-06-01",
        f"x-api-key: {KEY}",
        f"content-length: {len(body)}",
        *headers,
    ]
    return gateway.peer().send("\r\n".join([*lines, "", ""]).encode() + body).response()


@proves("fault:C7")
@pytest.mark.parametrize("name", BAD)
def test_what_is_no_request_is_refused_soon_and_goes_nowhere(gateway: Served, vendor: Simulator, name: str) -> None:
    before = len(vendor.journal())
    began = worked(gateway.process.pid)
    status, _, body = send(gateway, BAD[name])
    assert worked(gateway.process.pid) - began < 10, "a second of work"
    assert (status, json.loads(body)["error"]["type"]) in [(400, "invalid_request_error"), (413, "request_too_large")]
    assert len(vendor.journal()) == before


@proves("fault:C7")
@pytest.mark.parametrize("name", ODD)
def test_what_is_only_odd_goes_to_the_vendor_as_it_came(gateway: Served, vendor: Simulator, name: str) -> None:
    """The vendor's to judge, not ours."""
    send(gateway, ODD[name])
    assert vendor.body(vendor.journal()[-1]["n"]) == ODD[name]


@proves("fault:C10")
def test_headers_that_ask_to_be_dropped_are(gateway: Served, vendor: Simulator) -> None:
    """And the key that is asked to be dropped still opens the door."""
    listed = "connection: x-api-key, anthropic-beta, X-App"
    status, _, _ = send(gateway, GOOD, listed, "anthropic-beta: token-counting-2024-11-01", "x-app: cli", "user-agent: me")
    assert status == 200
    heard = {name.lower() for name, _ in _headers(vendor)}
    assert "user-agent" in heard
    assert {"anthropic-beta", "x-app", "connection", "x-clew-key"} & heard == set()


def _headers(vendor: Simulator) -> list[tuple[str, str]]:
    entry = vendor.journal()[-1]
    headers = entry["headers"]
    return list(headers.items()) if isinstance(headers, dict) else [tuple(pair) for pair in headers]

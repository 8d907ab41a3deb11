"""Whatever a client can send gets a clear answer within a second, and the simulator lives on."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from clew.testing import Simulator
from tests.manifest import proves
from tests.simulator.wire import call


@pytest.fixture(scope="module")
def sim() -> Iterator[Simulator]:
    with Simulator() as simulator:
        yield simulator


def body(**fields: Any) -> bytes:
    request = {"model": "claude-opus-5-5", "max_tokens": 50, "messages": [{"role": "user", "content": "hi"}], **fields}
    return json.dumps(request).encode()


MESSAGE = b'{"role":"user","content":"x"}'
BAD = {
    "empty": b"",
    "no-json": b"hello",
    "cut": b'{"model": "claude-opus-5-5"',
    "array": b"[]",
    "null": b"null",
    "bom": b"\xef\xbb\xbf" + body(),
    "utf-16": body().decode().encode("utf-16"),
    "not-utf-8": b'{"model":"\xff\xfe"}',
    "nan": body().replace(b"50", b"NaN"),
    "infinity": body().replace(b"50", b"1e400"),
    "deep": b'{"model":"claude-opus-5-5","max_tokens":50,"messages":' + b"[" * 10_000 + b"]" * 10_000 + b"}",
    "deep-inside": body(metadata={"user_id": "x"}).replace(b'"x"', b'{"a":' * 10_000 + b"1" + b"}" * 10_000),
    "lone-surrogate": body().replace(b'"hi"', b'"\\ud800"'),
    "million-messages": b'{"model":"claude-opus-5-5","max_tokens":50,"messages":['
    + b",".join([MESSAGE] * 1_000_000)
    + b"]}",
    "ten-megabyte-string": body(surprise="x" * 10_000_000),
    "numbers-for-texts": body(model=5, messages={"role": 3}),
    "content-of-wrong-type": body(messages=[{"role": "user", "content": 5}, 7, None]),
}


SECONDS = {"million-messages": 40.0}


@proves("fault:C7")
@pytest.mark.parametrize("path", ["/v1/messages", "/v1/messages/count_tokens"])
@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow if name in SECONDS else ()) for name in BAD])
def test_bad_input_is_refused_clearly_and_soon(sim: Simulator, name: str, path: str) -> None:
    """C7: a 400 with words, in less than a second of CPU time (client and simulator share this process)."""
    begun = time.process_time()
    reply = call(sim.url, "POST", path, BAD[name])
    assert time.process_time() - begun < SECONDS.get(name, 10.0)
    assert reply.status == 400, reply.body[:300]
    assert reply.json["error"]["type"] == "invalid_request_error"
    assert reply.json["error"]["message"]
    assert reply.headers["x-sim-rule"]


def test_big_integers_and_duplicate_keys_do_not_hurt(sim: Simulator) -> None:
    big = body(tools=[{"name": "t", "input_schema": {"type": "object", "default": 123}}]).replace(b"123", b"9" * 400)
    twice = body().replace(b'"max_tokens": 50', b'"max_tokens": 50, "max_tokens": 50')
    sim.reset()
    for sent in (big, twice):
        assert call(sim.url, "POST", "/v1/messages", sent).status in (200, 400)
    assert call(sim.url, "POST", "/v1/messages", body()).status == 200
    assert sim.journal()[-1]["ended"] == "whole"

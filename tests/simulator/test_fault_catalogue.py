"""Each upstream fault of the catalogue (U3–U19) as a simulator makes it, with the words that a test asks for it with."""

import gzip
import http.client
import json
import socket
import zlib
from typing import Any
from urllib.parse import urlsplit

import pytest

from clew.simulator.fault_bodies import packed
from clew.simulator.fault_effects import apply_faults
from clew.simulator.faults import FaultQueue, FaultSpec, parse
from clew.simulator.steps import End, Repeat, Send, SendHead, Steps, body_of
from clew.testing import Simulator
from tests.simulator.wire import HEADERS, ask, call, read_events
from tests.waiting import until

pytestmark = pytest.mark.slow
BODY = (
    b'{"model":"m","max_tokens":99,"stream":true,"thinking":{"type":"adaptive"},'
    b'"messages":[{"role":"user","content":"[[scenario:thinking]]"}]}'
)


def told(sim: Simulator, fault: str = "") -> bytes:
    """The body of one streamed answer, from a simulator that has forgotten everything else."""
    sim.reset()
    if fault:
        sim.fault(fault)
    return call(sim.url, "POST", "/v1/messages", BODY).body


def types(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events]


# Places.


@pytest.mark.parametrize(
    ("place", "last"),
    [
        ("content=0", "message_start"),
        ("content=1", "content_block_start"),
        ("content=2", "content_block_delta"),
        ("before=message_delta", "content_block_stop"),
        ("before=message_stop", "message_delta"),
        ("before=nothing", "message_stop"),
    ],
)
def test_a_place_is_a_number_of_content_events_or_an_events_name(sim: Simulator, place: str, last: str) -> None:
    """U10, U12: pings do not count as content."""
    full = told(sim)
    cut = told(sim, f"cut how=end {place}")
    assert full.startswith(cut)
    assert types(read_events(cut))[-1] == last


def test_the_end_can_be_missing_with_the_connection(sim: Simulator) -> None:
    """U12: everything was said but the end."""
    full = read_events(told(sim))
    with pytest.raises(http.client.IncompleteRead) as caught:
        told(sim, "cut before=message_stop")
    assert read_events(caught.value.partial) == full[:-1]


# Statuses by key.


def test_one_key_of_two_is_refused_from_now_on(sim: Simulator) -> None:
    """U6."""
    sim.fault("status 402", times=None, key="sim-a-1")

    def status(key: str) -> int:
        return ask(sim.url, headers={"x-api-key": key}).status

    assert [status(key) for key in ("sim-a-1", "sim-b-1", "sim-a-1", "sim-a-2")] == [402, 200, 402, 200]
    assert len({entry["credential"] for entry in sim.journal()}) == 3


def test_the_queue_keeps_each_key_its_own() -> None:
    queue = FaultQueue()
    broke, busy, gone = (FaultSpec(kind="status", status=status) for status in (402, 429, 401))
    queue.put(broke, key="a", times=2)
    queue.put(busy)
    queue.put(gone, path="/v1/models", times=None)
    queue.put(gone, times=0)
    assert queue.waiting() == {"/v1/messages": 3, "/v1/models": None}
    assert [queue.take("/v1/messages", key) for key in ("b", "a", "b", "a", "a")] == [busy, broke, None, broke, None]
    assert [queue.take("/v1/models", "a") for _ in range(3)] == [gone] * 3
    assert queue.waiting() == {"/v1/models": None}


def test_the_control_route_takes_a_key_and_no_number(sim: Simulator) -> None:
    order = {"fault": "status 403", "times": None, "key": "sim-a-1"}
    put = call(sim.url, "POST", "/_sim/fault", json.dumps(order).encode(), {})
    assert put.json == {"ok": True, "waiting": {"/v1/messages": None}}
    assert ask(sim.url, headers={"authorization": "Bearer sim-a-1", "x-api-key": ""}).status == 403


def test_a_rate_limit_says_when_to_come_again(sim: Simulator) -> None:
    """U3."""
    sim.fault("status 429 retry-after=2 retry-after-ms=1500")
    reply = ask(sim.url)
    assert (reply.status, reply.headers["retry-after"], reply.headers["retry-after-ms"]) == (429, "2", "1500")


def test_a_success_can_be_empty_or_a_page(sim: Simulator) -> None:
    """U18."""
    sim.fault("status 200 body=")
    sim.fault("status 200 content-type=text/html body='<h1>Login</h1>'")
    empty, page = ask(sim.url), ask(sim.url)
    assert (empty.status, empty.body) == (200, b"")
    assert (page.status, page.headers["content-type"], page.body) == (200, "text/html", b"<h1>Login</h1>")


# What is said.


def test_a_value_breaks_off(sim: Simulator) -> None:
    """U14."""
    full, spoilt = told(sim).split(b"\n\n"), told(sim, "bad-json before=content_block_delta").split(b"\n\n")
    (place,) = [number for number, part in enumerate(full) if spoilt[number] != part]
    assert full[place].startswith(b"event: content_block_delta")
    with pytest.raises(json.JSONDecodeError):
        json.loads(spoilt[place].partition(b"data: ")[2])


def test_an_event_can_be_put_in(sim: Simulator) -> None:
    """U14: types that nobody knows, and known ones where they may not be."""
    full = read_events(told(sim))
    assert read_events(told(sim, "event odd after=1")) == [full[0], {"type": "odd"}, *full[1:]]
    early = """event content_block_delta data='{"type":"content_block_delta","index":0}' after=0"""
    assert read_events(told(sim, early)) == [{"type": "content_block_delta", "index": 0}, *full]


def test_blocks_can_skip_a_number(sim: Simulator) -> None:
    """U14."""

    def numbers(body: bytes) -> list[int]:
        return [event["index"] for event in read_events(body) if event["type"] == "content_block_start"]

    assert numbers(told(sim)) == [0, 1]
    assert numbers(told(sim, "index-gap")) == [0, 2]
    assert numbers(told(sim, "index-gap 3 block=0")) == [3, 4]


def test_the_usage_can_be_missing(sim: Simulator) -> None:
    """U14."""
    full, spoilt = read_events(told(sim)), read_events(told(sim, "no-usage"))
    del full[0]["message"]["usage"], full[-2]["usage"]
    assert spoilt == full
    sim.fault("no-usage")
    assert "usage" not in ask(sim.url).json


# Time and pieces.


def open_stream(sim: Simulator, fault: str) -> socket.socket:
    """A client that has asked, and has read nothing."""
    head = "".join(f"{name}: {value}\r\n" for name, value in {**HEADERS, "x-sim-fault": fault}.items())
    peer = socket.create_connection(("127.0.0.1", urlsplit(sim.url).port or 0), timeout=120)
    peer.sendall(f"POST /v1/messages HTTP/1.1\r\nHost: x\r\n{head}Content-Length: {len(BODY)}\r\n\r\n".encode() + BODY)
    return peer


def read_until(peer: socket.socket, enough: bytes, times: int = 1) -> bytes:
    got = b""
    while got.count(enough) < times:
        part = peer.recv(65536)
        assert part, "the stream ended"
        got += part
    return got


def test_pings_go_on_for_ever_and_nothing_else_comes(sim: Simulator) -> None:
    """U9."""
    with open_stream(sim, "pings every=0.001") as peer:
        got = read_until(peer, b"event: ping", times=50)
    assert got.count(b"event: message_start") == 1
    assert b"content_block" not in got
    until(lambda: sim.journal()[0]["ended"] == "client left")


def test_after_the_head_there_can_be_silence(sim: Simulator) -> None:
    """U8."""
    with open_stream(sim, "stall 60") as peer:
        assert read_until(peer, b"\r\n\r\n").startswith(b"HTTP/1.1 200")
        peer.settimeout(0.1)
        with pytest.raises(TimeoutError):
            peer.recv(1)


def test_a_stream_can_come_in_one_chunk(sim: Simulator) -> None:
    """U13."""
    full = told(sim)
    sim.reset()
    with open_stream(sim, "lump") as peer:
        got = read_until(peer, b"0\r\n\r\n")
    assert got.partition(b"\r\n\r\n")[2] == b"%x\r\n%b\r\n0\r\n\r\n" % (len(full), full)


def test_a_connection_is_closed_some_time_after_a_whole_answer(sim: Simulator) -> None:
    """U19: a request that comes in between has no answer, not a byte of one."""
    connection = http.client.HTTPConnection(urlsplit(sim.url).netloc, timeout=120)
    connection.request("POST", "/v1/messages", BODY, {**HEADERS, "x-sim-fault": "hang-up 0.6"})
    connection.getresponse().read()
    connection.request("POST", "/v1/messages", BODY, HEADERS)
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        connection.getresponse()
    connection.close()
    until(lambda: [entry["ended"] for entry in sim.journal()] == ["whole"])


# Too much.

STREAM: Steps = (
    SendHead(200, ()),
    Send(b"event: message_start\n\n", "message_start"),
    Send(b"event: content_block_start\n\n", "content_block_start"),
    Send(b'data: {"delta":{"text":"Hm"}}\n\n', "content_block_delta"),
    Send(b"event: message_stop\n\n", "message_stop"),
    End(),
)


def flooded(fault: str) -> bytes:
    """The body, with what is repeated written out."""
    steps = apply_faults([parse(fault)], STREAM, "")
    return body_of(Send(step.data * (step.times or 0)) if isinstance(step, Repeat) else step for step in steps)


def test_one_event_can_have_any_size() -> None:
    """U15."""
    full = body_of(STREAM)
    swollen = flooded("flood 200000")
    assert swollen == full.replace(
        b"event: message_stop", b'data: {"delta":{"text":"Hm' + b"a" * 200_000 + b'"}}\n\nevent: message_stop'
    )
    padded = flooded("flood 70000 after=0").partition(b"\n\n")[0]
    assert json.loads(padded.partition(b"data: ")[2]) == {"type": "ping", "padding": {"text": "a" * 70_000}}


def test_a_line_need_not_end_and_events_need_not_either() -> None:
    """U15."""
    assert flooded("flood 70000 shape=line").count(b"a" * 70_000) == 1
    assert flooded("flood 1000 shape=events").count(b'{"delta":{"text":"Hm"}}') == 1001
    endless = apply_faults([parse("flood 0 shape=line")], STREAM, "")
    assert [step.times for step in endless if isinstance(step, Repeat)] == [None]


def test_a_flood_over_the_wire_ends_when_the_reader_goes(sim: Simulator) -> None:
    """U15: a bound is hit, the connection is closed."""
    with open_stream(sim, "flood 0 shape=line") as peer:
        got = sum(len(peer.recv(1 << 16)) for _ in range(200))
    assert got > 1 << 20
    until(lambda: sim.journal()[0]["ended"] == "client left")


def test_a_small_body_can_unpack_to_a_large_one(sim: Simulator) -> None:
    """U16."""
    sim.fault("bomb 20000000 coding=gzip")
    reply = ask(sim.url, stream=True)
    assert (reply.status, reply.headers["content-encoding"]) == (200, "gzip")
    assert len(reply.body) < 30_000
    assert gzip.decompress(reply.body) == bytes(20_000_000)


def test_a_gigabyte_of_gzip_is_made_in_a_moment() -> None:
    """U16: 1 MB becomes 1 GB."""
    bomb = packed("gzip", 1 << 30)
    assert len(bomb) < 1 << 21
    assert bomb[-4:] == (1 << 30).to_bytes(4, "little")
    assert zlib.decompressobj(31).decompress(bomb, 1 << 20) == bytes(1 << 20)


def test_gzip_members_can_be_many_and_empty() -> None:
    """U16."""
    assert gzip.decompress(packed("members", 1000)) == b""
    assert packed("members", 1000).count(b"\x1f\x8b\x08") == 1000


def test_zstd_says_the_same_byte_many_times() -> None:
    """U16: read by hand, as RFC 8878 §3.1.1.2 has it: last block, type RLE, size."""
    bomb = packed("zstd", 300_000)
    assert bomb[:6] == bytes.fromhex("28b52ffd0038")
    heads = [int.from_bytes(bomb[place : place + 3], "little") for place in range(6, len(bomb), 4)]
    assert [(head & 1, head >> 1 & 3, head >> 3) for head in heads] == [(0, 1, 131072), (0, 1, 131072), (1, 1, 37856)]

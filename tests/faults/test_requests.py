"""Requests that are too large, too deep, half closed, pipelined, or ask for headers to be dropped; and clients that read slowly."""

from __future__ import annotations

import json
import socket
import time
from typing import Any

import pytest

from clew.model.change import MOST_CHANGES, count_of
from clew.store.text import exchange_details
from clew.testing import Simulator
from clew.testing.plugin import StartSimulator
from tests.build import assistant, tool_use, user
from tests.clock import Clock
from tests.counts import examples
from tests.engine.gate import KEY, claude
from tests.faults.conftest import Calling, Gating
from tests.faults.memory import grows_by_less_than, settles
from tests.faults.scene import MODEL, PATIENCE, asked, endings, impatient, kept, outcomes, question, story
from tests.manifest import proves
from tests.numbers import note
from tests.waiting import until

pytestmark = pytest.mark.slow

MEGABYTE = 1024 * 1024


def body(fields: bytes = b"", content: bytes = b'"hi"', max_tokens: bytes = b"100") -> bytes:
    """A request, spelt by hand; `fields` go in front."""
    message = b'{"role":"user","content":' + content + b"}"
    return b'{%b"model":"%b","max_tokens":%b,"messages":[%b]}' % (fields, MODEL.encode(), max_tokens, message)


def deep(opening: bytes, closing: bytes) -> bytes:
    return opening * 10_000 + b"1" + closing * 10_000


ONE = b'{"role":"user","content":"hi"}'


def crowd(messages: int) -> bytes:
    return body().replace(ONE, b",".join([ONE] * messages))


REFUSED: dict[str, tuple[bytes, int, str]] = {
    "ten thousand arrays": (body(b'"x":' + deep(b"[", b"]") + b","), 413, "nested more than 128 levels deep"),
    "ten thousand objects": (body(b'"x":' + deep(b'{"a":', b"}") + b","), 413, "nested more than 128 levels deep"),
    "deep content": (body(content=deep(b"[", b"]")), 400, "messages.0.content.0"),
    "NaN": (body(b'"temperature":NaN,'), 400, "NaN is not a JSON value: line 1 column 16"),
    "NaN in a block": (body(content=b'[{"type":"text","text":"x","y":NaN}]'), 400, "NaN is not a JSON value"),
    "-Infinity": (body(b'"temperature":-Infinity,'), 400, "-Infinity is not a JSON value"),
    "1e400": (body(b'"temperature":1e400,'), 400, "out of range: 1e400"),
    "a limit of 1e400": (body(max_tokens=b"1e400"), 400, "out of range: 1e400"),
    "a lone surrogate": (body(content=b'"\\ud800"'), 400, "lone surrogate in string: line 1 column"),
    "a byte order mark": (b"\xef\xbb\xbf" + body(), 400, "BOM"),
    "UTF-16": (body().decode().encode("utf-16"), 400, "not valid UTF-8 (byte 0xff): line 1 column 1"),
    "no UTF-8": (body(content=b'"\xff"'), 400, "not valid UTF-8 (byte 0xff): line 1 column"),
    "a control character": (body(content=b'"\x01"'), 400, "invalid control character: line 1 column"),
    "more messages than the vendor takes": (crowd(150_000), 400, "150000 entries, more than"),
    "a million messages": (crowd(1_000_000), 413, "more than the 1000000 JSON values"),
    "nothing": (b"", 400, "empty document"),
    "null": (b"null", 400, "Expected `object`, got `null`"),
    "an array": (b"[]", 400, "Expected `object`, got `array`"),
    "something behind": (body() + b"x", 400, "extra data: line 1 column"),
    "two of them": (body() * 2, 400, "extra data: line 1 column"),
    "half of it": (body()[:-5], 400, "unexpected end of data"),
    "a model of five": (body().replace(MODEL.encode(), b"").replace(b'""', b"5", 1), 400, "model: Expected `str`"),
    "a model of a megabyte": (
        body().replace(MODEL.encode(), b"x" * MEGABYTE),
        400,
        "model: 1048576 characters, more than the 1000 allowed",
    ),
    "messages as an object": (b'{"model":"%b","max_tokens":1,"messages":{}}' % MODEL.encode(), 400, "messages: Expected"),
}


@proves("fault:C7")
@pytest.mark.parametrize("name", REFUSED)
def test_json_of_a_bad_kind_is_refused_with_its_place(gating: Gating, a: Simulator, name: str) -> None:
    """C7: 400 or 413, which says where; no backend is asked, and it takes no time."""
    raw, status, says = REFUSED[name]
    gate = gating(claude(a), **impatient())
    began = time.process_time()
    answer = gate.ask(raw)
    assert time.process_time() - began < 10
    assert (answer.status, asked(a)) == (status, [0])
    assert says in answer.json["error"]["message"]


@proves("fault:C7")
@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(body(b'"model":"another",'), id="a-key-twice"),
        pytest.param(body(b'"messages":[],'), id="messages-twice"),
        pytest.param(body(b'"x":123456789012345678901234567890,'), id="a-large-number"),
        pytest.param(body(b'"x":1e400,'), id="a-number-that-nobody-reads"),
        pytest.param(body(content=b'"\\u0000"'), id="a-nul"),
        pytest.param(body(content=b'"%b"' % (b"x" * 10_000_000)), id="ten-megabytes-in-a-string"),
        pytest.param(body(b'"unheard_of":{"a":[1.0e5,-0.0]},'), id="a-field-that-nobody-knows"),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_what_is_legal_and_odd_goes_on_byte_for_byte(gating: Gating, a: Simulator, raw: bytes, stream: bool) -> None:
    """C7, 4.6: it is the backend's to judge, once; its yes or no is the client's, and is kept."""
    gate = gating(claude(a), **impatient())
    given = raw[:-1] + b',"stream":true}' if stream else raw
    answer = gate.ask(given)
    assert (asked(a), a.body(a.journal()[0]["n"])) == ([1], given)
    accepted = a.journal()[0]["verdict"]["ok"]
    assert (answer.status, story(answer)) == ((200, "whole") if accepted else (400, "error"))
    assert outcomes(gate) == ["whole" if accepted else "refused"]


@proves("fault:C5")
@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_a_body_over_the_limit_is_refused_and_not_kept(gating: Gating, a: Simulator, calling: Calling, framing: str) -> None:
    """C5: 413 in the vendor's shape, as soon as it is known; memory is flat."""
    gate = gating(claude(a), **impatient())
    client = calling(gate)
    head = f"POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\nx-api-key: {KEY}\r\ncontent-type: application/json\r\n"
    chunk = b"%x\r\n" % MEGABYTE + b"x" * MEGABYTE + b"\r\n"
    with grows_by_less_than(80):
        if framing == "length":
            client.send(f"{head}content-length: {32 * MEGABYTE + 1}\r\n\r\n".encode())
        else:
            client.send(f"{head}transfer-encoding: chunked\r\n\r\n".encode())
            for _ in range(33):
                client.send(chunk)
        answer = client.answer()
    assert (answer.status, answer.json["error"]["type"], asked(a)) == (413, "request_too_large", [0])


@proves("fault:C6")
def test_a_packed_request_is_refused(gating: Gating, a: Simulator) -> None:
    """C6: 415, whatever is in it."""
    gate = gating(claude(a), **impatient())
    assert gate.ask(question(), headers={"content-encoding": "gzip"}).status == 415
    assert asked(a) == [0]


@proves("fault:C2")
@pytest.mark.parametrize("fault", ["slow-start 0.5", "stall 0.5 content=3"])
@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_closes_only_its_half_gets_its_answer(
    gating: Gating, a: Simulator, calling: Calling, fault: str, stream: bool
) -> None:
    """C2: it may be looked for, but it is not taken for gone."""
    gate = gating(claude(a), **impatient())
    a.fault(fault)
    client = calling(gate).asks(question(stream=stream))
    client.socket.shutdown(socket.SHUT_WR)
    raw = client.read_to_end()
    answers = raw.split(b"HTTP/1.1 ")
    assert {each[:3] for each in answers[1:-1]} <= {b"100"}, "interim answers, which everybody skips"
    assert answers[-1].startswith(b"200 OK")
    assert (b"message_stop" if stream else b'"stop_reason":"end_turn"') in answers[-1]
    assert (endings(a), outcomes(gate)) == (["whole"], ["whole"])


@proves("fault:C9")
def test_pipelined_questions_are_answered_in_order(gating: Gating, a: Simulator, calling: Calling) -> None:
    """C9: though the first takes longest."""
    gate = gating(claude(a), **impatient())
    a.fault("slow-start 0.4")
    client = calling(gate)
    for n in range(3):
        client.asks(question(f"Number {n}", stream=n == 1))
    answers = [client.answer() for _ in range(3)]
    assert [(answer.status, story(answer)) for answer in answers] == [(200, "whole")] * 3
    assert [f"Number {n}".encode() in answer.raw for n, answer in enumerate(answers)] == [True] * 3


@proves("fault:C10")
def test_headers_meant_for_one_hop_end_here(gating: Gating, a: Simulator, calling: Calling) -> None:
    """C10: those that `Connection` lists, those of every proxy, and whatever is on no list; the key is looked at all the same."""
    gate = gating(claude(a), **impatient())
    more = (
        b"connection: keep-alive, x-app, x-api-key, anthropic-beta\r\nx-app: cli\r\nanthropic-beta: some-beta\r\n"
        b"anthropic-dangerous-direct-browser-access: true\r\nte: trailers\r\ntrailer: x\r\ncookie: a=b\r\nforwarded: for=1\r\n"
        b"x-forwarded-for: 1.2.3.4\r\nproxy-authorization: Basic x\r\nx-real-ip: 1.2.3.4\r\nuser-agent: me\r\nx-secret: s\r\n"
    )
    assert calling(gate).asks(question(stream=False), more=more).answer().status == 200
    names = {name for name, _ in a.journal()[0]["headers"]}
    assert names == {
        *("host", "content-length", "content-type", "accept-encoding", "x-api-key", "anthropic-version", "user-agent"),
        "anthropic-dangerous-direct-browser-access",
    }
    assert calling(gate).asks(question(), key="wrong", more=b"connection: x-api-key\r\n").answer().status == 401
    assert asked(a) == [1]


# C3: clients that read slowly, or not at all.


@proves("fault:C3")
@pytest.mark.real_time
def test_a_client_that_does_not_read_stops_the_backend_and_nothing_else(
    clock: Clock, gating: Gating, a: Simulator, calling: Calling
) -> None:
    """C3: a stream without end waits for its reader; memory stays, and the backend is not to blame for the gap."""
    gate = gating(claude(a), **impatient(gap=10))
    a.fault("flood 0 shape=events")
    client = calling(gate, small=True).asks()
    until(a.journal)
    settles()
    with grows_by_less_than(8):
        clock.pass_time(15)
    assert story(gate.ask(question("Is anybody else served?"))) == "whole"
    assert (a.journal()[0]["ended"], a.journal()[1]["ended"]) == ("no", "whole")
    got = b""
    while len(got) < 4 * MEGABYTE:
        got += client.socket.recv(65536)
    assert b"event: error" not in got
    client.leaves()
    clock.pass_time(1)  # a server looks now and then whether its client is still there
    until(lambda: a.journal()[0]["ended"] == "client left")
    assert sorted(outcomes(gate, 2)) == ["cut", "whole"]


@proves("fault:C3")
def test_a_slow_reader_gets_everything(clock: Clock, gating: Gating, simulators: StartSimulator, calling: Calling) -> None:
    """C3: byte for byte what a fast one gets, however long it takes."""
    one, two = simulators(realm="a"), simulators(realm="a")
    gate = gating(claude(one, "one"), claude(two, "two"), **impatient(gap=10, ping=60))
    for simulator in (one, two):
        simulator.fault("flood 60000 shape=events")
    fast = gate.ask(question()).raw
    gate.use("two")
    client = calling(gate).asks()
    head = client.read_until(b"\r\n\r\n")
    clock.pass_time(15)  # longer than the gap may be, with more to come than the system keeps for us
    got = bytearray()
    while not got.endswith(b"0\r\n\r\n"):
        got += client.socket.recv(65536)
    assert head.startswith(b"HTTP/1.1 200")
    assert len(fast) > 7_000_000
    assert unchunked(bytes(got)) == fast
    assert outcomes(gate, 2) == ["whole", "whole"]


def unchunked(raw: bytes) -> bytes:
    whole, place = bytearray(), 0
    while size := int(raw[place : (line := raw.index(b"\r\n", place))], 16):
        whole += raw[line + 2 : line + 2 + size]
        place = line + 4 + size
    return bytes(whole)


@proves("fault:C3")
@pytest.mark.real_time
def test_many_that_do_not_read_take_a_bounded_share_each(
    clock: Clock, gating: Gating, a: Simulator, calling: Calling
) -> None:
    """C3, 3.7: what the system holds for a client, the same for the recording, and both sides' buffers; others are served."""
    crowd = examples(50, soak=400)
    gate = gating(claude(a), **impatient(gap=5))
    a.fault("flood 0 shape=events", times=crowd)
    with grows_by_less_than(crowd * 1.5 + 20):
        clients = [calling(gate, small=True).asks(question(f"{n}")) for n in range(crowd)]
        until(lambda: len(a.journal()) == crowd, crowd + PATIENCE)
        settles()
        assert story(gate.ask(question("Me too?"))) == "whole"
    assert {entry["ended"] for entry in a.journal()[:crowd]} == {"no"}
    for client in clients:
        client.leaves()
    clock.pass_time(1)
    until(lambda: gate.tasks() == 0)
    note("clients that did not read", crowd)


@proves("fault:C4")
def test_a_crowd_that_never_finishes_its_question_disturbs_nobody(
    clock: Clock, gating: Gating, a: Simulator, calling: Calling
) -> None:
    """C4: heads and bodies that stop half-way, and connections that ask nothing. No time passes, so nobody can have waited
    for them to be given up."""
    gate = gating(claude(a), **impatient())
    halves: list[Any] = [calling(gate).send(b"POST /v1/messages HTTP/1.1\r\nHost: 127") for _ in range(50)]
    halves += [calling(gate).send(b"POST / HTTP/1.1\r\ncontent-length: 9\r\n\r\n{") for _ in range(50)]
    halves += [calling(gate) for _ in range(100)]
    assert story(gate.ask(question())) == "whole"
    assert (len(halves), json.loads(gate.ask(question(stream=False)).raw)["type"]) == (200, "message")


def test_of_very_many_changes_a_bounded_number_is_kept_and_all_are_counted(gating: Gating, a: Simulator) -> None:
    gate, calls = gating(claude(a)), MOST_CHANGES + 500
    messages = [user("Go."), assistant(*(tool_use(f"toolu_{at}") for at in range(calls))), user("Well?")]
    assert gate.ask(question(messages=messages)).status == 200
    [exchange] = kept(gate)
    assert (len(exchange.changes), count_of(exchange.changes)) == (MOST_CHANGES + 1, calls)
    assert f"and {calls - 3} more: the call has no result (R26)" in "\n".join(exchange_details(exchange))

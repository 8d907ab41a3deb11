"""Clients of the other fronts that send too much, too cleverly, or half close; and one that does not read."""

from __future__ import annotations

import json
import socket

import pytest

from clew.settings.values import Retry
from clew.testing import Simulator
from tests.clock import Clock
from tests.engine.gate import KEY, claude
from tests.faults.conftest import Calling, Gating
from tests.faults.fronts import FRONTS, Front
from tests.faults.memory import grows_by_less_than, settles
from tests.faults.scene import asked, endings, impatient, outcomes
from tests.faults.test_attempts import dead, full_listener, is_busy
from tests.faults.test_fronts import asking
from tests.gateway.test_client_faults import CORPUS
from tests.manifest import proves
from tests.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("front", FRONTS.values(), ids=FRONTS)]

MEGABYTE = 1024 * 1024
TRICKS = ["CL and TE", "two CL", "xchunked", "obs-fold", "bare LF", "chunk extension of a megabyte", "ten thousand headers"]


def head(front: Front, port: int, *lines: bytes) -> bytes:
    first = [f"POST {front.path} HTTP/1.1", f"Host: 127.0.0.1:{port}", f"authorization: Bearer {KEY}"]
    return b"\r\n".join([line.encode() for line in first] + [b"content-type: application/json", *lines, b"", b""])


@proves("fault:U2")
def test_a_black_hole_is_left_at_the_connect_limit(front: Front, clock: Clock, gating: Gating, a: Simulator) -> None:
    """Alone, it is told as a 504 in the client's shape."""
    listener, fillers = full_listener()
    try:
        hole = dead(f"http://127.0.0.1:{listener.getsockname()[1]}")
        limits = impatient(connect=2.0, retry=Retry(retries=0))
        gate = gating(hole, claude(a), failover=("claude",), **limits)
        asks = asking(front, gate)
        until(lambda: is_busy(gate) and clock.is_due_in(2))  # it dials: what a history points at was looked up in a thread
        clock.pass_time(2)
        assert front.story(asks.result()) == "whole"
        lonely = gating(hole, **limits, store=False)
        asks = asking(front, lonely)
        until(lambda: is_busy(lonely) and clock.is_due_in(2))
        clock.pass_time(2)
        assert (asks.result().status, front.story(asks.result())) == (504, "error")
    finally:
        for plug in (listener, *fillers):
            plug.close()


@proves("fault:C2")
@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_closes_only_its_half_gets_its_answer(
    front: Front, gating: Gating, a: Simulator, calling: Calling, stream: bool
) -> None:
    gate = gating(claude(a), **impatient())
    client = calling(gate).asks(front.question(stream=stream), path=front.path)
    client.socket.shutdown(socket.SHUT_WR)
    answer = client.read_to_end().rpartition(b"HTTP/1.1 ")[2]
    assert answer.startswith(b"200 OK")
    assert (endings(a), outcomes(gate)) == (["whole"], ["whole"])


@proves("fault:C3")
@pytest.mark.real_time
def test_a_client_that_does_not_read_stops_its_backend_and_nobody_else(
    front: Front, clock: Clock, gating: Gating, a: Simulator, calling: Calling
) -> None:
    gate = gating(claude(a), **impatient(gap=10))
    a.fault("flood 0 shape=events")
    question = front.question(
        "Why? [[scenario:text]]"
    )  # text: thinking may be hidden from a client, and then fills no socket
    client = calling(gate, small=True).asks(question, path=front.path)
    until(a.journal)
    settles()
    with grows_by_less_than(8):
        clock.pass_time(15)
    assert front.story(front.ask(gate)) == "whole"
    client.leaves()
    clock.pass_time(1)
    until(lambda: a.journal()[0]["ended"] == "client left")


@proves("fault:C4")
def test_a_body_in_drops_is_given_up_and_holds_nobody_up(
    front: Front, clock: Clock, gating: Gating, a: Simulator, calling: Calling
) -> None:
    gate = gating(claude(a), **impatient())
    slow = [calling(gate) for _ in range(5)]
    for client in slow:
        client.send(head(front, client.port, b"content-length: 99") + b"{")
    assert front.story(front.ask(gate)) == "whole"
    clock.pass_time(120)
    answers = [client.answer() for client in slow]
    assert [(answer.status, front.story(answer)) for answer in answers] == [(408, "error")] * 5
    assert asked(a) == [1]


@proves("fault:C5")
@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_a_body_over_the_limit_is_refused_in_the_clients_shape(
    front: Front, gating: Gating, a: Simulator, calling: Calling, framing: str
) -> None:
    gate = gating(claude(a), **impatient())
    client = calling(gate)
    chunk = b"%x\r\n" % MEGABYTE + b"x" * MEGABYTE + b"\r\n"
    with grows_by_less_than(80):
        if framing == "length":
            client.send(head(front, client.port, b"content-length: %d" % (32 * MEGABYTE + 1)))
        else:
            client.send(head(front, client.port, b"transfer-encoding: chunked"))
            for _ in range(33):
                client.send(chunk)
        answer = client.answer()
    assert (answer.status, front.story(answer), asked(a)) == (413, "error", [0])


@proves("fault:C6")
def test_a_packed_request_is_refused(front: Front, gating: Gating, a: Simulator, calling: Calling) -> None:
    gate = gating(claude(a), **impatient())
    client = calling(gate)
    client.send(head(front, client.port, b"content-encoding: gzip", b"content-length: 2") + b"{}")
    answer = client.answer()
    assert (answer.status, front.story(answer), asked(a)) == (415, "error", [0])


@proves("fault:C8")
@pytest.mark.parametrize("trick", TRICKS)
def test_what_can_be_read_in_two_ways_is_refused_and_nothing_behind_it_is_heard(
    front: Front, gating: Gating, a: Simulator, calling: Calling, trick: str
) -> None:
    gate = gating(claude(a), **impatient())
    lines, body = CORPUS[trick]
    client = calling(gate)
    smuggled = head(front, client.port, b"content-length: 2") + b"{}"
    try:
        client.send(head(front, client.port, lines) + body + smuggled)
        status = client.answer().status
        assert client.read_to_end() == b""
    except (ConnectionResetError, BrokenPipeError):
        status = 400  # it was cut while we were still sending
    assert (status in (400, 413, 417, 431), asked(a)) == (True, [0])


@proves("fault:C9")
def test_pipelined_questions_are_answered_in_order(front: Front, gating: Gating, a: Simulator, calling: Calling) -> None:
    gate = gating(claude(a), **impatient())
    a.fault("slow-start 0.4")
    client = calling(gate)
    for number in range(3):
        client.asks(front.question(f"Number {number}", stream=number == 1), path=front.path)
    answers = [client.answer() for _ in range(3)]
    assert [front.story(answer) for answer in answers] == ["whole"] * 3
    assert [f"Number {number}".encode() in answer.raw for number, answer in enumerate(answers)] == [True] * 3


@proves("fault:C10")
def test_headers_meant_for_one_hop_end_here_and_the_key_is_looked_at(
    front: Front, gating: Gating, a: Simulator, calling: Calling
) -> None:
    gate = gating(claude(a), **impatient())
    more = (b"connection: authorization, x-app", b"x-app: cli", b"cookie: a=b", b"openai-beta: x", b"x-secret: s")
    body = json.dumps(front.question(stream=False)).encode()
    client = calling(gate)
    client.send(head(front, client.port, *more, b"content-length: %d" % len(body)) + body)
    answer = client.answer()
    assert answer.status == 200
    names = {name for name, _ in a.journal()[0]["headers"]}
    assert not names & {"x-app", "cookie", "openai-beta", "x-secret", "authorization"}
    wrong = calling(gate).asks(front.question(), path=front.path, key="wrong", more=b"connection: authorization\r\n")
    assert (wrong.answer().status, asked(a)) == (401, [1])

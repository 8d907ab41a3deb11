"""Backends that fall silent: before the head, before the content, in the middle; and what a client hears meanwhile."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from clew.settings.values import Retry
from clew.testing import Simulator
from clew.testing.plugin import StartSimulator
from clew.wire.sse import PING
from tests.engine.gate import Answer, claude
from tests.engine.talk import Direct
from tests.faults.conftest import Calling, Gating
from tests.faults.scene import SOON, asked, endings, impatient, kept, question, story
from tests.manifest import proves

pytestmark = pytest.mark.slow

ONCE = Retry(retries=0)


def pings_before_start(answer: Answer) -> int:
    return answer.kinds.index("message_start")


@proves("fault:U8")
def test_a_quick_answer_has_nothing_added(gating: Gating, simulators: StartSimulator) -> None:
    """Silence is not filled before it is there: byte for byte what the backend said."""
    gate = gating(claude(simulators(realm="a")), **impatient(ping=5.0))
    assert gate.ask(question()).raw == Direct(simulators(realm="a")).ask(question()).raw


@proves("fault:U8")
def test_nothing_goes_out_until_the_wait_is_too_long_and_then_a_200_and_pings(
    gating: Gating, calling: Calling, a: Simulator
) -> None:
    """A failover must stay possible, and a client that waits must not give up."""
    gate = gating(claude(a), **impatient(ping=1.5))
    a.fault("slow-start 60")
    client = calling(gate).asks()
    client.socket.settimeout(0.4)
    with pytest.raises(TimeoutError):
        client.socket.recv(1)
    client.socket.settimeout(20)
    began = time.monotonic()
    head = client.read_until(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"text/event-stream" in head
    for _ in range(2):
        assert client.read_until(PING).endswith(PING)
    assert time.monotonic() - began > 0.9, "one by one"


@proves("fault:U8")
@pytest.mark.parametrize("fault", ["slow-start 60", "stall 60", "stall 60 after=1"])
@pytest.mark.parametrize("ping", [0.2, 15.0])
def test_a_backend_that_falls_silent_before_content_is_left_for_the_next(
    gating: Gating, a: Simulator, b: Simulator, fault: str, ping: float
) -> None:
    """U8: before the head, after it, after the start of the message. One clean stream, with pings in front at most."""
    gate = gating(
        claude(a),
        claude(b, "spare"),
        failover=("spare",),
        **impatient(ping=ping, first_byte=1.2, gap=1.2, retry=ONCE),
    )
    a.fault(fault)
    answer = gate.ask(question())
    assert (answer.status, story(answer)) == (200, "whole")
    kinds = answer.kinds
    assert kinds.count("message_start") == 1
    assert set(kinds[: pings_before_start(answer)]) <= {"ping"}
    assert (pings_before_start(answer) > 0) == (ping < 1)
    assert answer.events[pings_before_start(answer)]["message"]["id"] == b.journal()[0]["response"]["message_id"]
    assert endings(a) == ["client left"]
    [exchange] = kept(gate)
    assert (exchange.outcome, exchange.backend, exchange.attempts) == ("whole", "spare", 2)
    names = ("x-clew-exchange", "x-clew-backend", "x-clew-model", "x-clew-thinking", "request-id")
    told = {name: answer.headers[name] for name in names if name in answer.headers}
    assert ping >= 1 or told == {"x-clew-exchange": exchange.id}


@pytest.mark.parametrize("by_rote", [False, True])
def test_a_ping_names_the_backend_where_there_is_no_other(gating: Gating, a: Simulator, by_rote: bool) -> None:
    """Nobody else can answer, so it is true before the answer."""
    gate = gating(claude(a), **impatient(ping=0.1))
    if by_rote:
        gate.ask(question())
    a.fault("slow-start 0.4")
    answer = gate.ask(question())
    assert (pings_before_start(answer) > 0, answer.headers["x-clew-backend"]) == (True, "claude")


@proves("fault:U8")
def test_after_a_ping_a_failure_is_told_inside_the_stream(gating: Gating, a: Simulator, b: Simulator) -> None:
    """The vendor's own words; the status has gone already."""
    gate = gating(claude(a), claude(b, "spare"), failover=("spare",), **impatient(ping=0.2, first_byte=1.2, retry=ONCE))
    a.fault("slow-start 60")
    b.fault("status 400 message='Nor here.'")
    answer = gate.ask(question())
    assert (answer.status, set(answer.kinds[:-1])) == (200, {"ping"})
    assert answer.events[-1] == {"type": "error", "error": {"type": "invalid_request_error", "message": "Nor here."}}
    assert [(each.outcome, each.status) for each in kept(gate)] == [("refused", 400)]


@proves("fault:U8")
@pytest.mark.parametrize("fault", ["slow-start 60", "stall 60"])
def test_without_another_one_silence_is_a_timeout(gating: Gating, a: Simulator, fault: str) -> None:
    """U8: 504 while nothing was said, whatever was asked for."""
    gate = gating(claude(a), **impatient(first_byte=0.3, gap=0.3, first_content=0.3, retry=ONCE))
    a.fault(fault, times=2)
    answers = [gate.ask(question(stream=stream)) for stream in (True, False)]
    assert [(answer.status, answer.json["error"]["type"]) for answer in answers] == [(504, "timeout_error")] * 2
    assert endings(a) == ["client left", "client left"]
    assert [each.outcome for each in kept(gate, 2)] == ["failed", "failed"]


@proves("fault:U8")
@pytest.mark.parametrize("again", [False, True], ids=["first", "by rote"])
def test_an_answer_in_one_piece_may_be_made_for_longer_than_a_stream_may_be_silent(
    gating: Gating, a: Simulator, again: bool
) -> None:
    """Its head comes when all was said. A count is no answer, and has nothing to wait for."""
    gate = gating(claude(a), **impatient(first_byte=0.3, first_content=20, retry=ONCE))
    if again:
        gate.ask(question(stream=False))
    a.fault("slow-start 1")
    assert story(gate.ask(question(stream=False))) == "whole"
    assert asked(a) == [1 + again]
    a.fault("slow-start 60", path="/v1/messages/count_tokens")
    counting = {name: value for name, value in question().items() if name not in ("stream", "max_tokens")}
    assert gate.ask(counting, path="/v1/messages/count_tokens").status == 504


@proves("fault:U8")
def test_an_answer_in_one_piece_gets_no_pings(gating: Gating, a: Simulator) -> None:
    """There is no stream to put them in."""
    gate = gating(claude(a), **impatient(ping=0.1))
    a.fault("slow-start 0.6")
    answer = gate.ask(question(stream=False))
    assert (answer.status, answer.json["type"]) == (200, "message")


@proves("fault:U9")
def test_pings_are_no_content(gating: Gating, a: Simulator, b: Simulator) -> None:
    """U9: they keep the connection alive and not the hope; the backend's own do not count as a beginning."""
    gate = gating(claude(a), claude(b, "spare"), failover=("spare",), **impatient(gap=1.0, first_content=1.5, retry=ONCE))
    a.fault("pings every=0.05")
    began = time.monotonic()
    answer = gate.ask(question())
    assert 1.4 < time.monotonic() - began < 20
    assert (story(answer), answer.headers["x-clew-backend"], answer.kinds[0]) == ("whole", "spare", "message_start")
    assert endings(a) == ["client left"]
    assert (asked(a, b), [each.outcome for each in kept(gate)]) == ([1, 1], ["whole"])


@proves("fault:U9")
def test_pings_for_ever_are_a_timeout(gating: Gating, a: Simulator) -> None:
    """U9: alone."""
    gate = gating(claude(a), **impatient(first_content=0.4, retry=ONCE))
    a.fault("pings every=0.05")
    answer = gate.ask(question())
    assert (answer.status, answer.json["error"]["type"]) == (504, "timeout_error")
    assert "no content within 0.4 s" in answer.json["error"]["message"]


@proves("fault:U9")
def test_thinking_is_content(gating: Gating, a: Simulator) -> None:
    """3.12: a backend that thinks for long is not silent."""
    gate = gating(claude(a), **impatient(first_content=1.0, retry=ONCE))
    a.fault("stall 1.2 content=2")
    assert story(gate.ask(question())) == "whole"


@proves("fault:U10")
def test_a_stall_after_content_ends_the_answer_and_nobody_else_is_asked(gating: Gating, a: Simulator, b: Simulator) -> None:
    """U10: an error event at the limit, pings until then; the turn is cut; the backend is left at once."""
    gate = gating(claude(a), claude(b, "spare"), failover=("spare",), **impatient(ping=0.2, gap=1.0, retry=ONCE))
    a.fault("stall 60 content=5")
    answer = gate.ask(question())
    ended = time.time()
    assert (answer.status, story(answer), answer.events[-1]["error"]["type"]) == (200, "error", "timeout_error")
    assert answer.kinds[-2] == "ping"
    assert answer.kinds.count("content_block_start") > 0
    assert (endings(a), asked(a, b)) == (["client left"], [1, 0])
    assert a.journal()[0]["ended_at"] - ended < SOON
    assert [(each.outcome, each.backend) for each in kept(gate)] == [("cut", "claude")]


@proves("fault:U10")
def test_a_stream_that_goes_on_slowly_is_no_stall(gating: Gating, simulators: StartSimulator, tmp_path: Path) -> None:
    """U10: the limit is on the gap, not on the whole."""
    slow = tmp_path / "slow.scenario"
    slow.write_text("about: slow\n\nturn:\n" + "  text: A word.\n  pause: 0.4\n" * 4)
    gate = gating(claude(simulators(scenario=str(slow))), **impatient(gap=1.5, retry=ONCE))
    began = time.monotonic()
    assert story(gate.ask(question())) == "whole"
    assert time.monotonic() - began > 1.6

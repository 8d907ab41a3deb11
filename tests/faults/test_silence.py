"""Backends that fall silent: before the head, before the content, in the middle; and what a client hears meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.settings.values import Retry
from clew.testing import Simulator
from clew.testing.plugin import StartSimulator
from clew.wire.sse import PING
from tests.clock import Clock
from tests.engine.gate import Answer, claude
from tests.engine.talk import Direct
from tests.faults.conftest import Calling, Gating
from tests.faults.scene import asked, asking, endings, impatient, is_asked, kept, question, story
from tests.manifest import proves
from tests.waiting import until

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
    clock: Clock, gating: Gating, calling: Calling, a: Simulator
) -> None:
    """A failover must stay possible, and a client that waits must not give up."""
    gate = gating(claude(a), **impatient(ping=15))
    a.fault("slow-start 100")
    client = calling(gate).asks()
    until(is_asked(a))
    clock.pass_time(14)
    client.socket.setblocking(False)
    with pytest.raises(BlockingIOError):
        client.socket.recv(1)
    client.socket.settimeout(60)
    clock.pass_time(1)
    head = client.read_until(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"text/event-stream" in head
    assert client.read_until(PING + b"\r\n").endswith(PING + b"\r\n")
    client.socket.setblocking(False)
    with pytest.raises(BlockingIOError):
        client.socket.recv(1)
    client.socket.settimeout(60)
    clock.pass_time(15)
    assert client.read_until(PING).endswith(PING)


@proves("fault:U8")
@pytest.mark.parametrize("fault", ["slow-start 100", "stall 100", "stall 100 after=1"])
@pytest.mark.parametrize("ping", [5.0, 15.0])
def test_a_backend_that_falls_silent_before_content_is_left_for_the_next(
    clock: Clock, gating: Gating, a: Simulator, b: Simulator, fault: str, ping: float
) -> None:
    """U8: before the head, after it, after the start of the message. One clean stream, with pings in front at most."""
    gate = gating(
        claude(a),
        claude(b, "spare"),
        failover=("spare",),
        **impatient(ping=ping, first_byte=12, gap=12, retry=ONCE),
    )
    a.fault(fault)
    asks = asking(gate, question())
    until(is_asked(a))
    clock.pass_time(11)
    assert asked(a, b) == [1, 0]
    clock.pass_time(1)
    answer = asks.result()
    assert (answer.status, story(answer)) == (200, "whole")
    kinds = answer.kinds
    assert kinds.count("message_start") == 1
    assert kinds[: pings_before_start(answer)] == (["ping"] * 2 if ping == 5 else [])
    assert answer.events[pings_before_start(answer)]["message"]["id"] == b.journal()[0]["response"]["message_id"]
    clock.pass_time(1)  # a server looks now and then whether its client is still there
    assert endings(a) == ["client left"]
    [exchange] = kept(gate)
    assert (exchange.outcome, exchange.backend, exchange.attempts) == ("whole", "spare", 2)
    names = ("x-clew-exchange", "x-clew-backend", "x-clew-model", "x-clew-thinking", "request-id")
    told = {name: answer.headers[name] for name in names if name in answer.headers}
    assert ping == 15 or told == {"x-clew-exchange": exchange.id}


@pytest.mark.parametrize("again", [False, True], ids=["first", "again"])
def test_a_ping_names_the_backend_where_there_is_no_other(clock: Clock, gating: Gating, a: Simulator, again: bool) -> None:
    """Nobody else can answer, so it is true before the answer."""
    gate = gating(claude(a), **impatient(ping=15))
    if again:
        gate.ask(question())
    a.fault("slow-start 20")
    asks = asking(gate, question())
    until(is_asked(a, 1 + again))
    clock.pass_time(20)
    answer = asks.result()
    assert (pings_before_start(answer), answer.headers["x-clew-backend"]) == (1, "claude")


@proves("fault:U8")
def test_after_a_ping_a_failure_is_told_inside_the_stream(clock: Clock, gating: Gating, a: Simulator, b: Simulator) -> None:
    """The vendor's own words; the status has gone already."""
    gate = gating(claude(a), claude(b, "spare"), failover=("spare",), **impatient(ping=5, first_byte=12, retry=ONCE))
    a.fault("slow-start 100")
    b.fault("status 400 message='Nor here.'")
    asks = asking(gate, question())
    until(is_asked(a))
    clock.pass_time(12)
    answer = asks.result()
    assert (answer.status, set(answer.kinds[:-1])) == (200, {"ping"})
    assert answer.events[-1] == {"type": "error", "error": {"type": "invalid_request_error", "message": "Nor here."}}
    assert [(each.outcome, each.status) for each in kept(gate)] == [("refused", 400)]


@proves("fault:U8")
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("fault", ["slow-start 100", "stall 100"])
def test_without_another_one_silence_is_a_timeout(
    clock: Clock, gating: Gating, a: Simulator, fault: str, stream: bool
) -> None:
    """U8: 504 while nothing was said, whatever was asked for."""
    gate = gating(claude(a), **impatient(first_byte=10, gap=10, first_content=10, retry=ONCE))
    a.fault(fault)
    asks = asking(gate, question(stream=stream))
    until(is_asked(a))
    clock.pass_time(10)
    answer = asks.result()
    assert (answer.status, answer.json["error"]["type"]) == (504, "timeout_error")
    clock.pass_time(1)  # a server looks now and then whether its client is still there
    assert endings(a) == ["client left"]
    assert [each.outcome for each in kept(gate)] == ["failed"]


@proves("fault:U8")
@pytest.mark.parametrize("again", [False, True], ids=["first", "again"])
def test_an_answer_in_one_piece_may_be_made_for_longer_than_a_stream_may_be_silent(
    clock: Clock, gating: Gating, a: Simulator, again: bool
) -> None:
    """Its head comes when all was said. A count is no answer, and has nothing to wait for."""
    gate = gating(claude(a), **impatient(first_byte=30, first_content=200, retry=ONCE))
    if again:
        gate.ask(question(stream=False))
    a.fault("slow-start 100")
    asks = asking(gate, question(stream=False))
    until(is_asked(a, 1 + again))
    clock.pass_time(100)
    assert story(asks.result()) == "whole"
    assert asked(a) == [1 + again]
    a.fault("slow-start 100", path="/v1/messages/count_tokens")
    counting = {name: value for name, value in question().items() if name not in ("stream", "max_tokens")}
    counts = asking(gate, counting, path="/v1/messages/count_tokens")
    until(is_asked(a, 2 + again))
    clock.pass_time(30)
    assert counts.result().status == 504


@proves("fault:U8")
def test_an_answer_in_one_piece_gets_no_pings(clock: Clock, gating: Gating, a: Simulator) -> None:
    """There is no stream to put them in."""
    gate = gating(claude(a), **impatient(ping=15))
    a.fault("slow-start 100")
    asks = asking(gate, question(stream=False))
    until(is_asked(a))
    clock.pass_time(100)
    answer = asks.result()
    assert (answer.status, answer.json["type"]) == (200, "message")


@proves("fault:U9")
def test_pings_are_no_content(clock: Clock, gating: Gating, a: Simulator, b: Simulator) -> None:
    """U9: they keep the connection alive and not the hope; the backend's own do not count as a beginning."""
    gate = gating(
        claude(a), claude(b, "spare"), failover=("spare",), **impatient(ping=100, gap=10, first_content=15, retry=ONCE)
    )
    a.fault("pings every=0.5")
    asks = asking(gate, question())
    until(is_asked(a))
    clock.pass_time(14)
    assert asked(a, b) == [1, 0]
    clock.pass_time(1)
    answer = asks.result()
    assert (story(answer), answer.headers["x-clew-backend"], answer.kinds[0]) == ("whole", "spare", "message_start")
    clock.pass_time(1)  # a server looks now and then whether its client is still there
    assert endings(a) == ["client left"]
    assert (asked(a, b), [each.outcome for each in kept(gate)]) == ([1, 1], ["whole"])


@proves("fault:U9")
def test_the_next_backend_has_the_whole_time_for_its_first_content(
    clock: Clock, gating: Gating, a: Simulator, b: Simulator
) -> None:
    """What the first backend took of it does not count."""
    gate = gating(claude(a), claude(b, "spare"), failover=("spare",), **impatient(ping=100, first_content=15, retry=ONCE))
    a.fault("pings every=0.5")
    b.fault("stall 10 after=1")
    asks = asking(gate, question())
    until(is_asked(a))
    clock.pass_time(15)
    until(is_asked(b))
    clock.pass_time(10)
    answer = asks.result()
    assert (story(answer), answer.headers["x-clew-backend"]) == ("whole", "spare")


@proves("fault:U9")
def test_pings_for_ever_are_a_timeout(clock: Clock, gating: Gating, a: Simulator) -> None:
    """U9: alone."""
    gate = gating(claude(a), **impatient(first_content=4, retry=ONCE))
    a.fault("pings every=0.5")
    asks = asking(gate, question())
    until(is_asked(a))
    clock.pass_time(4)
    answer = asks.result()
    assert (answer.status, answer.json["error"]["type"]) == (504, "timeout_error")
    assert "no content within 4 s" in answer.json["error"]["message"]


@proves("fault:U9")
def test_thinking_is_content(clock: Clock, gating: Gating, a: Simulator) -> None:
    """3.12: a backend that thinks for long is not silent."""
    gate = gating(claude(a), **impatient(first_content=10, retry=ONCE))
    a.fault("stall 12 content=2")
    asks = asking(gate, question())
    until(is_asked(a))
    clock.pass_time(12)
    assert story(asks.result()) == "whole"


@proves("fault:U10")
def test_a_stall_after_content_ends_the_answer_and_nobody_else_is_asked(
    clock: Clock, gating: Gating, a: Simulator, b: Simulator
) -> None:
    """U10: an error event at the limit, pings until then; the turn is cut; the backend is left at once."""
    gate = gating(claude(a), claude(b, "spare"), failover=("spare",), **impatient(ping=15, gap=50, retry=ONCE))
    a.fault("stall 1000 content=5")
    asks = asking(gate, question())
    until(is_asked(a))
    clock.pass_time(50)
    answer = asks.result()
    assert (answer.status, story(answer), answer.events[-1]["error"]["type"]) == (200, "error", "timeout_error")
    assert answer.kinds[-2] == "ping"
    assert answer.kinds.count("content_block_start") > 0
    clock.pass_time(1)
    assert (endings(a), asked(a, b)) == (["client left"], [1, 0])
    assert [(each.outcome, each.backend) for each in kept(gate)] == [("cut", "claude")]


@proves("fault:U10")
def test_a_stream_that_goes_on_slowly_is_no_stall(
    clock: Clock, gating: Gating, simulators: StartSimulator, tmp_path: Path
) -> None:
    """U10: the limit is on the gap, not on the whole."""
    slow = tmp_path / "slow.scenario"
    slow.write_text("about: slow\n\nturn:\n" + "  text: A word.\n  pause: 20\n" * 4)
    simulator = simulators(scenario=str(slow))
    asks = asking(gating(claude(simulator), **impatient(gap=30, retry=ONCE)), question())
    until(is_asked(simulator))
    clock.pass_time(60)
    assert not asks.done()
    clock.pass_time(20)
    assert story(asks.result()) == "whole"

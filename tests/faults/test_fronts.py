"""Failures of backends and clients, through the fronts besides the Messages API: the same rules, told in their own words."""

from __future__ import annotations

import json
from concurrent.futures import Future
from threading import Thread
from typing import Any

import pytest

from clew.backends.credential import Secret
from clew.backends.row import Backend
from clew.settings.values import Retry
from clew.testing import Simulator
from clew.testing.plugin import StartSimulator
from tests.clock import Clock
from tests.counts import examples
from tests.engine.chatting import chat
from tests.engine.gate import Answer, Gate, claude
from tests.faults.conftest import Calling, Gating
from tests.faults.fronts import FRONTS, Front
from tests.faults.scene import SOON, asked, endings, impatient, is_asked, kept, outcomes
from tests.manifest import proves
from tests.ports import own_port
from tests.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("front", FRONTS.values(), ids=FRONTS)]

ONCE = Retry(retries=0)


def dead(name: str = "dead") -> Backend:
    url = f"http://127.0.0.1:{own_port()}"
    return Backend(name=name, url=url, realm="anthropic", auth="key", keys=(Secret("a-secret-key"),))


def asking(front: Front, gate: Gate) -> Future[Answer]:
    """Ask in a thread, so that the test can move its clock meanwhile."""
    answer: Future[Answer] = Future()
    Thread(target=lambda: answer.set_result(front.ask(gate)), name="client", daemon=True).start()
    return answer


# Backends.


@proves("fault:U1")
def test_a_backend_that_cannot_be_reached_is_left_for_the_next_or_named(front: Front, gating: Gating, a: Simulator) -> None:
    gate = gating(dead(), claude(a), failover=("claude",), **impatient())
    assert front.story(front.ask(gate)) == "whole"
    gate.use("dead")
    alone = gating(dead(), **impatient(retry=ONCE))
    refused = front.ask(alone)
    assert (refused.status, front.story(refused)) == (502, "error")
    assert refused.json["error"]["message"].startswith("dead")
    assert b"a-secret-key" not in refused.raw


@proves("fault:U3", "fault:U4", "fault:U5")
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("fault", "times", "status", "tries"),
    [
        ("status 529", 2, 200, 3),
        ("status 500", None, 500, 3),
        ("status 529", None, 503, 3),
        ("status 429 retry-after=99", None, 429, 1),
        ("status 400 message=no", None, 400, 1),
        ("status 404 message=no", None, 404, 1),
        ("status 413 message=no", None, 413, 1),
        ("status 422 message=no", None, 422, 1),
    ],
)
def test_a_refusal_is_tried_again_where_that_makes_sense(
    front: Front, gating: Gating, a: Simulator, fault: str, times: int | None, status: int, tries: int, stream: bool
) -> None:
    gate = gating(claude(a), **impatient())
    a.fault(fault, times=times)
    answer = front.ask(gate, front.question(stream=stream))
    assert (answer.status, asked(a)) == (status, [tries])
    assert front.story(answer) == ("whole" if status == 200 else "error")
    assert answer.headers.get("retry-after") == ("99" if status == 429 else None)


@proves("fault:U6")
def test_another_key_is_taken_without_a_wait(front: Front, gating: Gating, a: Simulator) -> None:
    gate = gating(claude(a, keys=(Secret("sim-one"), Secret("sim-two"))), **impatient())
    a.fault("status 401", times=None, key="sim-one")
    assert front.story(front.ask(gate)) == "whole"
    a.fault("status 401", times=None)
    refused = front.ask(gate)
    assert (refused.status, refused.headers["x-should-retry"]) == (502, "false")


@proves("fault:U7")
def test_an_error_in_place_of_the_first_content_is_a_refusal(
    front: Front, gating: Gating, a: Simulator, b: Simulator
) -> None:
    gate = gating(claude(a), claude(b, "spare"), failover=("spare",), **impatient(retry=ONCE))
    a.fault("error overloaded_error", times=None)
    answer = front.ask(gate)
    assert (front.story(answer), asked(a, b)) == ("whole", [1, 1])
    b.fault("error overloaded_error", times=None)
    refused = front.ask(gate)
    assert (refused.status, refused.json["error"]["code"]) == (503, "server_is_overloaded")


@proves("fault:U8", "fault:U9")
@pytest.mark.parametrize("fault", ["slow-start 100", "stall 100", "pings every=0.5"])
def test_a_client_hears_something_while_a_silent_backend_is_left_for_the_next(
    front: Front, clock: Clock, gating: Gating, a: Simulator, b: Simulator, fault: str
) -> None:
    """One clean stream, with keep-alives in front."""
    limits = impatient(ping=5, first_byte=12, gap=12, first_content=12, retry=ONCE)
    gate = gating(claude(a), claude(b, "spare"), failover=("spare",), **limits)
    a.fault(fault)
    answer = asking(front, gate)
    until(is_asked(a))
    clock.pass_time(13)
    got = answer.result(60)
    assert (got.status, front.story(got), asked(b)) == (200, "whole", [1])
    assert got.raw.count(b"keep-alive") + got.raw.count(b'"type":"keepalive"') >= 2
    if front.dialect == "openai-responses":
        numbers = [json.loads(line[6:])["sequence_number"] for line in got.raw.decode().splitlines() if line[:5] == "data:"]
        assert numbers == list(range(len(numbers)))


@proves("fault:U8")
def test_after_a_keep_alive_a_failure_is_told_inside_the_stream(
    front: Front, clock: Clock, gating: Gating, a: Simulator
) -> None:
    gate = gating(claude(a), **impatient(ping=5, first_byte=12, retry=ONCE))
    a.fault("slow-start 100")
    answer = asking(front, gate)
    until(is_asked(a))
    clock.pass_time(13)
    got = answer.result(60)
    assert (got.status, front.story(got), outcomes(gate)) == (200, "error", ["failed"])


@proves("fault:U10")
def test_a_stall_after_content_ends_the_answer(
    front: Front, clock: Clock, gating: Gating, a: Simulator, b: Simulator
) -> None:
    gate = gating(claude(a), claude(b, "spare"), failover=("spare",), **impatient(gap=12))
    a.fault("stall 1000 content=5")
    answer = asking(front, gate)
    until(is_asked(a))
    clock.pass_time(13)
    got = answer.result(60)
    assert (got.status, front.story(got), asked(b), outcomes(gate)) == (200, "error", [0], ["cut"])


@proves("fault:U11", "fault:U12")
@pytest.mark.parametrize("how", ["fin", "rst", "end"])
def test_a_cut_reaches_client_and_store_as_one_story(front: Front, gating: Gating, a: Simulator, how: str) -> None:
    """A status where nothing was said yet, else an error in the stream; and never a whole turn."""
    gate = gating(claude(a), **impatient(retry=ONCE))
    assert front.story(front.ask(gate)) == "whole"
    places = [f"at={at}" for at in range(40, 1200, 1200 // examples(6, soak=400))]
    places += ["before=message_delta", "before=message_stop"]
    for place in places:
        a.fault(f"cut {place} how={how}")
    answers = [front.ask(gate) for _ in places]
    assert [place for place, answer in zip(places, answers, strict=True) if front.story(answer) != "error"] == []
    told = [{200: "cut", 502: "failed"}[answer.status] for answer in answers]
    assert [exchange.outcome for exchange in kept(gate, len(places) + 1)] == ["whole", *told]


@proves("fault:U13")
@pytest.mark.parametrize("fault", ["drip 1", "drip 7", "lump"])
def test_pieces_of_any_size_are_one_answer(front: Front, gating: Gating, simulators: StartSimulator, fault: str) -> None:
    plain, cut = simulators(realm="a"), simulators(realm="a")
    gate = gating(claude(plain, "plain"), claude(cut, "cut"))
    first = front.ask(gate)
    gate.use("cut")
    cut.fault(fault)
    second = front.ask(gate)
    assert (front.story(first), front.story(second)) == ("whole", "whole")
    assert said_in(first) == said_in(second) != ""


def said_in(answer: Answer) -> str:
    """All that the deltas of an answer say."""
    values = [json.loads(line[6:]) for line in answer.raw.decode().splitlines() if line.startswith("data: {")]
    chunks = [choice["delta"].get("content") or "" for value in values for choice in value.get("choices", ())]
    return "".join(chunks + [value["delta"] for value in values if value.get("type") == "response.output_text.delta"])


@proves("fault:U14", "fault:U15", "fault:U16", "fault:U17", "fault:U18")
@pytest.mark.parametrize(
    "fault",
    [
        "bad-json after=4",
        "repeat message_start",
        "index-gap 1 block=1",
        "omit content_block_start",
        "flood 40000000 shape=event content=2",
        "content-type text/html",
        "status 200 body=",
        "status 302 location=http://127.0.0.1:9/ body=",
        "bomb 100000000 coding=gzip",
    ],
)
def test_an_answer_that_is_none_is_a_failure(front: Front, gating: Gating, a: Simulator, fault: str) -> None:
    gate = gating(claude(a), **impatient(retry=ONCE))
    a.fault(fault)
    answer = front.ask(gate)
    assert (front.story(answer), answer.status) in {("error", 200), ("error", 502)}
    assert outcomes(gate)[0] in ("cut", "failed", "refused")
    assert front.story(front.ask(gate)) == "whole"


@proves("fault:U19")
def test_a_kept_connection_that_the_backend_closed_costs_nobody_anything(front: Front, gating: Gating, a: Simulator) -> None:
    gate = gating(claude(a), **impatient(retry=ONCE))
    a.fault("hang-up 0.05")
    assert front.story(front.ask(gate)) == "whole"
    until(lambda: a.journal()[0]["ended"] != "no")
    assert front.story(front.ask(gate)) == "whole"


def test_a_backend_of_chat_completions_that_breaks_off_is_told_too(
    front: Front, gating: Gating, simulators: StartSimulator
) -> None:
    sim = simulators(kind="deepseek-chat", realm="ds")
    gate = gating(chat(sim, "deepseek"), **impatient(retry=ONCE))
    sim.fault("cut content=3 how=end")
    assert (front.story(front.ask(gate)), outcomes(gate)) == ("error", ["cut"])
    assert front.story(front.ask(gate)) == "whole"


# Clients.


@proves("fault:C1")
@pytest.mark.parametrize("reset", [False, True], ids=["fin", "rst"])
@pytest.mark.parametrize(
    ("fault", "stream", "until_seen"),
    [
        ("slow-start 60", True, b""),
        ("stall 60", True, b""),
        ("stall 60 content=3", True, b"data: "),
        ("slow-start 60", False, b""),
        ("stall 60 at=20", False, b""),
    ],
)
def test_a_client_that_leaves_takes_its_backend_with_it(
    front: Front,
    clock: Clock,
    gating: Gating,
    a: Simulator,
    calling: Calling,
    fault: str,
    stream: bool,
    until_seen: bytes,
    reset: bool,
) -> None:
    gate = gating(claude(a), **impatient())
    a.fault(fault)
    client = calling(gate).asks(front.question(stream=stream), path=front.path)
    until(a.journal)
    client.read_until(until_seen)
    client.leaves(reset=reset)
    clock.pass_time(SOON)
    assert endings(a) == ["client left"]
    until(lambda: gate.tasks() == 0)
    assert outcomes(gate) == ["cut"]


@proves("fault:C7")
@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"\xff", b'{"model":1e999}', b"[" * 10_000, b'{"messages":[[]],"input":[[]]}']
)
def test_a_body_that_cannot_be_read_is_refused_in_the_clients_words(
    front: Front, gating: Gating, a: Simulator, calling: Calling, body: bytes
) -> None:
    gate = gating(claude(a), **impatient())
    answer = calling(gate).asks(body or b" ", path=front.path).answer()
    assert (answer.status, front.story(answer), asked(a)) == (413 if body.startswith(b"[[") else 400, "error", [0])
    assert answer.json["error"]["type"] == "invalid_request_error"


# The end of a turn (law 8).


def test_the_end_is_told_when_the_store_has_the_turn(
    front: Front, gating: Gating, a: Simulator, calling: Calling, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = gating(claude(a), **impatient())
    assert gate.store is not None
    held: list[Future[Any]] = []
    record = gate.store.record

    def hold(turn: Any) -> Future[Any]:
        if turn.exchange.outcome != "whole":
            return record(turn)
        held.append(waiting := Future[Any]())
        waiting.add_done_callback(lambda _: record(turn))
        return waiting

    monkeypatch.setattr(gate.store, "record", hold)
    client = calling(gate).asks(front.question(), path=front.path)
    until(lambda: held)
    client.socket.setblocking(False)
    before = b""
    try:
        while piece := client.socket.recv(65536):
            before += piece
    except BlockingIOError:
        pass
    assert front.story_of_stream(before) == "broken"
    assert b'"finish_reason":"stop"' not in before
    assert b"response.completed" not in before
    client.socket.settimeout(60)
    held[0].set_result(None)
    assert front.story_of_stream(before + client.read_until(b"0\r\n\r\n")) == "whole"

"""Backends that cannot be reached, are busy, limit us, refuse a key or say no: who is asked instead, and what a client hears."""

from __future__ import annotations

import hashlib
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.backends.credential import Secret
from clew.backends.row import Backend
from clew.settings.values import Retry
from clew.testing import Simulator
from tests.clock import Clock
from tests.engine.gate import KEY, Gate, claude
from tests.faults.conftest import Gating
from tests.faults.scene import asked, asking, endings, impatient, is_asked, kept, question, story
from tests.http.conftest import busy
from tests.manifest import proves
from tests.ports import own_port
from tests.upstream.certificates import make_certificate
from tests.upstream.test_dial import full_listener
from tests.waiting import until

pytestmark = pytest.mark.slow

ONE, TWO = "sim-a-1", "sim-a-2"
KEYS = (Secret(ONE), Secret(TWO))
NEVER_WAITS = Retry(retries=2, first_wait=60, most_wait=60, budget=1000)
"""Anyone who waits at all would be seen."""


def dead(url: str) -> Backend:
    return Backend(name="dead", url=url, realm="anthropic", auth="key", keys=(Secret("sk-ant-never-shown"),))


def is_busy(gate: Gate) -> bool:
    """Whether a request is there that has no answer yet."""
    return busy(gate._server) == 1


def shown_to(simulator: Simulator) -> list[str]:
    """Which key came with each request."""
    names = {hashlib.sha256(key.encode()).hexdigest()[:8]: key for key in (ONE, TWO)}
    return [names[entry["credential"]] for entry in simulator.journal()]


# U1, U2: no connection.


@pytest.fixture
def unreachable(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of nobody: a closed port, a name that leads nowhere, a certificate for another name."""
    if request.param == "unknown":
        yield "http://nowhere.invalid"
        return
    if request.param == "refused":
        yield f"http://127.0.0.1:{own_port()}"
        return
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        context = make_certificate(tmp_path, "DNS:elsewhere.example").context()
        threading.Thread(target=_shake_hands, args=(listener, context), daemon=True).start()
        yield f"https://localhost:{port}"


def _shake_hands(listener: socket.socket, context) -> None:
    while True:
        try:
            plug, _ = listener.accept()
            context.wrap_socket(plug, server_side=True).close()
        except OSError:
            if listener.fileno() < 0:
                return


UNREACHABLE = pytest.mark.parametrize("unreachable", ["refused", "unknown", "wrong name"], indirect=True)


@proves("fault:U1")
@UNREACHABLE
@pytest.mark.parametrize("stream", [True, False])
def test_a_backend_that_cannot_be_reached_is_passed_over(
    gating: Gating, a: Simulator, unreachable: str, stream: bool
) -> None:
    """U1: the client sees one clean answer; the store says whom else was asked."""
    gate = gating(dead(unreachable), claude(a), failover=("claude",), **impatient())
    answer = gate.ask(question(stream=stream))
    assert (answer.status, story(answer), answer.headers["x-clew-backend"]) == (200, "whole", "claude")
    assert endings(a) == ["whole"]
    [exchange] = kept(gate)
    assert [(each.backend, each.status) for each in exchange.tries] == [("dead", 0)] * 3 + [("claude", 200)]
    assert exchange.outcome == "whole"


@proves("fault:U1")
@UNREACHABLE
def test_without_another_one_the_client_is_told_which_backend_it_was_and_no_secret(gating: Gating, unreachable: str) -> None:
    """U1: 502 in the shape of the dialect."""
    gate = gating(dead(unreachable), **impatient())
    answer = gate.ask(question())
    assert (answer.status, answer.json["error"]["type"], answer.headers["x-clew-backend"]) == (502, "api_error", "dead")
    message = answer.json["error"]["message"]
    assert (message.startswith("dead: "), unreachable in message) == (True, False)
    assert b"never-shown" not in answer.raw
    assert [(each.outcome, each.status) for each in kept(gate)] == [("failed", 502)]


@proves("fault:U2")
def test_a_black_hole_is_left_at_the_connect_limit(clock: Clock, gating: Gating, a: Simulator) -> None:
    """U2: the limit that was set, and then the next; alone, a 504."""
    listener, fillers = full_listener()
    try:
        hole = dead(f"http://127.0.0.1:{listener.getsockname()[1]}")
        gate = gating(hole, claude(a), failover=("claude",), **impatient(connect=2.0, retry=Retry(retries=0)))
        asks = asking(gate, question())
        until(lambda: is_busy(gate) and clock.is_due_in(2))  # it dials: what a history points at was looked up in a thread
        clock.pass_time(1.9)
        assert asked(a) == [0]
        clock.pass_time(0.1)
        answer = asks.result()
        assert (story(answer), answer.headers["x-clew-backend"]) == ("whole", "claude")
        lonely = gating(hole, **impatient(connect=2.0, retry=Retry(retries=0)), store=False)
        asks = asking(lonely, question())
        until(lambda: is_busy(lonely) and clock.is_due_in(2))
        clock.pass_time(2)
        alone = asks.result()
        assert (alone.status, alone.json["error"]["type"]) == (504, "timeout_error")
    finally:
        for plug in (listener, *fillers):
            plug.close()


# U3: too much asked of a key.


@proves("fault:U3")
def test_a_key_that_has_had_enough_rests_for_as_long_as_it_said(gating: Gating, a: Simulator) -> None:
    """U3: the other key at once; the first one again when its time is over, and not before."""
    gate = gating(claude(a, keys=KEYS), **impatient())
    passed = [0.0]
    gate.engine.services.clock = lambda: time.monotonic() + passed[0]
    a.fault("status 429 retry-after=99 retry-after-ms=60000", key=ONE)
    assert [story(gate.ask(question(f"{n}"))) for n in range(3)] == ["whole"] * 3
    assert shown_to(a) == [ONE, TWO, TWO, TWO]
    passed[0] = 60.1
    assert story(gate.ask(question("later"))) == "whole"
    assert shown_to(a)[4:] == [ONE]


@proves("fault:U3")
@pytest.mark.parametrize("hint", ["retry-after-ms=700", "retry-after=1"])
def test_with_one_key_the_wait_is_the_one_that_was_asked_for(gating: Gating, a: Simulator, hint: str) -> None:
    """U3."""
    gate = gating(claude(a), **impatient())
    a.fault(f"status 429 {hint}")
    assert story(gate.ask(question())) == "whole"
    first, second = (entry["came"] for entry in a.journal())
    assert second - first >= (0.7 if "ms" in hint else 1.0)


@proves("fault:U3")
@pytest.mark.parametrize("stream", [True, False])
def test_a_wait_that_is_too_long_is_the_clients_to_know(gating: Gating, a: Simulator, stream: bool) -> None:
    """U3: the vendor's own status, words and headers."""
    gate = gating(claude(a), **impatient())
    a.fault("status 429 retry-after=99 message='Not so fast.'")
    answer = gate.ask(question(stream=stream))
    assert (answer.status, answer.headers["retry-after"]) == (429, "99")
    assert answer.json["error"] == {"type": "rate_limit_error", "message": "Not so fast."}
    assert answer.headers["request-id"] == a.journal()[0]["request_id"]
    assert [(each.outcome, each.status) for each in kept(gate)] == [("refused", 429)]


def test_what_one_backend_said_is_not_told_of_another(gating: Gating, a: Simulator, b: Simulator) -> None:
    """The wait and the name of a call belong to the backend that gave them, not to the one that answers or fails last."""
    nobody = dead(f"http://127.0.0.1:{own_port()}")
    gate = gating(claude(a), nobody, failover=("dead",), **impatient())
    a.fault("status 429 retry-after=99")
    answer = gate.ask(question())
    assert (answer.status, answer.headers["x-clew-backend"]) == (502, "dead")
    assert {"retry-after", "request-id"} & set(answer.headers) == set()


# U4: bursts.

KINDS = {408: "invalid_request_error", 504: "timeout_error", 529: "overloaded_error"}


@proves("fault:U4")
@pytest.mark.parametrize("status", [529, 503, 500, 502, 504, 408])
def test_a_burst_is_outlived_or_left_after_so_many_tries(gating: Gating, a: Simulator, b: Simulator, status: int) -> None:
    """U4: two failures are outlived; a third one sends the request on."""
    gate = gating(claude(a), claude(b, "spare"), failover=("spare",), **impatient())
    a.fault(f"status {status}", times=2)
    assert gate.ask(question("one")).headers["x-clew-backend"] == "claude"
    a.fault(f"status {status}", times=3)
    assert gate.ask(question("two")).headers["x-clew-backend"] == "spare"
    assert asked(a, b) == [6, 1]
    assert [each.attempts for each in kept(gate, 2)] == [3, 4]
    whys = {each.why for exchange in kept(gate, 2) for each in exchange.tries[:-1]}
    assert whys == {KINDS.get(status, "api_error")}, "as the vendor calls it"


@proves("fault:U4")
def test_waits_are_bounded_and_no_two_alike(clock: Clock, gating: Gating, a: Simulator) -> None:
    """U4: jitter, so that those who were turned away together do not come back together."""
    gate = gating(claude(a), **impatient(retry=Retry(retries=1, first_wait=10, most_wait=10)), store=False)
    a.fault("status 529", times=None)
    answers = [asking(gate, question(f"{n}")) for n in range(24)]
    until(is_asked(a, 24))
    back: list[int] = []
    for _ in range(20):
        clock.pass_time(0.5)
        back.append(asked(a)[0] - 24)
    assert {answer.result().status for answer in answers} == {529}
    assert back[-1] == 24, "nobody waits for more than ten seconds"
    assert len(set(back)) > 8, "they come back one after the other"


# U5: the request's own fault.


@proves("fault:U5")
@pytest.mark.parametrize("status", [400, 404, 413, 422])
@pytest.mark.parametrize(
    ("path", "stream"), [("/v1/messages", True), ("/v1/messages", False), ("/v1/messages/count_tokens", False)]
)
def test_a_no_is_a_no(gating: Gating, a: Simulator, b: Simulator, status: int, path: str, stream: bool) -> None:
    """U5: asked once, nobody else is, and the client reads the vendor's own words."""
    gate = gating(claude(a), claude(b, "spare"), failover=("spare",), **impatient())
    a.fault(f"status {status} message='It is your own fault.'", path=path)
    body = question(stream=True) if stream else {k: v for k, v in question().items() if k != "stream"}
    if path.endswith("count_tokens"):
        del body["max_tokens"]
    answer = gate.ask(body, path=path)
    assert (answer.status, answer.json["error"]["message"]) == (status, "It is your own fault.")
    assert asked(a, b) == [1, 0]


# U6: keys that are no good.


@proves("fault:U6")
@pytest.mark.parametrize("status", [401, 402, 403])
def test_one_dead_key_of_two_is_passed_over_without_a_wait(gating: Gating, a: Simulator, status: int) -> None:
    """U6."""
    gate = gating(claude(a, keys=KEYS), **impatient(retry=NEVER_WAITS))
    a.fault(f"status {status}", times=None, key=ONE)
    assert story(gate.ask(question())) == "whole"
    assert shown_to(a) == [ONE, TWO]


@proves("fault:U6")
@pytest.mark.parametrize("status", [401, 402, 403])
def test_when_all_keys_are_dead_the_client_does_not_blame_its_own(gating: Gating, a: Simulator, status: int) -> None:
    """U6: 502, which says whose keys they were and not what they are."""
    cure = " The account has no credit: add some, or use another key." if status == 402 else ""
    gate = gating(claude(a, keys=KEYS), **impatient(retry=NEVER_WAITS))
    a.fault(f"status {status}", times=None)
    answer = gate.ask(question())
    assert (answer.status, answer.json["error"]) == (
        502,
        {
            "type": "api_error",
            "message": f"claude refused every key that clew holds for it ({status}).{cure} `clew backends test claude` tries it",
        },
    )
    assert shown_to(a) == [ONE, TWO]
    assert not any(key.encode() in answer.raw for key in (ONE, TWO))


@proves("fault:U6")
def test_a_key_of_the_clients_own_is_its_own_to_blame(gating: Gating, a: Simulator) -> None:
    """U6: with passthrough the vendor's 401 is for the client to read."""
    gate = gating(claude(a, keys=(), auth="passthrough"), **impatient(retry=NEVER_WAITS))
    a.fault("status 401 message='invalid x-api-key'", key="sim-own")
    answer = gate.ask(question(), headers={"x-clew-key": KEY, "x-api-key": "sim-own"})
    assert (answer.status, answer.json["error"]["message"]) == (401, "invalid x-api-key")


# U7: a yes that is a no.


@proves("fault:U7")
@pytest.mark.parametrize("times", [1, 3])
def test_a_200_that_begins_with_an_error_is_a_failure_that_nobody_sees(
    gating: Gating, a: Simulator, b: Simulator, times: int
) -> None:
    """U7: one clean stream, of the same backend or of the next."""
    gate = gating(claude(a), claude(b, "spare"), failover=("spare",), **impatient())
    a.fault("error overloaded_error", times=times)
    answer = gate.ask(question())
    assert (story(answer), answer.kinds.count("message_start"), b"overloaded" in answer.raw) == ("whole", 1, False)
    assert asked(a, b) == ([2, 0] if times == 1 else [3, 1])
    assert [each.outcome for each in kept(gate)] == ["whole"]


@proves("fault:U7")
def test_an_error_event_that_nobody_can_mend_has_the_status_that_it_stands_for(gating: Gating, a: Simulator) -> None:
    """U7: nothing was said yet, so the client gets a plain 529."""
    gate = gating(claude(a), **impatient())
    a.fault("error overloaded_error", times=None)
    answer = gate.ask(question())
    assert (answer.status, answer.json["error"]["type"]) == (529, "overloaded_error")
    assert asked(a) == [3]


@proves("fault:U7")
def test_an_error_after_content_is_told_once_and_ends_it(gating: Gating, a: Simulator, b: Simulator) -> None:
    """3.2: no other backend's bytes in the same message."""
    gate = gating(claude(a), claude(b, "spare"), failover=("spare",), **impatient())
    a.fault("error overloaded_error content=3")
    answer = gate.ask(question())
    assert (story(answer), answer.kinds.count("error"), answer.events[-1]["error"]["type"]) == (
        "error",
        1,
        "overloaded_error",
    )
    assert asked(a, b) == [1, 0]
    assert [each.outcome for each in kept(gate)] == ["cut"]

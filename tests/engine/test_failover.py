"""Retry and failover: one clean answer for the client, as long as nothing of another has reached it."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256

import pytest

from clew.backends.credential import Secret
from clew.backends.row import Backend
from clew.engine.services import cool_downs_in
from clew.settings.values import Retry
from clew.testing import Simulator
from tests.build import user
from tests.clock import Clock
from tests.engine.conftest import Gating
from tests.engine.gate import Answer, Gate, claude, other
from tests.engine.kept import exchange_of
from tests.engine.talk import MODEL, Talk, asked_of, last_asked, refusals, thoughts_in
from tests.manifest import proves
from tests.ports import own_port
from tests.waiting import until

pytestmark = pytest.mark.slow

QUICK = Retry(retries=1, first_wait=0.01, most_wait=0.02, cool_seconds=0.01)
ONCE = Retry(retries=0, first_wait=0.01, cool_seconds=0.0)
WHOLE = ["message_start", "message_delta", "message_stop"]


def ask(gate: Gate, scenario: str = "thinking", **fields: object) -> Answer:
    body = {"model": MODEL, "max_tokens": 2000, "messages": [user(f"[[scenario:{scenario}]]")], "stream": True, **fields}
    return gate.ask(body)


def is_clean(answer: Answer) -> bool:
    """One answer, whole, and no trace of another."""
    ends = [kind for kind in answer.kinds if kind in WHOLE]
    return answer.status == 200 and ends == WHOLE and "error" not in answer.kinds


def unreachable() -> str:
    """An address where nobody listens."""
    return f"http://127.0.0.1:{own_port()}"


def tries(gate: Gate, answer: Answer) -> list[tuple[str, int]]:
    return [(each.backend, each.status) for each in exchange_of(gate, answer).tries]


@proves("fault:U4")
@pytest.mark.parametrize("status", [500, 502, 503, 529])
@pytest.mark.parametrize("stream", [True, False])
def test_a_backend_in_trouble_is_tried_again_and_then_the_next_answers(
    gating: Gating, a: Simulator, b: Simulator, status: int, stream: bool
) -> None:
    """U4: the client sees one clean answer, and the store all tries."""
    gate = gating(claude(a), other(b), failover=("glm",), retry=QUICK)
    a.fault(f"status {status}", times=None)
    answer = ask(gate, stream=stream)
    assert answer.status == 200
    assert not stream or is_clean(answer)
    assert answer.headers["x-clew-backend"] == "glm"
    assert tries(gate, answer) == [("claude", status), ("claude", status), ("glm", 200)]


@proves("fault:U1")
def test_a_backend_that_cannot_be_reached_is_passed_over(gating: Gating, a: Simulator, b: Simulator) -> None:
    """U1."""
    gone = Backend(name="gone", url=unreachable(), realm="anthropic", auth="key", keys=(Secret("x"),))
    gate = gating(gone, other(b), failover=("glm",), retry=QUICK)
    answer = ask(gate)
    assert is_clean(answer)
    assert tries(gate, answer) == [("gone", 0), ("gone", 0), ("glm", 200)]


@proves("fault:U1")
def test_a_backend_that_cannot_be_reached_is_named_where_there_is_no_other(gating: Gating) -> None:
    """U1: what, where; and never the key."""
    gone = Backend(name="gone", url=unreachable(), realm="anthropic", auth="key", keys=(Secret("sk-very-secret"),))
    gate = gating(gone, retry=ONCE)
    answer = ask(gate)
    assert (answer.status, answer.json["error"]["type"]) == (502, "api_error")
    message = answer.json["error"]["message"]
    assert (message.startswith("gone: "), gone.url.removeprefix("http://") in message) == (True, False)
    assert b"sk-very-secret" not in answer.raw
    assert exchange_of(gate, answer).outcome == "failed"


@proves("fault:U7")
def test_an_overload_inside_a_200_counts_as_one(gating: Gating, a: Simulator, b: Simulator) -> None:
    """U7: the first event is an error; nothing of it reaches the client."""
    gate = gating(claude(a), other(b), failover=("glm",), retry=ONCE)
    a.fault("error overloaded_error after=1")
    answer = ask(gate)
    assert is_clean(answer)
    assert tries(gate, answer) == [("claude", 529), ("glm", 200)]


@pytest.mark.parametrize("fault", ["cut after=0", "cut after=1", "no-answer rst", "no-answer fin"])
def test_an_answer_that_breaks_off_before_its_content_is_asked_for_again(gating: Gating, a: Simulator, fault: str) -> None:
    gate = gating(claude(a), retry=QUICK)
    a.fault(f"{fault} how=rst" if fault.startswith("cut") else fault)
    answer = ask(gate)
    assert is_clean(answer)
    assert [each.status for each in exchange_of(gate, answer).tries] == [0, 200]
    assert len(asked_of(a)) == 2


@pytest.mark.parametrize(
    "fault",
    [
        "cut content=4 how=rst",
        "cut content=5 how=end",
        "omit message_stop",
        "omit message_stop,message_delta",
        "bad-json content=5",
        "bad-utf8 content=6",
        "error overloaded_error content=5",
        "index-gap 1 block=1",
    ],
)
def test_after_content_nothing_is_tried_again(gating: Gating, a: Simulator, b: Simulator, fault: str) -> None:
    """U11, U12, U14: a native error event, once, and no end event. (Thinking first, then a pause, then the fault.)"""
    gate = gating(claude(a), other(b), failover=("glm",), retry=QUICK)
    a.fault(fault)
    answer = ask(gate, "pings")
    assert (answer.status, answer.raw.count(b"event: error\n")) == (200, 1)
    assert answer.raw.rindex(b"event: ") == answer.raw.index(b"event: error\n")
    assert b"event: message_stop" not in answer.raw
    assert (len(asked_of(a)), len(asked_of(b))) == (1, 0)
    assert exchange_of(gate, answer).outcome == "cut"


@proves("fault:U6")
def test_one_of_two_keys_is_dead(gating: Gating, a: Simulator) -> None:
    """U6: the other answers, at once; and its account is the recording's."""
    dead, live = Secret("sim-invalid"), Secret("sim-live-1")
    gate = gating(claude(a, keys=(dead, live)), retry=QUICK)
    answer = ask(gate)
    assert is_clean(answer)
    assert tries(gate, answer) == [("claude", 401), ("claude", 200)]
    assert a.journal()[-1]["credential"] == sha256(b"sim-live-1").hexdigest()[:8]


@proves("fault:U6")
def test_all_keys_of_ours_are_dead(gating: Gating, a: Simulator) -> None:
    """It is ours to correct, so the client does not read a 401 that is none of its business, and need not ask ten times."""
    gate = gating(claude(a, keys=(Secret("sim-invalid"),)), retry=QUICK)
    answer = ask(gate)
    assert (answer.status, answer.json["error"]["type"]) == (502, "api_error")
    assert "refused every key" in answer.json["error"]["message"]
    assert answer.headers["x-should-retry"] == "false"
    assert len(a.journal()) == 1


@proves("fault:U5")
def test_the_clients_own_key_is_the_clients_to_mend(gating: Gating, a: Simulator) -> None:
    """U5: with passthrough the vendor's 401 passes."""
    gate = gating(claude(a, auth="passthrough", keys=()), retry=QUICK)
    body = {"model": MODEL, "max_tokens": 10, "messages": [user("Hello.")]}
    answer = gate.ask(body, headers={"x-api-key": "sim-invalid", "x-clew-key": "gate-test-key"})
    assert (answer.status, answer.json["error"]["type"]) == (401, "authentication_error")
    assert len(a.journal()) == 1


@proves("fault:U5")
@pytest.mark.parametrize("status", [400, 403, 404, 413])
def test_what_is_the_requests_own_fault_is_said_at_once_in_the_vendors_words(
    gating: Gating, a: Simulator, b: Simulator, status: int
) -> None:
    """U5: no second try, no other backend; 403 of a key of ours is the exception that U6 shows."""
    gate = gating(claude(a, auth="passthrough", keys=()), other(b), failover=(), retry=QUICK)
    a.fault(f"status {status} message='Not so.' retry-after=7", times=None)
    headers = {"x-api-key": "sim-mine", "x-clew-key": "gate-test-key"}
    answer = gate.ask({"model": MODEL, "max_tokens": 10, "messages": [user("Hello.")], "stream": True}, headers=headers)
    assert answer.status == status
    assert answer.json["error"]["message"] in ("Not so.", "Request exceeds the maximum size")
    assert answer.headers["retry-after"] == "7"
    assert (len(asked_of(a)), len(asked_of(b))) == (1, 0)
    assert exchange_of(gate, answer).outcome == "refused"


@proves("fault:U3")
def test_a_limited_key_gives_way_to_the_next(gating: Gating, a: Simulator) -> None:
    """U3: and is left alone for as long as it asked."""
    gate = gating(claude(a, keys=(Secret("sim-one-1"), Secret("sim-two-2"))), retry=QUICK)
    a.fault("status 429 retry-after=30", key="sim-one-1")
    assert is_clean(ask(gate))
    answer = ask(gate)
    assert is_clean(answer)
    used = [entry["account"] for entry in a.journal()]
    assert used == ["one", "two", "two"]


@proves("fault:U3")
def test_a_wait_that_is_short_is_waited_and_one_that_is_long_is_told(clock: Clock, gating: Gating, a: Simulator) -> None:
    """U3: `retry-after`, within the budget; else the vendor's 429 with its header."""
    gate = gating(claude(a), retry=Retry(retries=1, budget=20.0, first_wait=0.01, cool_seconds=0.01))
    a.fault("status 429 retry-after=10")
    with ThreadPoolExecutor(1) as client:
        answer = client.submit(ask, gate)
        until(a.journal)
        clock.pass_time(9)
        assert len(a.journal()) == 1
        clock.pass_time(11)
        assert is_clean(answer.result(120))
    a.fault("status 429 retry-after=60 message='Slow down.'")
    answer = ask(gate)
    assert (answer.status, answer.headers["retry-after"]) == (429, "60")
    assert answer.json["error"] == {"type": "rate_limit_error", "message": "Slow down."}


@pytest.mark.parametrize("advice", ["true", "false"])
def test_a_vendors_own_advice_outranks_the_table(gating: Gating, a: Simulator, advice: str) -> None:
    """`x-should-retry`."""
    gate = gating(claude(a), retry=QUICK)
    a.fault(f"status {400 if advice == 'true' else 529} should-retry={advice}")
    answer = ask(gate)
    assert (answer.status, len(asked_of(a))) == ((200, 2) if advice == "true" else (529, 1))


def test_the_last_failure_is_told_with_its_own_words_and_headers(gating: Gating, a: Simulator, b: Simulator) -> None:
    """Not with those of a backend that was tried before it."""
    gate = gating(claude(a), other(b), failover=("glm",), retry=ONCE)
    a.fault("status 529 message='First.' retry-after=11", times=None)
    b.fault("status 503 message='Second.' retry-after=22", times=None)
    answer = ask(gate)
    assert (answer.status, answer.json["error"]["message"]) == (503, "Second.")
    assert (answer.headers["retry-after"], answer.headers["x-clew-backend"]) == ("22", "glm")


def test_headers_of_one_backend_are_not_told_as_anothers(gating: Gating, a: Simulator) -> None:
    gone = Backend(name="gone", url=unreachable(), realm="anthropic", auth="key", keys=(Secret("x"),))
    gate = gating(claude(a), gone, failover=("gone",), retry=ONCE)
    a.fault("status 529 retry-after=11", times=None)
    answer = ask(gate)
    assert (answer.status, answer.headers["x-clew-backend"]) == (502, "gone")
    assert not {"retry-after", "request-id", "anthropic-organization-id"} & set(answer.headers)
    assert exchange_of(gate, answer).request_id == ""


def test_the_request_is_projected_anew_for_anyone_who_answers(gating: Gating, a: Simulator, b: Simulator) -> None:
    """A failover is a switch like any other: nobody gets anybody else's blocks."""
    gate = gating(claude(a), other(b), failover=("glm",), retry=ONCE)
    talk = Talk(gate)
    talk.says("One.")
    a.fault("status 529", times=2)
    talk.says("Two.")
    answer = talk.says("Three.")
    assert answer.headers["x-clew-backend"] == "claude"
    assert answer.headers["x-clew-thinking"] == "kept=3, restored=0, left-out=2, handed-over=0, healed=0"
    assert (refusals(a), refusals(b)) == ([], [])


@pytest.mark.parametrize(
    "fault",
    [
        "content-type text/html",
        "status 200 body='<html>Welcome</html>' content-type=text/html",
        "status 302 location=http://127.0.0.1:1/",
        "status 502 body='<html>Bad gateway</html>' content-type=text/html",
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_of_the_wrong_kind_is_no_answer(gating: Gating, a: Simulator, fault: str, stream: bool) -> None:
    """U17, U18: said in the client's shape; and not followed anywhere."""
    gate = gating(claude(a), retry=ONCE)
    a.fault(fault)
    answer = ask(gate, stream=stream)
    assert (answer.status, answer.headers["content-type"]) == (502, "application/json")
    assert set(answer.json) == {"type", "error", "request_id"}
    assert answer.json["error"]["type"] == "api_error"


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_a_packed_answer_is_not_unpacked(gating: Gating, a: Simulator, coding: str) -> None:
    """U16: nobody asked for one."""
    gate = gating(claude(a), retry=ONCE)
    a.fault(f"bomb 10000000 coding={coding}")
    answer = ask(gate)
    assert (answer.status, answer.json["error"]["type"]) == (502, "api_error")
    assert coding in answer.json["error"]["message"]


@pytest.mark.parametrize("fault", ["stall 100 after=0", "pings every=1 after=1"])
def test_an_answer_without_content_ends_in_the_next_backends_answer(
    clock: Clock, gating: Gating, a: Simulator, b: Simulator, fault: str
) -> None:
    """U8, U9: a 200, and then nothing, or pings for ever."""
    gate = gating(claude(a), other(b), failover=("glm",), retry=ONCE, first_content_seconds=10)
    a.fault(fault)
    with ThreadPoolExecutor() as clients:
        asked = clients.submit(ask, gate)
        until(lambda: len(a.journal()) == 1)
        clock.pass_time(10)
        answer = asked.result(120)
    assert is_clean(answer)
    assert "ping" not in answer.kinds[:1]
    assert answer.headers["x-clew-backend"] == "glm"


def test_an_impossible_order_before_any_content_is_asked_for_again(gating: Gating, a: Simulator) -> None:
    """U14."""
    gate = gating(claude(a), retry=QUICK)
    a.fault("repeat message_start")
    answer = ask(gate)
    assert is_clean(answer)
    assert len(asked_of(a)) == 2


def test_two_gateways_of_one_home_ask_like_one(gating: Gating, a: Simulator) -> None:
    """Several processes on one file: what the one heard, the other finds."""
    one, two = gating(claude(a)), gating(claude(a))
    talk = Talk(one)
    for turn, gate in enumerate((one, two) * 3):
        talk.gate = gate
        talk.says(f"Question {turn}.")
        assert len(thoughts_in(last_asked(a))) == 2 * turn + 1
        talk.forgets_thinking()
    assert refusals(a) == []


def test_what_one_process_learnt_about_a_backend_others_can_see(gating: Gating, a: Simulator, b: Simulator) -> None:
    """Of two gateways of one home, the one that was not refused knows it too; it finds out by itself whether it is so."""
    patience = Retry(retries=0, first_wait=0.01, cool_seconds=30.0)
    one, two = (gating(claude(a), other(b), failover=("glm",), retry=patience) for _ in range(2))
    a.fault("status 529", times=1)
    assert tries(one, ask(one)) == [("claude", 529), ("glm", 200)]
    assert two.store is not None
    store = two.store
    until(lambda: cool_downs_in(store, time.time()))
    left = cool_downs_in(store, time.time())
    assert (left.keys(), 20.0 < left["claude"] <= 30.0) == ({"claude"}, True)
    assert tries(two, ask(two)) == [("claude", 200)]

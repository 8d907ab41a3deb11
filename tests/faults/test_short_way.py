"""The short way: what passes from callbacks, without a task, and goes on in one from where it stands when it must."""

from __future__ import annotations

import pytest

from clew.settings.values import Retry
from clew.testing import Simulator
from tests.engine.gate import claude
from tests.faults.conftest import Calling, Gating
from tests.faults.scene import asked, impatient, kept, outcomes, question, story
from tests.waiting import until

pytestmark = pytest.mark.slow

ONCE = Retry(retries=0)


@pytest.mark.parametrize("known", [False, True], ids=["first", "second"])
def test_an_answer_under_way_needs_no_task(gating: Gating, a: Simulator, calling: Calling, known: bool) -> None:
    """On a new connection and on one that rests: anyone who holds a thousand streams holds no thousand tasks."""
    gate = gating(claude(a))
    if known:
        assert gate.ask(question()).status == 200
    a.fault("stall 60 content=3")
    client = calling(gate).asks(question())
    client.read_until(b"content_block_delta")
    until(lambda: gate.tasks() == 0)
    client.leaves()
    assert outcomes(gate, 1 + known)[-1] == "cut"


@pytest.mark.parametrize(
    ("fault", "stream"),
    [
        ("status 500", True),
        ("status 500", False),
        ("error overloaded_error after=1", True),
        ("cut after=1 how=fin", True),
        ("cut after=1 how=rst", True),
        ("cut at=20 how=rst", False),
    ],
)
def test_what_fails_before_its_content_on_a_kept_connection_is_asked_for_elsewhere(
    gating: Gating, a: Simulator, b: Simulator, fault: str, stream: bool
) -> None:
    """The client sees none of it: what was taken of the answer is put back, and the long way decides."""
    gate = gating(claude(a), claude(b, "spare"), failover=("spare",), **impatient(retry=ONCE))
    assert gate.ask(question()).status == 200
    a.fault(fault)
    answer = gate.ask(question(stream=stream))
    assert (answer.status, answer.headers["x-clew-backend"]) == (200, "spare")
    assert not stream or story(answer) == "whole"
    assert (asked(a, b), [each.outcome for each in kept(gate, 2)]) == ([2, 1], ["whole", "whole"])


def test_an_answer_that_breaks_off_on_a_kept_connection_is_told_and_kept_as_far_as_it_came(
    gating: Gating, a: Simulator
) -> None:
    gate = gating(claude(a))
    assert gate.ask(question()).status == 200
    a.fault("cut content=3 how=rst")
    assert story(gate.ask(question())) == "error"
    assert [each.outcome for each in kept(gate, 2)] == ["whole", "cut"]


def test_an_answer_that_said_its_end_waits_no_longer_for_the_end_of_its_body(
    gating: Gating, a: Simulator, calling: Calling
) -> None:
    """It comes in one read, or nearly: the rest of the body is waited for a moment, without a task."""
    gate = gating(claude(a))
    assert gate.ask(question()).status == 200
    a.fault("stall 600 after=99")
    client = calling(gate).asks(question())
    assert b"message_stop" in client.read_until(b"0\r\n\r\n")
    assert [each.outcome for each in kept(gate, 2)] == ["whole", "whole"]
    assert client.asks(question("again")).answer().status == 200

"""The next question on connections that are in use already, on real sockets: clients that leave, backends that fail."""

from __future__ import annotations

import time

import pytest

from clew.engine.open_turns import FIRST_FLUSH
from clew.settings.values import Retry
from clew.testing import Simulator
from tests.build import assistant, user
from tests.engine.gate import Gate, claude
from tests.engine.talk import content_of
from tests.faults.conftest import Calling, Gating
from tests.faults.scene import Client, endings, impatient, kept, outcomes, question, story
from tests.waiting import until

pytestmark = pytest.mark.slow

ONCE = Retry(retries=0)


def warm(gate: Gate, calling: Calling, *, stream: bool) -> Client:
    """A client that has asked before, on connections that are kept."""
    client = calling(gate)
    for _ in range(2):
        assert client.asks(question(stream=stream)).answer().status == 200
    return client


@pytest.mark.parametrize("store", [True, False])
@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves_takes_the_backends_connection_with_it(
    gating: Gating, a: Simulator, calling: Calling, stream: bool, store: bool
) -> None:
    """The backend stops within a second, and nothing is left behind."""
    gate = gating(claude(a), store=store)
    client = warm(gate, calling, stream=stream)
    a.fault("stall 60 content=3" if stream else "stall 60")
    client.asks(question(stream=stream))
    until(lambda: len(a.journal()) == 3)
    client.leaves()
    assert endings(a) == ["whole", "whole", "client left"]
    until(lambda: gate.tasks() == 0)
    assert not store or outcomes(gate, 3) == ["whole", "whole", "cut"]
    assert gate.ask(question()).status == 200


@pytest.mark.parametrize("store", [True, False])
@pytest.mark.parametrize(
    ("fault", "stream"),
    [
        ("status 500", True),
        ("status 500", False),
        ("error overloaded_error after=1", True),
        ("cut after=1 how=rst", True),
        ("cut at=20 how=rst", False),
    ],
)
def test_what_fails_before_its_content_is_asked_for_elsewhere(
    gating: Gating, a: Simulator, b: Simulator, calling: Calling, fault: str, stream: bool, store: bool
) -> None:
    gate = gating(claude(a), claude(b, "spare"), failover=("spare",), store=store, **impatient(retry=ONCE))
    client = warm(gate, calling, stream=stream)
    a.fault(fault)
    answer = client.asks(question(stream=stream)).answer()
    assert (answer.status, answer.headers["x-clew-backend"]) == (200, "spare")
    if store:
        last = kept(gate, 3)[-1]
        assert (last.backend, last.outcome, [each.backend for each in last.tries]) == ("spare", "whole", ["claude", "spare"])


@pytest.mark.parametrize("store", [True, False])
def test_an_answer_that_breaks_off_is_told_as_far_as_it_came(
    gating: Gating, a: Simulator, calling: Calling, store: bool
) -> None:
    gate = gating(claude(a), store=store)
    client = warm(gate, calling, stream=True)
    a.fault("cut content=3 how=rst")
    assert story(client.asks(question()).answer()) == "error"
    assert not store or outcomes(gate, 3) == ["whole", "whole", "cut"]


@pytest.mark.parametrize("lasts", [True, False])
def test_the_next_turn_knows_the_answer_before_it(gating: Gating, a: Simulator, calling: Calling, lasts: bool) -> None:
    """However that came: all at once, or for so long that it was kept while it came."""
    gate = gating(claude(a))
    client = warm(gate, calling, stream=True)
    if lasts:
        a.fault(f"stall {2 * FIRST_FLUSH} content=3")
    said = content_of(client.asks(question()).answer())
    next = question() | {"messages": [user("Why?"), assistant(*said), user("Go on.")]}
    assert story(client.asks(next).answer()) == "whole"
    third, fourth = kept(gate, 4)[2:]
    assert (third.outcome, third.thread, fourth.thread) == ("whole", third.id, third.id)


def test_a_thread_that_is_deleted_while_its_answer_comes_stays_deleted(
    gating: Gating, a: Simulator, calling: Calling
) -> None:
    """What happened to it is kept, and no word of it."""
    gate = gating(claude(a))
    client, store = warm(gate, calling, stream=True), gate.store
    assert store is not None
    a.fault("stall 60 content=3")
    client.asks(question())
    (open,) = until(lambda: [each for each in store.exchanges("local", limit=9) if each.outcome == "open"])
    assert store.forget("local", open.thread, at=time.time()).result(120)
    client.leaves()
    until(lambda: gate.tasks() == 0)
    last = until(lambda: store.exchange("local", open.id))
    assert (last.kind, last.outcome, last.thread) == ("forgotten", "cut", "")
    assert store.bodies("local", open.id) is None

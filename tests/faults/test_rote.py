"""By rote on real sockets: a client that leaves, a backend that fails and a gateway that ends find nothing unusual in it."""

from __future__ import annotations

import pytest

from clew.settings.values import Retry
from clew.testing import Simulator
from tests.engine.gate import Gate, claude
from tests.faults.conftest import Calling, Gating
from tests.faults.scene import Client, endings, impatient, question, story, until

pytestmark = pytest.mark.slow

ONCE = Retry(retries=0)


def warm(gate: Gate, calling: Calling, *, stream: bool) -> Client:
    """A client whose next question of this kind goes by rote."""
    client = calling(gate)
    for _ in range(2):
        assert client.asks(question(stream=stream)).answer().status == 200
    return client


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves_takes_the_backends_connection_with_it(
    gating: Gating, a: Simulator, calling: Calling, stream: bool
) -> None:
    """The backend stops within a second, and nothing is left behind."""
    gate = gating(claude(a), store=False)
    client = warm(gate, calling, stream=stream)
    a.fault("stall 60 content=3" if stream else "stall 60")
    client.asks(question(stream=stream))
    until(lambda: len(a.journal()) == 3)
    client.leaves()
    assert endings(a) == ["whole", "whole", "client left"]
    until(lambda: gate.tasks() == 0)
    assert gate.ask(question()).status == 200


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
    gating: Gating, a: Simulator, b: Simulator, calling: Calling, fault: str, stream: bool
) -> None:
    gate = gating(claude(a), claude(b, "spare"), failover=("spare",), store=False, **impatient(retry=ONCE))
    client = warm(gate, calling, stream=stream)
    a.fault(fault)
    answer = client.asks(question(stream=stream)).answer()
    assert (answer.status, answer.headers["x-clew-backend"]) == (200, "spare")


def test_an_answer_that_breaks_off_is_told_as_far_as_it_came(gating: Gating, a: Simulator, calling: Calling) -> None:
    gate = gating(claude(a), store=False)
    client = warm(gate, calling, stream=True)
    a.fault("cut content=3 how=rst")
    assert story(client.asks(question()).answer()) == "error"

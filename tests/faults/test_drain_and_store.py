"""The end of a gateway while the store commits a whole answer: its client gets the end, and not an error."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from threading import Thread

import pytest

from clew.testing import Simulator
from tests.database import connected
from tests.engine.conftest import Gating
from tests.engine.gate import Gate, claude
from tests.faults.scene import Client, kept, question, story
from tests.manifest import proves
from tests.waiting import until

pytestmark = pytest.mark.slow

LARGE = "x" * 300_000
"""So much that it is worked on in a thread and waited for in a task."""


@contextmanager
def locked(gate: Gate) -> Iterator[None]:
    with closing(connected(gate.home / "clew.db")) as file:
        file.set_busy_timeout(10_000)
        file.execute("BEGIN IMMEDIATE")
        yield


@proves("fault:P1")
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("words", ["Why?", LARGE], ids=["small", "large"])
@pytest.mark.parametrize("again", [False, True], ids=["first", "again"])
@pytest.mark.real_time
def test_an_answer_that_only_waits_for_the_store_ends_as_it_is(
    gating: Gating, a: Simulator, stream: bool, words: str, again: bool
) -> None:
    """P1: it is recorded as whole, so anyone who is told of an overload would ask, and pay, again."""
    gate = gating(claude(a))
    if again:
        gate.ask(question(words, stream=stream))
    before = len(a.journal())
    with locked(gate):
        client = Client(gate).asks(question(words, stream=stream))
        until(lambda: [entry["ended"] for entry in a.journal()[before:]] == ["whole"])
        time.sleep(0.1)  # for what it sent to be heard
        drain = Thread(target=gate.call, args=(gate.closed(),))
        drain.start()
        time.sleep(0.1)
    answer = client.answer()
    drain.join(120)
    client.leaves()
    assert (answer.status, story(answer)) == (200, "whole")
    assert [exchange.outcome for exchange in kept(gate, 1 + again)] == ["whole"] * (1 + again)

"""Slots and the fair queue in front of them."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as some

from clew.limits import slots as slots_module
from clew.limits.slots import FairQueue, Slots, SlotTicket


def test_owners_take_turns() -> None:
    queue: FairQueue[str] = FairQueue()
    for item in ("a1", "a2", "a3", "b1", "c1", "c2"):
        queue.put(item[0], item)
    assert [queue.take() for _ in range(len(queue))] == ["a1", "b1", "c1", "a2", "c2", "a3"]
    with pytest.raises(KeyError):
        queue.take()


def test_an_item_that_left_is_not_served() -> None:
    queue: FairQueue[str] = FairQueue()
    queue.put("a", "a1")
    queue.put("a", "a2")
    assert queue.drop("a", "a1")
    assert not queue.drop("a", "a1")
    assert not queue.drop("b", "b1")
    assert queue.take() == "a2"


@given(some.lists(some.tuples(some.sampled_from("abc"), some.booleans()), max_size=60), some.integers(1, 4))
def test_never_more_than_allowed_run_and_everybody_is_served_in_the_end(story: list[tuple[str, bool]], most: int) -> None:
    slots, served, tickets = Slots(), list[int](), list[SlotTicket]()
    for owner, leaves_first in story:
        number = len(tickets)
        ticket = SlotTicket(owner, partial(served.append, number))
        if leaves_first and tickets:
            slots.leave(tickets[0], most)
            tickets.pop(0)
        tickets.append(ticket)
        assert slots.enter(ticket, most)
        assert slots.running <= most
        assert slots.waiting == 0 or slots.running == most
    while tickets:
        ready = next(ticket for ticket in tickets if ticket.has_slot)
        tickets.remove(ready)
        slots.leave(ready, most)
    assert (slots.running, slots.waiting) == (0, 0)


def test_too_many_that_wait_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots_module, "MOST_WAITING", 1)
    slots, tickets = Slots(), [SlotTicket("a", lambda: None) for _ in range(3)]
    assert [slots.enter(ticket, 1) for ticket in tickets] == [True, True, False]

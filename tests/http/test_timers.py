"""Rounds: who waits is called in time, and nobody who left."""

import asyncio
from collections.abc import Callable
from typing import Any

from clew.http.timers import TimerGroups, timer_groups_of


class Loop:
    """A clock that is set by hand, and the one timer that it has."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.due: tuple[float, Callable[[], None]] | None = None
        self.troubles: list[Any] = []

    def time(self) -> float:
        return self.now

    def call_later(self, delay: float, call: Callable[[], None]) -> "Loop":
        assert self.due is None, "one timer for all"
        self.due = (self.now + delay, call)
        return self

    def cancel(self) -> None:
        self.due = None

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.troubles.append(context["exception"])

    def pass_until(self, end: float) -> None:
        while self.due is not None and self.due[0] <= end:
            (self.now, call), self.due = self.due, None
            call()
        self.now = end


class Waiting:
    """Joins again until its moment has come, as all do."""

    def __init__(self, rounds: TimerGroups, when: float) -> None:
        self.rounds, self.when = rounds, when
        self.then: Callable[[], None] = lambda: None
        self.called: list[float] = []
        self.at = rounds.join(when, self)

    def look(self) -> None:
        self.called.append(self.rounds.now())
        self.then()
        if self.rounds.now() + 0.001 < self.when:
            self.at = self.rounds.join(self.when, self)


def made() -> tuple[Loop, TimerGroups]:
    loop: Any = Loop()
    return loop, TimerGroups(loop)


def test_who_waits_is_called_a_little_before_its_moment_and_then_in_it() -> None:
    """Pings and patience: no later than a millisecond, however long the wait, and with few looks before."""
    loop, rounds = made()
    waits = [0.003, 0.25, 1.0, 15.0, 15.1, 60.0, 300.0]
    waiting = [Waiting(rounds, loop.now + wait) for wait in waits]

    loop.pass_until(1400.0)

    assert [abs(each.called[-1] - each.when) <= 0.0011 for each in waiting] == [True] * len(waits)
    assert [each.called[0] >= each.when - wait / 32 - 0.001 for each, wait in zip(waiting, waits, strict=True)] == [
        True
    ] * len(waits)
    assert max(len(each.called) for each in waiting) <= 5
    assert loop.due is None


def test_who_waits_is_called_in_time_though_another_joins_for_later_just_before() -> None:
    """A stream that is silent for too long is ended in time, whenever another one had its ping and waits for the next."""
    loop, rounds = made()
    pinged = Waiting(rounds, 1000.25)
    silent = Waiting(rounds, 1000.75)
    pinged.then = lambda: setattr(pinged, "when", 1015.0)

    loop.pass_until(1020.0)

    assert [abs(each.called[-1] - each.when) <= 0.0011 for each in (silent, pinged)] == [True, True]


def test_who_left_is_not_called_even_if_it_leaves_in_the_same_round() -> None:
    """A stream that ends while others of its round are called gets no ping."""
    loop, rounds = made()
    first, second, gone = Waiting(rounds, 1015.0), Waiting(rounds, 1015.0), Waiting(rounds, 1015.0)
    rounds.leave(gone.at, gone)
    first.then = lambda: rounds.leave(second.at, second)
    second.then = lambda: rounds.leave(first.at, first)

    loop.pass_until(1020.0)

    assert sorted(map(len, [first.called, second.called, gone.called])) == [0, 0, 1]


def test_what_one_does_wrong_is_told_and_the_others_are_called() -> None:
    """Nothing that goes wrong in one stream may be lost, or stop another."""
    loop, rounds = made()
    wrong, right = Waiting(rounds, 1000.5), Waiting(rounds, 1000.5)
    error = ValueError("wrong")

    def fail() -> None:
        raise error

    wrong.then = fail
    loop.pass_until(1001.0)

    assert (loop.troubles, right.called != []) == ([error], True)


def test_a_loop_has_its_own_rounds_and_one_that_is_over_none() -> None:
    """Nothing is kept of a loop that is closed."""

    async def mine() -> tuple[TimerGroups, bool]:
        loop = asyncio.get_running_loop()
        return timer_groups_of(loop), timer_groups_of(loop) is timer_groups_of(loop)

    (one, kept), (other, also_kept) = asyncio.run(mine()), asyncio.run(mine())
    assert (kept, also_kept, one is other) == (True, True, False)

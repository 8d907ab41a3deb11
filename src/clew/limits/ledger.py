"""The ledger: what is known of all that was used, and whether there is room for one more request.

What other processes used is as the store said last; what this process used is known at once. So a soft limit lets through at
most what all gateways admit between two readings of the store, and what was under way then. Without a clock and without I/O.

Commands, pages and the API show what was used of each limit (`limit_uses`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from clew.limits.limit import Amounts, Limit, LimitScope, Unit, dollars, rounded_dollars, window_at, window_name
from clew.model.turn import Charge

# Rates: so many requests a minute, spread evenly (GCRA). One number remembers everything.


BURST = 10.0
"""Seconds of a rate that may come at once."""


class RateState:
    """Of one limit in one process. Times are of a clock that never jumps."""

    __slots__ = ("_due",)

    def __init__(self) -> None:
        self._due = 0.0
        """When the next request would come if they were spread evenly."""

    def wait(self, rate: float, now: float) -> float:
        """Seconds until a request may come; 0 if it may now. `rate` is requests a second."""
        if rate <= 0:
            return float("inf")
        return max(0.0, self._due - now - max(0.0, BURST - 1 / rate))

    def take(self, rate: float, now: float) -> None:
        """Count a request that is admitted now."""
        self._due = max(self._due, now) + 1 / rate


class CountedWindow(NamedTuple):
    """What sums are kept by: a scope, and one of its windows."""

    scope: str
    seconds: int
    start: int


class WindowTotal(NamedTuple):
    """What a store knows of a window: what this process wrote there, and all the others."""

    own: Amounts = Amounts()
    others: Amounts = Amounts()


class Overrun(Struct, frozen=True, kw_only=True):
    """Why a request is refused: the limit, how much is used, and how many seconds until there is room."""

    limit: Limit
    used: int
    wait: float
    wanted: int = 0
    """What a hard limit would have to reserve."""

    @property
    def words(self) -> str:
        limit = self.limit
        name = f"the {limit.scope.kind} {limit.scope.name!r}"
        if limit.is_rate:
            return f"{name} may send {limit.words}. Try again in {_seconds(self.wait)}."
        used, wanted = (dollars(each) if limit.unit == "usd" else f"{each:,}" for each in (self.used, self.wanted))
        end = f"(used: {used}). Its {window_name(limit.seconds)} window ends in {_seconds(self.wait)}."
        if self.wanted:
            return f"The limit of {name} leaves no room for this request, which may use {wanted}: {limit.words} {end}"
        return f"The limit of {name} is reached: {limit.words} {end}"


class LimitLedger:
    """Of one process. Belongs to one thread, but for the limits and for what the store says."""

    def __init__(self) -> None:
        self._limits: dict[str, tuple[Limit, ...]] = {}
        self._own: dict[CountedWindow, Amounts] = {}
        self._known: Mapping[CountedWindow, WindowTotal] = {}
        self._rates: dict[tuple[str, Unit], RateState] = {}
        self._running: dict[str, int] = {}
        """Requests that are under way, by scope: they count as requests before they are over."""

    @property
    def limits(self) -> tuple[Limit, ...]:
        return tuple(limit for limits in self._limits.values() for limit in limits)

    @property
    def has_money(self) -> bool:
        return any(limit.unit == "usd" for limit in self.limits)

    def set_limits(self, limits: Iterable[Limit]) -> None:
        found: dict[str, tuple[Limit, ...]] = {}
        for limit in limits:
            found[str(limit.scope)] = (*found.get(str(limit.scope), ()), limit)
        self._limits = found

    def limits_of(self, scopes: Iterable[LimitScope]) -> tuple[Limit, ...]:
        """The limits that hold for a request."""
        return tuple(limit for scope in scopes for limit in self._limits.get(str(scope), ()))

    # Room for one more

    def overrun(self, limits: Sequence[Limit], *, now: float, wall: float, gateways: int = 1) -> Overrun | None:
        """A limit without room, the longest wait first, or None. Hard limits are left to the store, but for their rates."""
        found: list[Overrun] = []
        for limit in limits:
            if limit.is_rate:
                wait = self._rate(limit).wait(limit.cap / limit.seconds / gateways, now)
                found += [Overrun(limit=limit, used=limit.cap, wait=min(wait, limit.seconds))] if wait > 0 else []
            elif limit.is_budget and not limit.hard and (used := self.used(limit, wall)) >= limit.cap:
                found.append(Overrun(limit=limit, used=used, wait=window_at(wall, limit.seconds).end - wall))
        return max(found, key=lambda each: each.wait, default=None)

    def used(self, limit: Limit, wall: float) -> int:
        """How much of a limit is used in the present window, as far as is known here."""
        counted = CountedWindow(str(limit.scope), limit.seconds, window_at(wall, limit.seconds).start)
        known = self._known.get(counted, WindowTotal())
        own, kept = self._own.get(counted, Amounts()).of(limit.unit), known.own.of(limit.unit)
        under_way = self._running.get(counted.scope, 0) if limit.unit == "requests" else 0
        # A turn that was kept on this machine alone, by an earlier process, is shipped under this one's name.
        return known.others.of(limit.unit) + max(own, kept) + under_way

    # What is used

    def begin(self, limits: Sequence[Limit], *, now: float, gateways: int = 1) -> None:
        """Count a request that is admitted now."""
        for limit in limits:
            if limit.is_rate:
                self._rate(limit).take(limit.cap / limit.seconds / gateways, now)
        for scope in {str(limit.scope) for limit in limits}:
            self._running[scope] = self._running.get(scope, 0) + 1

    def end(self, limits: Sequence[Limit]) -> None:
        """Note that an admitted request is over."""
        for scope in {str(limit.scope) for limit in limits}:
            self._running[scope] = self._running.get(scope, 1) - 1
            if not self._running[scope]:
                del self._running[scope]

    def charge(self, limits: Sequence[Limit], used: Amounts, wall: float) -> tuple[Charge, ...]:
        """Count what a request used. The charges that are returned have to be recorded with its turn."""
        windows = dict.fromkeys(
            CountedWindow(str(limit.scope), limit.seconds, window_at(wall, limit.seconds).start)
            for limit in limits
            if limit.is_budget
        )
        if len(self._own) > 2 * len(self.limits) + len(windows):  # windows that are over are forgotten
            self._own = {counted: sums for counted, sums in self._own.items() if counted.start + counted.seconds > wall}
        for counted in windows:
            self._own[counted] = self._own.get(counted, Amounts()).plus(used)
        return tuple(Charge(*counted, *used) for counted in windows)

    # What the store says

    def learn(self, totals: Mapping[CountedWindow, WindowTotal]) -> None:
        """Take over the sums that the store has. Any thread may call it."""
        self._known = totals

    def _rate(self, limit: Limit) -> RateState:
        return self._rates.setdefault((str(limit.scope), limit.unit), RateState())


def _seconds(wait: float) -> str:
    """For people: 40 s, 12 min, 3 h, 2 d.

    >>> _seconds(39.2), _seconds(700), _seconds(10_000), _seconds(200_000)
    ('40 s', '12 min', '3 h', '3 d')
    """
    for length, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if wait > 1.5 * length:
            return f"{-int(-wait // length)} {unit}"
    return f"{-int(-wait // 1)} s"


class LimitUse(Struct, frozen=True, kw_only=True):
    """A limit, and what was used in its present window. Rates and parallel requests are known to each gateway alone."""

    limit: Limit
    used: int | None = None
    ends: int | None = None
    """When the window ends; None where there is none."""

    @property
    def used_words(self) -> str:
        return "" if self.used is None else _words(self.limit, self.used)

    @property
    def left_words(self) -> str:
        return "" if self.used is None else _words(self.limit, max(0, self.limit.cap - self.used))


def limit_uses(limits: Sequence[Limit], totals: Mapping[CountedWindow, WindowTotal], now: float) -> list[LimitUse]:
    """Each limit with what is used of it."""
    found: list[LimitUse] = []
    for limit in limits:
        if not limit.is_budget:
            found.append(LimitUse(limit=limit))
            continue
        window = window_at(now, limit.seconds)
        total = totals.get(CountedWindow(str(limit.scope), limit.seconds, window.start), WindowTotal())
        used = total.own.plus(total.others).of(limit.unit)
        found.append(LimitUse(limit=limit, used=used, ends=window.end))
    return found


def _words(limit: Limit, amount: int) -> str:
    return rounded_dollars(amount) if limit.unit == "usd" else f"{amount:,}"

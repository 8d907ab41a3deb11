"""Counts and conditions of a store: what was used, what became of thinking, how healthy and how large the store is."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

from clew.model.turn import TokenUsage

DAY: Final = 86_400.0


class UsageTotal(Struct, frozen=True, kw_only=True):
    """Usage added up for one backend and model."""

    backend: str
    model: str
    calls: int
    usage: TokenUsage


class DayUsage(Struct, frozen=True, kw_only=True):
    """Usage of one local day (`2026-11-16`), backend and model.

    Calls with prompts of very different lengths are counted apart, because their prices differ.
    """

    day: str
    backend: str
    model: str
    calls: int
    usage: TokenUsage


class DayAnswers(Struct, frozen=True, kw_only=True):
    """How a day's requests to one backend and model ended: how many there were, how many were answered to their end, and how
    many of those answers had thinking.

    `first_byte` and `seconds` are how long each took to its first content, and to its end; sorted.
    """

    day: str
    backend: str
    model: str
    asked: int
    whole: int
    thought: int
    first_byte: tuple[float, ...]
    seconds: tuple[float, ...]


class Days(Struct, frozen=True, kw_only=True):
    """Usage and answers by day. Usage is kept for longer than the rest."""

    spent: tuple[DayUsage, ...] = ()
    answers: tuple[DayAnswers, ...] = ()


class Statistics(Struct, frozen=True, kw_only=True):
    """Thinking blocks of one principal.

    `total` is the sum of the next two, and of the two after. A *session* is what the present backend made: there is no
    proxy-wide counter here (law 7). `dormant` blocks of the total were in no request for a while, and are still valid when
    they return; `unknown` blocks came in requests and were never recorded, so they are not part of the total.
    """

    total: int = 0
    confirmed: int = 0
    unconfirmed: int = 0
    current_session: int = 0
    old_session: int = 0
    dormant: int = 0
    unknown: int = 0


class Retention(Struct, frozen=True, kw_only=True):
    """What may stay. `age` counts from the last use; None is no limit. Usage has its own age: it holds no text."""

    age: float | None = 90 * DAY
    bytes: int | None = 2 << 30
    usage_age: float | None = 400 * DAY


class Health(Struct, frozen=True, kw_only=True):
    """Whether the store writes: "ok"; "degraded" after a failure that may pass; "read-only" after one that may not.

    `why` says what failed; `warning` says what will fail if nothing is done.
    """

    state: Literal["ok", "degraded", "read-only"] = "ok"
    why: str = ""
    warning: str = ""
    waiting: int = 0
    wal_bytes: int = 0
    skipped: int = 0
    """Bodies that were not kept: too many waited, or one could not be compressed or written."""


class StoreSize(Struct, frozen=True, kw_only=True):
    """Bytes of the store, and of its log of committed changes that are not yet in the store itself, where it has one."""

    bytes: int = 0
    log_bytes: int = 0


class Deletions(Struct, frozen=True, array_like=True):
    """How many threads were deleted of late, and when the last one was. Each deletion changes the value."""

    count: int
    last: float


class StoreFault(Struct, frozen=True):
    """Something that `verify` found: which record ("" for the file) and what is wrong with it."""

    record: str
    what: str


class ClockDoubt(Struct, frozen=True):
    """Why this machine's clock may be wrong: it said `since` when the store had last seen about `before`."""

    since: float
    before: float
    is_new: bool = False

    def __str__(self) -> str:
        days = (self.since - self.before) / DAY
        return (
            f"this machine's clock is {days:.0f} days past the last time that clew saw, so it may be wrong: "
            "nothing is deleted for its age during 24 hours"
        )

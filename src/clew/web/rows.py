"""Rows of lists: exchanges and limits.

The row of an exchange says what was asked and what answered, how it went, and what became of its thinking, as chips. A chip
shows its reasons when it is pointed at. They are grouped: a history with forty blocks of one maker has one reason forty
times.

The row of a limit says how much of it is used and left, and when its window ends. It is on Now and on Usage.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from clew.backends.row import Backend
from clew.chat.prices import Cost, cost_of
from clew.limits.ledger import LimitUse, limit_uses
from clew.limits.limit import Limit
from clew.model.change import THINKING_STEPS, Change, What, count_of
from clew.model.turn import Exchange, TokenUsage
from clew.store import Store
from clew.store.text import ending_word

Mood: TypeAlias = Literal["", "good", "warn", "bad"]

_NAMED: Final[tuple[What, ...]] = ("restored", "handed over", "left out", "healed")
_MOST_REASONS: Final = 8


class Chip(Struct, frozen=True):
    """A label with its reasons. `kind` is the name of its colour."""

    kind: str
    label: str
    reasons: tuple[str, ...]


class ExchangeRow(Struct, frozen=True):
    """A row. `key` changes whenever the row looks different."""

    key: str
    exchange: Exchange
    ending: str
    mood: Mood
    seconds: float
    share: float | None
    chips: tuple[Chip, ...]
    marks: tuple[Chip, ...] = ()
    """What is unusual about the exchange: a sub-agent's, another API, a count, a title, several tries."""


def row_of(exchange: Exchange) -> ExchangeRow:
    ending, mood = ending_of(exchange)
    return ExchangeRow(
        key=f"{exchange.id} {exchange.outcome}",
        exchange=exchange,
        ending=ending,
        mood=mood,
        seconds=max(0.0, exchange.ended - exchange.started),
        share=cache_share(exchange.usage),
        chips=tuple(chips_of(exchange)),
        marks=tuple(_marks_of(exchange)),
    )


def ending_of(exchange: Exchange) -> tuple[str, Mood]:
    """How it went, in a word or two, and the colour for it."""
    if exchange.kind == "forgotten":
        return "deleted meanwhile", ""
    match exchange.outcome:
        case "whole":
            return exchange.stop_reason or "whole", "warn" if exchange.stop_reason in ("max_tokens", "refusal") else "good"
        case "open":
            return "under way", ""
        case "cut":
            return ending_word(exchange), "warn"
        case other:
            return f"{other} ({exchange.status})" if exchange.status else other, "bad"


def cache_share(usage: TokenUsage | None) -> float | None:
    """How much of the prompt came from the cache; None where there was no prompt."""
    return usage.cache_read / usage.prompt if usage and usage.prompt else None


def cost_in(exchange: Exchange, backends: Mapping[str, Backend]) -> Cost | None:
    """The cost of an exchange at list prices; None if no price is known."""
    row, whole = backends.get(exchange.backend), exchange.outcome == "whole"
    return cost_of(exchange.model, exchange.usage, backend=row, complete=whole, at=exchange.ended)


def chips_of(exchange: Exchange) -> Iterable[Chip]:
    """What became of the thinking; then whatever else was changed, as one."""
    if exchange.kept:
        yield Chip("kept", f"{exchange.kept} kept", ("went on as the client sent them",))
    about = [change for change in exchange.changes if change.step in THINKING_STEPS]
    for what in _NAMED:
        if some := [change for change in about if change.what == what]:
            yield Chip(what.replace(" ", "-"), f"{count_of(some)} {what}", reasons(some))
    if others := [change for change in exchange.changes if change.step not in THINKING_STEPS or change.what not in _NAMED]:
        count = count_of(others)
        yield Chip("", f"{count} {'edit' if count == 1 else 'edits'}", reasons(others, places=True))


def _marks_of(exchange: Exchange) -> Iterable[Chip]:
    if exchange.agent:
        yield Chip("", "sub-agent", (exchange.agent,))
    if exchange.dialect != "anthropic":
        speaks = f"the client speaks {exchange.dialect}"
        yield Chip(
            "",
            exchange.client_api,
            ("asked in Chat, in the terminal or by a program" if exchange.dialect == "events" else speaks,),
        )
    if exchange.kind == "count_tokens":
        yield Chip("", "count", ("tokens were counted, nothing was answered",))
    if exchange.kind == "title":
        yield Chip("", "title", ("the client asked for a title of a conversation",))
    if exchange.kind == "compact":
        yield Chip("", "summary", ("the client asked for a summary in place of its history",))
    if len(exchange.tries) > 1:
        tried = (f"{each.backend}: {each.status or 'no answer'}" for each in exchange.tries)
        yield Chip("warn", f"{len(exchange.tries)} tries", tuple(tried))


def reasons(changes: Iterable[Change], *, places: bool = False) -> tuple[str, ...]:
    """Each reason once, with how often. `places`: with what was done where."""
    counts = Counter[str]()
    for change in changes:
        counts[f"{change.what} {change.path}: {change.why}" if places else change.why] += change.count
    lines = [f"{why} (× {times})" if times > 1 else why for why, times in counts.items()]
    more = len(lines) - _MOST_REASONS
    return (*lines[:_MOST_REASONS], f"and {more} more") if more > 0 else tuple(lines)


_HIGH = 0.8
"""A limit of which so much is used will soon be reached."""


class LimitLine(Struct, frozen=True, kw_only=True):
    """One limit. `share` is how much of it is used, None where each gateway counts for itself."""

    limit: Limit
    used: str
    left: str
    share: float | None
    ends: int | None
    mood: Mood


def limit_lines(store: Store | None) -> list[LimitLine]:
    """The most used first. Reads the store: call it in a thread."""
    found = store.limits.all() if store else ()
    if store is None or not found:
        return []
    now = time.time()
    return lines_of(limit_uses(found, store.limits.totals(now), now))


def lines_of(uses: Iterable[LimitUse]) -> list[LimitLine]:
    """The limits, the most used first; those that are on no sum come last."""
    return sorted(map(_line, uses), key=lambda line: -1.0 if line.share is None else line.share, reverse=True)


def _line(use: LimitUse) -> LimitLine:
    limit, share = use.limit, None
    if use.used is not None:
        share = min(1.0, use.used / limit.cap) if limit.cap else 1.0
    mood: Mood = "" if share is None else "bad" if share >= 1 else "warn" if share >= _HIGH else "good"
    return LimitLine(limit=limit, used=use.used_words, left=use.left_words, share=share, ends=use.ends, mood=mood)

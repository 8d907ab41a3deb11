"""Limits as rows: how much of each is used and left, and when its window ends. For Now and for Usage."""

from __future__ import annotations

import time
from collections.abc import Iterable

from msgspec import Struct

from clew.limits.limit import Limit
from clew.limits.report import LimitUse, limit_uses
from clew.store import Store
from clew.web.exchange_row import Mood

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

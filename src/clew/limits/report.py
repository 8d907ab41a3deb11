"""What was used of each limit, for commands, pages and the API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from clew.limits.ledger import CountedWindow, WindowTotal
from clew.limits.limit import Limit, dollars
from clew.limits.windows import window_at


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
    return dollars(amount) if limit.unit == "usd" else f"{amount:,}"

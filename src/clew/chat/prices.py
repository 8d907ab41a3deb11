"""The cost of an answer: the vendor's list price for its tokens, from data that comes with genai-prices.

Nothing is looked up on the network. The backend's address decides whose price list counts, else its preset, else its realm;
for an unknown host it is the list of the model's maker, and the cost is an estimate. A model that is not in the list, and a
server on this machine, have no known cost, which is not the same as no cost.

Anthropic's counts do not overlap, so the prompt is the sum of three; `output` includes thinking. A cache entry that lives an
hour costs more to write: if the usage does not say how long it lives, and that matters, the cost is an estimate. It also is
one if a count is missing.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final

from msgspec import Struct

from clew.backends.address import is_local
from clew.backends.presets import presets
from clew.backends.prices import PricedCounts, price_range, provider_of
from clew.backends.row import Backend
from clew.chat.messages import ObjectLike, object_from
from clew.chat.metrics import count_in
from clew.chat.turns import Turn
from clew.model.turn import TokenUsage

_SMALLEST: Final = Decimal("0.0001")


class Cost(Struct, frozen=True):
    """US dollars; `estimated` if a part of it is not certain.

    >>> str(Cost(Decimal("0.0123456"), estimated=True))
    '≈$0.0123'
    """

    usd: Decimal
    estimated: bool = False

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.usd + other.usd, self.estimated or other.estimated)

    def __str__(self) -> str:
        if 0 < self.usd < _SMALLEST:
            return f"<${_SMALLEST}"
        about = "≈" if self.estimated else ""
        return f"{about}${self.usd:.2f}" if self.usd >= 1 or not self.usd else f"{about}${self.usd:.4f}"


def cost_of(
    model: str,
    usage: TokenUsage | ObjectLike | None,
    *,
    backend: Backend | str | None = None,
    complete: bool = True,
    at: float | None = None,
) -> Cost | None:
    """What these tokens cost at the list price; None if the price or the usage is not known.

    `usage` is the store's, or Anthropic's as JSON or as its SDK has it, of one model call: some prices rise with the length
    of the prompt, so a sum of calls would be priced too high. `backend` is its row, or the name of a preset.
    `complete=False` says that the answer was cut, and its count with it. `at` is when, in seconds since the epoch: prices
    change.

    >>> cost_of("claude-sonnet-4-5", {"input_tokens": 1000, "output_tokens": 1000}, backend="anthropic")
    Cost(usd=Decimal('0.018'), estimated=False)
    >>> cost_of("nobody-knows-this", {"input_tokens": 1000, "output_tokens": 1000}) is None
    True
    """
    if isinstance(usage, TokenUsage):
        kept = {"fresh": usage.input, "output": usage.output, "read": usage.cache_read, "written": usage.cache_written}
        counts = PricedCounts(**kept, estimated=usage.estimated)
    else:
        given = object_from(usage) or {}
        entries, tools = object_from(given.get("cache_creation")) or {}, object_from(given.get("server_tool_use")) or {}
        counts = PricedCounts(
            fresh=count_in(given.get("input_tokens")),
            output=count_in(given.get("output_tokens")),
            read=count_in(given.get("cache_read_input_tokens")) or 0,
            written=count_in(given.get("cache_creation_input_tokens")) or 0,
            for_an_hour=count_in(entries.get("ephemeral_1h_input_tokens")),
            searches=count_in(tools.get("web_search_requests")) or 0,
        )
    if not counts.is_known:
        return None
    provider = provider_of(backend)
    row = presets().get(backend) if isinstance(backend, str) else backend
    if provider is None and row is not None and is_local(row.url):  # a server on this machine: nobody sends a bill
        return None
    priced = price_range(model, counts, provider, None if at is None else datetime.fromtimestamp(at, UTC))
    if priced is None:
        return None
    low, high = priced
    is_sure = complete and counts.is_whole and low == high and (provider is not None or backend is None)
    return Cost(low, estimated=not is_sure)


def cost_of_turn(turn: Turn, backend: Backend | None) -> Cost | None:
    """The cost of a turn; for an answer that was cut, an estimate from the part that came."""
    return cost_of(turn.model, turn.usage, backend=backend, complete=turn.outcome == "whole", at=turn.at)


def total_cost(costs: Iterable[Cost | None]) -> Cost | None:
    """The sum of the known costs, an estimate if one is not known; None if none is known.

    >>> str(total_cost([Cost(Decimal("1.5")), None]))
    '≈$1.50'
    """
    each = list(costs)
    known = [cost for cost in each if cost is not None]
    return sum(known, Cost(Decimal(), estimated=len(known) < len(each))) if known else None

"""What is told of a message beside its parts: its thread and turn, who made it, what it took, what became of thinking."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from clew.backends.row import Backend
from clew.chat.prices import Cost, cost_of, total_cost
from clew.chat.turns import Spot
from clew.model.change import bounded, count_of
from clew.model.json import JsonObject, JsonValue
from clew.store.values import Exchange, Usage

__all__ = ["Account", "began", "metadata_of"]

Account: TypeAlias = Callable[[Sequence[Spot]], JsonObject]
"""The metadata of a message that these turns are."""

_MOST_CHANGES: Final = 100


def metadata_of(spots: Sequence[Spot], backends: Mapping[str, Backend]) -> JsonObject:
    """Usage and cost are those of all its model calls; the rest is what the last of them was."""
    last = spots[-1]
    told: JsonObject = {"thread": _thread(last), "turn": last.id, "at": began(last), "outcome": last.outcome}
    exchange = last.exchange
    if exchange is None:
        return told
    exchanges = [found for spot in spots if (found := spot.exchange)]
    usage, cost = _usage(exchanges), total_cost(_cost(each, backends) for each in exchanges)
    more: JsonObject = {"usage": usage, "cost": _shown(cost), "thinking": _thinking(exchange)}
    return {**told, "backend": exchange.backend, "model": exchange.model, **more}


def began(spot: Spot) -> float:
    return spot.exchange.started if spot.exchange else spot.passage.at


def _thread(spot: Spot) -> str:
    return spot.passage.recording.thread if spot.passage.recording else ""


def _usage(exchanges: Sequence[Exchange]) -> JsonValue:
    counts = [each.usage for each in exchanges if each.usage]
    if not counts:
        return None
    total = Usage(
        input=sum(each.input for each in counts),
        output=sum(each.output for each in counts),
        cache_read=sum(each.cache_read for each in counts),
        cache_written=sum(each.cache_written for each in counts),
        estimated=len(counts) < len(exchanges) or any(each.estimated for each in counts),
        thinking=sum(thought) if (thought := [each.thinking for each in counts if each.thinking is not None]) else None,
    )
    return msgspec.to_builtins(total)


def _cost(exchange: Exchange, backends: Mapping[str, Backend]) -> Cost | None:
    whole, backend = exchange.outcome == "whole", backends.get(exchange.backend)
    return cost_of(exchange.model, exchange.usage, backend=backend, complete=whole, at=exchange.started)


def _shown(cost: Cost | None) -> JsonValue:
    return {"usd": float(cost.usd), "estimated": cost.estimated} if cost else None


def _thinking(exchange: Exchange) -> JsonObject:
    """What became of the thinking that was there before: how much went as it was, and each thing that was altered."""
    changes: list[JsonValue] = [msgspec.to_builtins(change) for change in bounded(exchange.changes, _MOST_CHANGES)]
    return {"kept": exchange.kept, "changed": count_of(exchange.changes), "changes": changes}

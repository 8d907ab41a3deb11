"""Cache marks: how many, in which order of lifetimes, and the automatic one (R58).

The vendor counts marks in the order tools, system, messages. A top-level `cache_control` marks the last block that can be
cached; it does nothing where that block has the same mark already.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from clew.model.json import JsonObject, JsonValue
from clew.thinking.compliance.reading import Check, Piece, Reading, Spot, at, listed, obj, spoken

__all__ = ["RULES"]

MOST = 4


def _ttl(mark: JsonObject) -> str:
    return spoken(mark.get("ttl")) or "5m"


# ── explicit marks


def _marked(reading: Reading) -> Iterator[tuple[str, JsonObject]]:
    """Every mark with the path of the value that bears it, in the vendor's order."""
    tools = ((f"tools.{k}", tool) for k, tool in enumerate(reading.tools))
    system = ((f"system.{k}", obj(block)) for k, block in enumerate(listed(reading.body.get("system"))))
    said = chain.from_iterable(map(_bearers, reading.pieces()))
    for path, value in chain(tools, system, said):
        mark = value.get("cache_control")
        if isinstance(mark, dict):
            yield path, mark


def _bearers(piece: Piece) -> Iterator[tuple[str, JsonObject]]:
    """The block, then what a tool result holds. A mark on thinking is R33's."""
    if "cache_control" in piece.value and not piece.thinks:
        yield piece.path, piece.value
    if piece.type == "tool_result":
        for k, nested in enumerate(listed(piece.value.get("content"))):
            yield f"{piece.path}.content.{k}", obj(nested)


# ── the automatic mark


def _automatic(reading: Reading) -> tuple[JsonObject, JsonObject] | None:
    """The top-level mark, and the block that it falls on."""
    mark = reading.body.get("cache_control")
    block = next(_cacheable(reading), None)
    return (mark, block) if isinstance(mark, dict) and block is not None else None


def _cacheable(reading: Reading) -> Iterator[JsonObject]:
    """The blocks that it may choose, last first."""
    for message in reversed(reading.messages):
        yield from (piece.value for piece in reversed(message.pieces) if _is_cacheable(piece))
    yield from filter(_says_something, reversed(_system(reading.body.get("system"))))
    yield from reversed(reading.tools)


def _is_cacheable(piece: Piece) -> bool:
    return piece.facts is not None and piece.facts.cacheable and _says_something(piece.value)


def _says_something(block: JsonObject) -> bool:
    return block.get("type") != "text" or block.get("text") != ""


def _system(system: JsonValue) -> list[JsonObject]:
    return [{"type": "text", "text": system}] if isinstance(system, str) else [obj(block) for block in listed(system)]


def _adds_a_mark(reading: Reading) -> bool:
    automatic = _automatic(reading)
    return automatic is not None and automatic[1].get("cache_control") is None


# ── the rules


def _too_many_marks(reading: Reading) -> Iterator[Spot]:
    count = sum(1 for _ in _marked(reading))
    if count > MOST:
        yield at("", count=count + _adds_a_mark(reading))


def _automatic_fifth(reading: Reading) -> Iterator[Spot]:
    if _adds_a_mark(reading) and sum(1 for _ in _marked(reading)) == MOST:
        yield at("cache_control")


def _automatic_ttl(reading: Reading) -> Iterator[Spot]:
    automatic = _automatic(reading)
    own = automatic and automatic[1].get("cache_control")
    if automatic and isinstance(own, dict) and _ttl(own) != _ttl(automatic[0]):
        yield at("cache_control.ttl")


def _ttl_order(reading: Reading) -> Iterator[Spot]:
    short_seen = False
    for path, mark in _marked(reading):
        if short_seen and _ttl(mark) == "1h":
            yield at(f"{path}.cache_control.ttl")
            return
        short_seen = short_seen or _ttl(mark) == "5m"


RULES: dict[str, Check] = {
    "R58.too-many-marks": _too_many_marks,
    "R58.automatic-fifth": _automatic_fifth,
    "R58.automatic-ttl": _automatic_ttl,
    "R58.ttl-order": _ttl_order,
}

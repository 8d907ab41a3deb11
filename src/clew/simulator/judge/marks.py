"""Cache marks: how many, in which order, and where the automatic one falls (R58)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clew.model.facts import blocks
from clew.model.json import JsonObject
from clew.simulator.judge.case import Case
from clew.simulator.judge.findings import Finding
from clew.simulator.judge.values import array, inner, string, text_blocks

__all__ = ["check_marks"]

_MOST = 4


@dataclass(frozen=True, slots=True)
class Place:
    """Something that can be marked, in the order in which the cache is built."""

    path: str
    value: JsonObject
    is_top: bool = True
    """Not inside a tool result."""

    @property
    def is_marked(self) -> bool:
        return self.value.get("cache_control") is not None

    @property
    def ttl(self) -> str:
        return _ttl(inner(self.value.get("cache_control")))

    @property
    def is_cacheable(self) -> bool:
        """Whether the automatic mark may fall on it. Tools can always be marked; empty texts never."""
        kind = string(self.value.get("type"))
        if self.path.startswith("tools."):
            return True
        return kind in blocks() and blocks()[kind].cacheable and not (kind == "text" and self.value.get("text") == "")


def _ttl(mark: JsonObject) -> str:
    return string(mark.get("ttl")) or "5m"


def check_marks(case: Case) -> Iterator[Finding]:
    places = [*_places(case)]
    marked = [place for place in places if place.is_marked]
    yield from _count(case, places, marked)
    yield from _automatic_ttl(case, places)
    yield from _order(marked)


def _places(case: Case) -> Iterator[Place]:
    for index, tool in enumerate(array(case.body.get("tools"))):
        yield Place(f"tools.{index}", inner(tool))
    for index, block in enumerate(text_blocks(case.body.get("system"))):
        yield Place(f"system.{index}", inner(block))
    for message in case.messages:
        for block in message.blocks:
            if not block.is_thinking:
                yield Place(block.path, block.value)
            if block.type == "tool_result":
                yield from _nested(block.path, block.value)


def _nested(path: str, result: JsonObject) -> Iterator[Place]:
    for index, block in enumerate(array(result.get("content"))):
        yield Place(f"{path}.content.{index}", inner(block), is_top=False)


def _target(case: Case, places: list[Place]) -> Place | None:
    """Where the automatic mark falls, if there is one and a block for it."""
    if case.body.get("cache_control") is None:
        return None
    return next((place for place in reversed(places) if place.is_top and place.is_cacheable), None)


def _count(case: Case, places: list[Place], marked: list[Place]) -> Iterator[Finding]:
    target = _target(case, places)
    one_more = target is not None and not target.is_marked
    if len(marked) > _MOST:
        yield Finding("R58.too-many-marks", "", {"count": len(marked) + one_more})
    elif len(marked) == _MOST and one_more:
        yield Finding("R58.automatic-fifth", "cache_control")


def _automatic_ttl(case: Case, places: list[Place]) -> Iterator[Finding]:
    target = _target(case, places)
    if target and target.is_marked and target.ttl != _ttl(inner(case.body.get("cache_control"))):
        yield Finding("R58.automatic-ttl", "cache_control.ttl")


def _order(marked: list[Place]) -> Iterator[Finding]:
    short = False
    for place in marked:
        if short and place.ttl == "1h":
            yield Finding("R58.ttl-order", f"{place.path}.cache_control.ttl")
            return
        short = short or place.ttl == "5m"

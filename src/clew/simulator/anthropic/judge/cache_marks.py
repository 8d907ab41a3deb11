"""Cache marks: how many, in which order, and where the automatic one falls (R58)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clew.model.facts import blocks
from clew.model.json import JsonObject
from clew.simulator.anthropic.judge.case import BrokenRule, Case
from clew.simulator.values import as_dict, as_list, as_str, text_blocks

_MOST = 4


@dataclass(frozen=True, slots=True)
class CacheableItem:
    """A tool or a block that can have a cache mark."""

    path: str
    value: JsonObject
    is_top: bool = True
    """Not inside a tool result."""

    @property
    def is_marked(self) -> bool:
        return self.value.get("cache_control") is not None

    @property
    def ttl(self) -> str:
        return _ttl(as_dict(self.value.get("cache_control")))

    @property
    def takes_automatic_mark(self) -> bool:
        """Tools always do; empty texts never."""
        if self.path.startswith("tools."):
            return True
        kind = as_str(self.value.get("type"))
        return kind in blocks() and blocks()[kind].cacheable and not (kind == "text" and self.value.get("text") == "")


def _ttl(mark: JsonObject) -> str:
    return as_str(mark.get("ttl")) or "5m"


def check_marks(case: Case) -> Iterator[BrokenRule]:
    items = [*_cacheable_items(case)]
    marked = [item for item in items if item.is_marked]
    automatic = None
    if case.body.get("cache_control") is not None:
        automatic = next((item for item in reversed(items) if item.is_top and item.takes_automatic_mark), None)
    one_more = automatic is not None and not automatic.is_marked
    if len(marked) > _MOST:
        yield BrokenRule("R58.too-many-marks", "", {"count": len(marked) + one_more})
    elif len(marked) == _MOST and one_more:
        yield BrokenRule("R58.automatic-fifth", "cache_control")
    if automatic and automatic.is_marked and automatic.ttl != _ttl(as_dict(case.body.get("cache_control"))):
        yield BrokenRule("R58.automatic-ttl", "cache_control.ttl")
    yield from _order(marked)


def _cacheable_items(case: Case) -> Iterator[CacheableItem]:
    """In the order in which the cache is built."""
    for index, tool in enumerate(as_list(case.body.get("tools"))):
        yield CacheableItem(f"tools.{index}", as_dict(tool))
    for index, block in enumerate(text_blocks(case.body.get("system"))):
        yield CacheableItem(f"system.{index}", as_dict(block))
    for message in case.messages:
        for block in message.blocks:
            if not block.is_thinking:
                yield CacheableItem(block.path, block.value)
            if block.type == "tool_result":
                for index, nested in enumerate(as_list(block.value.get("content"))):
                    yield CacheableItem(f"{block.path}.content.{index}", as_dict(nested), is_top=False)


def _order(marked: list[CacheableItem]) -> Iterator[BrokenRule]:
    short = False
    for item in marked:
        if short and item.ttl == "1h":
            yield BrokenRule("R58.ttl-order", f"{item.path}.cache_control.ttl")
            return
        short = short or item.ttl == "5m"

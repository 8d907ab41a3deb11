"""Tools on a terminal: a line for each call, with what becomes of it. Lines of calls that are settled stay as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from clew.chat.display.view import ToolState
from clew.chat.messages import ToolCall
from clew.chat.terminal import harmless

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["Tools"]

_MARKS: Final[dict[ToolState, tuple[str, str]]] = {
    "called": ("→", ""),
    "asking": ("?", "yellow"),
    "running": ("…", "yellow"),
    "done": ("✓", "green"),
    "failed": ("✗", "red"),
    "denied": ("✗", "yellow"),
}
_UNDER_WAY: Final = ("asking", "running")
_LONGEST: Final = 160
"""Characters of arguments, and of what came of them."""


class _Call(Struct):
    call: ToolCall
    state: ToolState
    detail: str
    since: float


class Tools:
    """Calls of one answer, in their order: one that is done waits for those before it."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._calls: dict[str, _Call] = {}

    def told(self, call: ToolCall, state: ToolState, detail: str) -> list[RenderableType]:
        """The lines that are settled by this."""
        known = self._calls.get(call.id)
        since = known.since if known and known.state == "running" else self._clock()
        self._calls[call.id] = _Call(call, state, detail, since)
        return self._settled()

    def settle(self) -> list[RenderableType]:
        """The rest, as they are."""
        rest = [self._line(each) for each in self._calls.values()]
        self._calls = {}
        return rest

    def under_way(self) -> list[RenderableType]:
        return [self._line(each) for each in self._calls.values()]

    def _settled(self) -> list[RenderableType]:
        lines: list[RenderableType] = []
        for id, each in [*self._calls.items()]:
            if each.state in _UNDER_WAY:
                break
            lines.append(self._line(self._calls.pop(id)))
        return lines

    def _line(self, each: _Call) -> RenderableType:
        from rich.text import Text

        mark, style = _MARKS[each.state]
        seconds = f" {self._clock() - each.since:.1f} s" if each.state in ("running", "done", "failed") else ""
        what = "" if each.state == "called" else f" {each.state}{seconds}"
        detail = f": {_short(each.detail)}" if each.detail else ""
        name, arguments = _short(each.call.name), _short(each.call.arguments)
        return Text.assemble((mark, style), (f" {name}", "bold"), (f" {arguments}", "dim"), (what + detail, style))


def _short(text: str) -> str:
    """On one line."""
    shown = " ".join(harmless(text[:_LONGEST]).split())
    return f"{shown}… ({len(text):,} characters)" if len(text) > _LONGEST else shown

"""What a response says of itself in its headers: the backend's own that pass, and clew's."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from clew.engine.route import BackendRoute
from clew.model.blocks import THINKING_TYPES
from clew.model.change import THINKING_STEPS, Change, count_of, tally
from clew.model.past import Fold, folded
from clew.model.request import Request, RequestMessage

ESTIMATED = ("x-clew-tokens", "estimated")
"""With a count of tokens that nobody counted."""
JSON_TYPE = ("content-type", "application/json")
STREAM_TYPE = (("content-type", "text/event-stream; charset=utf-8"), ("cache-control", "no-cache"))


def own_headers(exchange: str, route: BackendRoute | None, thinking: str) -> list[tuple[str, str]]:
    """clew's own: which exchange it was, who answered, and what became of the thinking."""
    return [("x-clew-exchange", exchange), *who_headers(route, thinking)]


def who_headers(route: BackendRoute | None, thinking: str) -> list[tuple[str, str]]:
    """Those of them that do not name the exchange."""
    headers = [] if route is None else [*_who(route.backend.name, route.target.model)]
    return [*headers, ("x-clew-thinking", thinking)] if thinking else headers


@lru_cache(maxsize=256)
def _who(backend: str, model: str) -> tuple[tuple[str, str], ...]:
    return ("x-clew-backend", _plain(backend)), ("x-clew-model", _plain(model))


class ThinkingCounts(NamedTuple):
    """How many thinking blocks were kept, restored, left out, handed over, healed."""

    kept: int = 0
    restored: int = 0
    left_out: int = 0
    handed_over: int = 0
    healed: int = 0

    def __str__(self) -> str:
        """As the header says it."""
        return (
            f"kept={self.kept}, restored={self.restored}, left-out={self.left_out}, "
            f"handed-over={self.handed_over}, healed={self.healed}"
        )


_NONE = ThinkingCounts()


def is_unsaid_thought(change: Change) -> bool:
    """Among the changes of a dialect: a thinking block that it has no words for."""
    return change.step == "thinking" and change.what == "left out"


def thinking_counts(going: Request, changes: Sequence[Change], unsaid: int = 0, *, native: bool = False) -> ThinkingCounts:
    """What became of the thinking.

    Of what is in `going`, the dialect had no words for `unsaid`; with `native`, what was handed over is there too.
    """
    if not changes:
        return ThinkingCounts(_thinking_in(going)) if len(going.messages) > 1 else _NONE
    counts = tally(change for change in changes if change.step in THINKING_STEPS)
    restored, handed_over = counts.get("restored", 0), counts.get("handed over", 0)
    others = restored + unsaid + count_of(filter(_is_stand_in, changes)) + (handed_over if native else 0)
    return ThinkingCounts(
        kept=max(0, _thinking_in(going) - others),
        restored=restored,
        left_out=counts.get("left out", 0),
        handed_over=handed_over,
        healed=counts.get("healed", 0),
    )


def _is_stand_in(change: Change) -> bool:
    """A thinking block that nobody said, for a backend that wants one in every answer."""
    return change.step == "thinking" and change.what == "added"


def _thinking_in(going: Request) -> int:
    return folded(going.messages, _THINKING)


def _counted(before: int, messages: Sequence[RequestMessage], at: int) -> int:
    return before + sum(
        1
        for message in messages
        if message.role == "assistant" and isinstance(message.content, tuple)
        for block in message.content
        if block.type in THINKING_TYPES
    )


_THINKING = Fold(0, _counted)


def kept_paths(going: Request) -> list[str]:
    """Where thinking stands in what goes out."""
    return [
        f"messages.{i}.content.{j}"
        for i, message in enumerate(going.messages)
        if message.role == "assistant" and isinstance(message.content, tuple)
        for j, block in enumerate(message.content)
        if block.type in THINKING_TYPES
    ]


def _plain(text: str) -> str:
    """A header's value holds neither line ends nor what is not Latin-1."""
    return text if text.isascii() and text.isprintable() else "".join(c if " " <= c <= "~" else "?" for c in text)

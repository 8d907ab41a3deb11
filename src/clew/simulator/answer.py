"""An answer before it is written: its blocks, how each is said in deltas, and the numbers at its end.

`Piece` keeps both forms of a block side by side, the whole one and the streamed one, because they differ in just the cases
that matter: a cut tool call has no stop event, an omitted thought has an empty delta, a redacted one has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from clew.model.json import JsonObject
from clew.simulator.acts import Event, Pause, Ping
from clew.simulator.faults import Fault

__all__ = ["Answer", "Item", "Piece"]


@dataclass(frozen=True, slots=True)
class Piece:
    """One block of an answer."""

    block: JsonObject
    """Whole, as the client is to send it back."""
    start: JsonObject
    """As it stands in its start event."""
    deltas: tuple[JsonObject, ...] = ()
    closed: bool = True
    """Is there a stop event?"""


Item: TypeAlias = Piece | Pause | Ping | Event


def _no_numbers() -> Mapping[str, int]:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the model says to one request."""

    items: tuple[Item, ...]
    stop_reason: str
    stop_sequence: str | None = None
    stop_details: JsonObject | None = None
    output_tokens: int = 0
    thinking_tokens: int = 0
    usage: Mapping[str, int] = field(default_factory=_no_numbers)
    """Numbers that a scenario puts in place of the counted ones."""
    padding: int = 0
    faults: tuple[Fault, ...] = ()

    @property
    def content(self) -> list[JsonObject]:
        return [item.block for item in self.items if isinstance(item, Piece)]

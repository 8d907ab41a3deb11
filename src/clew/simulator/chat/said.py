"""An answer in the chat dialect: the whole message and the deltas that add up to it, side by side.

Each part of the answer (a thought, a text, a call) is written by the vendor's form, into both. So what a stream adds up to
and what comes whole are one thing by construction, and what the vendor remembers is what it gave.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from clew.model.json import JsonObject, JsonValue
from clew.simulator.acts import Event, Pause, Ping

__all__ = ["Delta", "Said", "Step"]

Kind: TypeAlias = Literal["reasoning", "content", "tool_calls"]


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a message, and what it is a piece of."""

    kind: Kind
    value: JsonObject


Step: TypeAlias = Delta | Pause | Ping | Event


def _no_steps() -> list[Step]:
    return []


def _no_members() -> JsonObject:
    return {}


def _no_chunks() -> list[JsonValue]:
    return []


@dataclass(slots=True)
class Said:
    """What was said so far."""

    steps: list[Step] = field(default_factory=_no_steps)
    text: str = ""
    """The visible words."""
    content: str = ""
    """The content as a string, tags included."""
    chunks: list[JsonValue] = field(default_factory=_no_chunks)
    """The content as a list, for vendors that have it so."""
    reasoning: str = ""
    """All thoughts, as far as they are shown."""
    details: list[JsonValue] = field(default_factory=_no_chunks)
    calls: list[JsonValue] = field(default_factory=_no_chunks)
    signed: JsonObject = field(default_factory=_no_members)
    """What the message itself bears, where its words are signed."""

    def add(self, kind: Kind, value: JsonObject) -> None:
        self.steps.append(Delta(kind, value))

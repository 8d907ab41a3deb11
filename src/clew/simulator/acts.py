"""What a scripted model can do: the values that a scenario is made of.

A scenario is a list of turns, one for each answer of an exchange (an exchange is a prompt of the user's and the tool loop
that it opens). A turn is a list of acts, done in order. Nothing here says how an act looks on the wire.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from clew.model.json import JsonObject
from clew.simulator.faults import Fault

__all__ = [
    "Act",
    "Block",
    "Call",
    "Event",
    "Pace",
    "Pause",
    "Ping",
    "Redacted",
    "Say",
    "Scenario",
    "Stop",
    "Think",
    "Turn",
    "Usage",
]


@dataclass(frozen=True, slots=True)
class Think:
    """A thinking block. What is shown of it: as the request asks; never; or it is a progress update (R41)."""

    text: str
    shown: Literal["asked", "never", "update"] = "asked"


@dataclass(frozen=True, slots=True)
class Redacted:
    """A redacted_thinking block."""

    text: str


@dataclass(frozen=True, slots=True)
class Say:
    """A text block."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A tool_use block. Tool `*` is any that was offered; without an input one is made from the tool's schema."""

    tool: str
    input: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """A block as it stands, complete in its start event: server tools' results, types that nobody knows."""

    value: JsonObject


@dataclass(frozen=True, slots=True)
class Stop:
    """Why the answer ends, where it is not the obvious reason. `detail`: the refusal's category, or the stop sequence."""

    reason: str
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Pause:
    """Silence."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Ping:
    """Some pings, `every` so many seconds apart."""

    times: int = 1
    every: float = 0.0


@dataclass(frozen=True, slots=True)
class Event:
    """An event as it stands, legal or not; `data` need not even be JSON."""

    name: str
    data: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Numbers that the usage shows in place of the counted ones."""

    numbers: dict[str, int]


@dataclass(frozen=True, slots=True)
class Pace:
    """How the turn is cut into events: characters in a delta; spaces before the last brace of each data line (R65)."""

    chunk: int | None = None
    padding: int | None = None


Act: TypeAlias = Think | Redacted | Say | Call | Block | Stop | Pause | Ping | Event | Usage | Pace | Fault


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer."""

    acts: tuple[Act, ...]


@dataclass(frozen=True, slots=True)
class Scenario:
    """What the model says, answer by answer, until the next prompt of the user's; then it begins again."""

    name: str
    about: str
    turns: tuple[Turn, ...]

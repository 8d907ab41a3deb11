"""What a scripted model can do: the values that a scenario is made of.

A scenario is a list of turns. A prompt of the user's and the tool loop that it opens get one turn for each answer. A turn
is a list of acts, done in order. Nothing here says how an act looks on the wire.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from clew.model.json import JsonObject
from clew.simulator.faults import FaultSpec


@dataclass(frozen=True, slots=True)
class Think:
    """A thinking block. Its text is shown as the request asks, or never, or as a progress update (R41)."""

    text: str
    shown: Literal["asked", "never", "update"] = "asked"


@dataclass(frozen=True, slots=True)
class ThinkRedacted:
    """A redacted_thinking block."""

    text: str


@dataclass(frozen=True, slots=True)
class Say:
    """A text block."""

    text: str


@dataclass(frozen=True, slots=True)
class CallTool:
    """A tool_use block. Tool `*` is any that was offered; without an input, one is made from the tool's schema."""

    tool: str
    input: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class SendBlock:
    """A block as it stands, complete in its start event: results of server tools, unknown types."""

    value: JsonObject


@dataclass(frozen=True, slots=True)
class Stop:
    """Why the answer ends, if not for the obvious reason. `detail`: the refusal's category, or the stop sequence."""

    reason: str
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Pause:
    """Silence."""

    seconds: float


@dataclass(frozen=True, slots=True)
class SendPings:
    """Some pings, `every` so many seconds."""

    times: int = 1
    every: float = 0.0


@dataclass(frozen=True, slots=True)
class SendEvent:
    """An event as it stands, legal or not; `data` need not even be JSON."""

    name: str
    data: str


@dataclass(frozen=True, slots=True)
class SetUsage:
    """Numbers for the usage, in place of the counted ones."""

    numbers: dict[str, int]


@dataclass(frozen=True, slots=True)
class SetPace:
    """How the turn is cut into events: characters in a delta; spaces before the last brace of each data line (R65)."""

    chunk: int | None = None
    padding: int | None = None


Act: TypeAlias = (
    Think
    | ThinkRedacted
    | Say
    | CallTool
    | SendBlock
    | Stop
    | Pause
    | SendPings
    | SendEvent
    | SetUsage
    | SetPace
    | FaultSpec
)


@dataclass(frozen=True, slots=True)
class ScriptTurn:
    """One answer."""

    acts: tuple[Act, ...]


@dataclass(frozen=True, slots=True)
class Scenario:
    """What the model does, answer by answer. It begins again with the next prompt of the user's."""

    name: str
    about: str
    turns: tuple[ScriptTurn, ...]

"""Scenarios: what a scripted model does, and the text format for it.

A scenario is a list of turns. A prompt of the user's and the tool loop that it opens get one turn for each answer. A turn
is a list of acts, done in order. Nothing here says how an act looks on the wire.

    # Looks at a file, then answers.
    about: One tool call with thinking before it and after it.

    turn:
      think: The file first.
      text: I have a look.
      call: Read {"file_path": "/etc/hosts"}

    turn:
      think: That is short.
      text: It says:
        | {{result}}

Each line is a direction: a word, a colon, the rest. A line that begins with `|` continues the text above it. Blank lines and
lines that begin with `#` are skipped; indentation is free. `turn:` begins the next answer (the first need not say so).

    think: TEXT           a thinking block; the request decides how much of it is shown
    omitted: TEXT         a thinking block whose text is never shown
    update: TEXT          a progress update: a thinking block that display `updates` shows
    redacted: TEXT        a redacted_thinking block
    text: TEXT            a text block
    call: TOOL {JSON}     a tool call; several in a row are parallel ones. `*` is any tool offered; without JSON the input is
                          made from the tool's schema
    block: {JSON}         any block, as it stands, complete in its start event
    stop: REASON DETAIL   the stop reason, where it is not the obvious one; for `refusal` its category, for `stop_sequence`
                          the sequence
    pause: SECONDS        silence
    ping: TIMES SECONDS   some pings, so far apart
    usage: NAME=N …       numbers for the usage, in place of the counted ones
    pace: chunk=N padding=N   characters in a delta; spaces at the end of each data line
    event: NAME DATA      an event as it stands, legal or not
    fault: FAULT          see `faults`

In the chat dialect a thought is written in the vendor's form, a redacted one is sealed if the form has seals, a block is
left out, a ping is a comment, and an event is its data alone.

In texts, `{{prompt}}` is the user's prompt, `{{result}}` the results of the last tools, `{{model}}` the model's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast

import msgspec

from clew.errors import SettingsInvalid
from clew.model.json import JsonObject, JsonValue
from clew.simulator import faults
from clew.simulator.faults import FaultSpec


@dataclass(frozen=True, slots=True)
class Think:
    """Write a thinking block. Its text is shown as the request asks, or never, or as a progress update (R41)."""

    text: str
    shown: Literal["asked", "never", "update"] = "asked"


@dataclass(frozen=True, slots=True)
class ThinkRedacted:
    """Write a redacted_thinking block."""

    text: str


@dataclass(frozen=True, slots=True)
class Say:
    """Write a text block."""

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
    """Send nothing for some seconds."""

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
    """The acts of one answer."""

    acts: tuple[Act, ...]


@dataclass(frozen=True, slots=True)
class Scenario:
    """What the model does, answer by answer. It begins again with the next prompt of the user's."""

    name: str
    about: str
    turns: tuple[ScriptTurn, ...]


def parse(text: str, name: str) -> Scenario:
    """Read a script. Raises SettingsInvalid with the number of the line and what would be right."""
    about = ""
    turns: list[list[Act]] = [[]]
    for number, word, rest in _directions(text, name):
        if word == "about":
            about = rest
        elif word == "turn" and not rest:
            turns.append([])
        elif word == "turn":
            raise SettingsInvalid(
                f"scenario {name}, line {number}: turn: what it says goes below it, not {rest!r}", file=name
            )
        else:
            where = f"scenario {name}, line {number}"
            if word not in WORDS:
                raise SettingsInvalid(f"{where}: there is no {word!r}; there are {', '.join(['about', 'turn', *WORDS])}")
            try:
                turns[-1].append(WORDS[word](rest))
            except (ValueError, TypeError, SettingsInvalid) as error:
                raise SettingsInvalid(f"{where}: {word}: {error}") from error
    played = turns if turns[0] else turns[1:]
    if not played:
        raise SettingsInvalid(f"scenario {name} says nothing: it has no directions", file=name)
    return Scenario(name, about, tuple(ScriptTurn(tuple(acts)) for acts in played))


def _directions(text: str, name: str) -> Iterator[tuple[int, str, str]]:
    """The directions: the number of the line, the word, and the rest with all its lines."""
    start, word, rest = 0, "", list[str]()
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("|"):
            if not start:
                raise SettingsInvalid(f"scenario {name}, line {number}: there is nothing above to continue", file=name)
            rest.append(line[1:].removeprefix(" "))
            continue
        if start:
            yield start, word, "\n".join(rest).lstrip("\n")
        word, colon, first = line.partition(":")
        if not colon:
            raise SettingsInvalid(f"scenario {name}, line {number}: a word and a colon, not {line!r}", file=name)
        start, word, rest = number, word.strip(), [first.strip()]
    if start:
        yield start, word, "\n".join(rest).lstrip("\n")


def _call(rest: str) -> CallTool:
    tool, _, given = rest.partition(" ")
    if not tool:
        raise ValueError("which tool? `*` is any that was offered")
    return CallTool(tool, _object(given) if given.strip() else None)


def _stop(rest: str) -> Stop:
    reason, _, detail = rest.partition(" ")
    if not reason:
        raise ValueError("a stop reason is missing")
    return Stop(reason, detail.strip() or None)


def _pings(rest: str) -> SendPings:
    times, _, every = rest.partition(" ")
    return SendPings(_count(times or "1"), _seconds(every or "0"))


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds <= faults.LONGEST:  # false for nan, too
        raise ValueError(f"seconds from 0 to {faults.LONGEST}, not {text}")
    return seconds


def _count(text: str, least: int = 0) -> int:
    count = int(text)
    if count < least:
        raise ValueError(f"a number from {least} on, not {text}")
    return count


def _event(rest: str) -> SendEvent:
    name, _, data = rest.partition(" ")
    return SendEvent(name, data)


def _pace(rest: str) -> SetPace:
    pace = SetPace(**_numbers(rest))
    _count(str(pace.chunk or 1), least=1)
    return pace


def _numbers(rest: str) -> dict[str, int]:
    pairs = (word.partition("=") for word in rest.split())
    return {name: int(value) for name, _, value in pairs}


def _object(text: str) -> JsonObject:
    value = cast(JsonValue, msgspec.json.decode(text.encode()))
    if not isinstance(value, dict):
        raise ValueError("a JSON object is expected")
    return value


WORDS: Final[dict[str, Callable[[str], Act]]] = {
    "think": Think,
    "omitted": lambda rest: Think(rest, "never"),
    "update": lambda rest: Think(rest, "update"),
    "redacted": ThinkRedacted,
    "text": Say,
    "call": _call,
    "block": lambda rest: SendBlock(_object(rest)),
    "stop": _stop,
    "pause": lambda rest: Pause(_seconds(rest)),
    "ping": _pings,
    "usage": lambda rest: SetUsage(_numbers(rest)),
    "pace": _pace,
    "event": _event,
    "fault": faults.parse,
}
"""Each direction, and the function that makes an act of it."""

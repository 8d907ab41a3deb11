"""The script format: a scenario as a text file that reads like stage directions.

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

One direction a line: a word, a colon, the rest. A line that begins with `|` continues the text above it. Blank lines and
lines that begin with `#` say nothing; indentation is free. `turn:` begins the next answer (the first need not say so).

    think: TEXT           a thinking block; how much of it is shown, the request decides
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

In the chat dialect a thought is written in the vendor's form, a redacted one is sealed where entries can be, a block has no
place, a ping is a comment, and an event is its data alone.

In texts, `{{prompt}}` is what the user asked, `{{result}}` what the last tools gave back, `{{model}}` the model's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, cast

import msgspec

from clew.errors import SettingsInvalid
from clew.model.json import JsonObject, JsonValue
from clew.simulator import faults
from clew.simulator.acts import (
    Act,
    Block,
    Call,
    Event,
    Pace,
    Pause,
    Ping,
    Redacted,
    Say,
    Scenario,
    Stop,
    Think,
    Turn,
    Usage,
)

__all__ = ["WORDS", "parse"]


def parse(text: str, name: str) -> Scenario:
    """Read a script. Raises SettingsInvalid with the line's number and what would be right."""
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
            turns[-1].append(_act(word, rest, f"scenario {name}, line {number}"))
    played = turns if turns[0] else turns[1:]
    if not played:
        raise SettingsInvalid(f"scenario {name} says nothing: it has no directions", file=name)
    return Scenario(name, about, tuple(Turn(tuple(acts)) for acts in played))


def _directions(text: str, name: str) -> Iterator[tuple[int, str, str]]:
    pending: tuple[int, str, str] | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("|"):
            if pending is None:
                raise SettingsInvalid(f"scenario {name}, line {number}: there is nothing above to continue", file=name)
            pending = (pending[0], pending[1], _joined(pending[2], line[1:].removeprefix(" ")))
            continue
        if pending:
            yield pending
        word, colon, rest = line.partition(":")
        if not colon:
            raise SettingsInvalid(f"scenario {name}, line {number}: a word and a colon, not {line!r}", file=name)
        pending = (number, word.strip(), rest.strip())
    if pending:
        yield pending


def _joined(text: str, more: str) -> str:
    return f"{text}\n{more}" if text else more


def _act(word: str, rest: str, where: str) -> Act:
    if word not in WORDS:
        raise SettingsInvalid(f"{where}: there is no {word!r}; there are {', '.join(['about', 'turn', *WORDS])}")
    try:
        return WORDS[word](rest)
    except (ValueError, TypeError, SettingsInvalid) as error:
        raise SettingsInvalid(f"{where}: {word}: {error}") from error


def _call(rest: str) -> Call:
    tool, _, given = rest.partition(" ")
    if not tool:
        raise ValueError("which tool? `*` is any that was offered")
    return Call(tool, _object(given) if given.strip() else None)


def _stop(rest: str) -> Stop:
    reason, _, detail = rest.partition(" ")
    if not reason:
        raise ValueError("a stop reason is missing")
    return Stop(reason, detail.strip() or None)


def _ping(rest: str) -> Ping:
    times, _, every = rest.partition(" ")
    return Ping(_count(times or "1"), _seconds(every or "0"))


def _pause(rest: str) -> Pause:
    return Pause(_seconds(rest))


def _seconds(text: str) -> float:
    """Also of no length; but a number that a clock can wait for."""
    seconds = float(text)
    if not 0 <= seconds <= faults.LONGEST:  # nor is what is no number
        raise ValueError(f"seconds from 0 to {faults.LONGEST}, not {text}")
    return seconds


def _count(text: str, least: int = 0) -> int:
    count = int(text)
    if count < least:
        raise ValueError(f"a number from {least} on, not {text}")
    return count


def _event(rest: str) -> Event:
    name, _, data = rest.partition(" ")
    return Event(name, data)


def _usage(rest: str) -> Usage:
    return Usage(_numbers(rest))


def _pace(rest: str) -> Pace:
    pace = Pace(**_numbers(rest))
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
    "redacted": Redacted,
    "text": Say,
    "call": _call,
    "block": lambda rest: Block(_object(rest)),
    "stop": _stop,
    "pause": _pause,
    "ping": _ping,
    "usage": _usage,
    "pace": _pace,
    "event": _event,
    "fault": faults.parse,
}
"""Each direction and what makes an act of it."""

"""An answer as a list of steps: the head, pieces of the body, silences, and how it ends.

The model makes such a list, faults rewrite it, and `play` carries it out. So a fault is a pure function from steps to steps,
and what happens on the wire can be read, compared and tested without a wire.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import msgspec

from clew.http.responder import Responder
from clew.simulator.answers import ModelAnswer
from clew.simulator.interfaces import VendorRefusal
from clew.simulator.script import Pause

HeaderPairs: TypeAlias = tuple[tuple[str, str], ...]

SSE_HEADERS: Final[HeaderPairs] = (("content-type", "text/event-stream; charset=utf-8"), ("cache-control", "no-cache"))
_FLUSH_SECONDS: Final = 0.01


@dataclass(frozen=True, slots=True)
class SendHead:
    """Send the status and the headers."""

    status: int
    headers: HeaderPairs


@dataclass(frozen=True, slots=True)
class Send:
    """Send a piece of the body. `event` names its SSE event, if it is one."""

    data: bytes
    event: str = ""


@dataclass(frozen=True, slots=True)
class Repeat:
    """Send a piece of the body so many times, or without end with None, with so many seconds between."""

    data: bytes
    times: int | None
    every: float = 0.0


@dataclass(frozen=True, slots=True)
class Silence:
    """Send nothing for some seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class End:
    """`end`: regular. `close`: regular, and `later` the connection is closed silently. `fin`, `rst`: broken off."""

    how: Literal["end", "close", "fin", "rst"] = "end"
    later: float = 0.0


Step: TypeAlias = SendHead | Send | Repeat | Silence | End
Steps: TypeAlias = tuple[Step, ...]


def repeated(piece: Send, times: int, every: float) -> Iterator[Step]:
    """A piece of the body so many times, with a silence after each."""
    for _ in range(times):
        yield piece
        if every:
            yield Silence(every)


def json_reply(value: object, headers: HeaderPairs = (), status: int = 200) -> Steps:
    """An answer with a JSON body."""
    head = SendHead(status, (("content-type", "application/json"), *headers))
    return (head, Send(msgspec.json.encode(value)), End())


def rule_headers(refusal: VendorRefusal) -> HeaderPairs:
    """The headers that name the broken rule, and how sure it is."""
    return (("x-sim-rule", refusal.rule), ("x-sim-grade", refusal.grade))


def silences_of(answer: ModelAnswer) -> Iterator[Step]:
    """All pauses of an answer: one that is not streamed comes after them."""
    return (Silence(item.seconds) for item in answer.items if isinstance(item, Pause))


def body_of(steps: Iterable[Step]) -> bytes:
    """The body that these steps send."""
    return b"".join(step.data for step in steps if isinstance(step, Send))


async def play(steps: Steps, respond: Responder) -> None:
    """Carry out the steps, in order."""
    match steps:
        case (SendHead(status, headers), Send(data), End("end")):
            respond.send(status, headers, data)
            return
        case _:
            pass
    for step in steps:
        match step:
            case SendHead(status, headers):
                respond.start(status, headers)
            case Send(data):
                await respond.write(data)
            case Repeat(data, times, every):
                for _ in itertools.count() if times is None else range(times):
                    await respond.write(data)
                    await asyncio.sleep(every)  # always: writing to a fast reader alone never yields to other requests
            case Silence(seconds):
                await asyncio.sleep(seconds)
            case End():
                await _end(step, respond)


async def _end(end: End, respond: Responder) -> None:
    match end.how:
        case "end":
            respond.end()
        case "close":
            respond.end()
            await asyncio.sleep(end.later)
            respond.hang_up()
        case "fin":
            respond.hang_up()
        case "rst":
            await asyncio.sleep(_FLUSH_SECONDS)  # a reset discards data that is not sent yet
            respond.abort()

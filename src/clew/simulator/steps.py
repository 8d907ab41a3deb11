"""An answer as a list of steps: the head, pieces of the body, silences, and how it ends.

Speaking makes such a list, faults rewrite it, and `play` does it. So a fault is a pure function from steps to steps, and
what went wrong on the wire can be read, compared and tested without a wire.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from clew.http.responder import Responder

__all__ = ["End", "Head", "Repeat", "Send", "Step", "Steps", "Wait", "body_of", "play", "repeated"]


@dataclass(frozen=True, slots=True)
class Head:
    """Status and headers."""

    status: int
    headers: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Send:
    """A piece of the body; `event` names the SSE event that it is, if it is one."""

    data: bytes
    event: str = ""


@dataclass(frozen=True, slots=True)
class Repeat:
    """A piece of the body so many times, None for ever, and so many seconds apart."""

    data: bytes
    times: int | None
    every: float = 0.0


@dataclass(frozen=True, slots=True)
class Wait:
    """Silence."""

    seconds: float


@dataclass(frozen=True, slots=True)
class End:
    """`end`: as it should. `close`: whole, and `later` the connection is closed without a word. `fin`, `rst`: broken off."""

    how: Literal["end", "close", "fin", "rst"] = "end"
    later: float = 0.0


Step: TypeAlias = Head | Send | Repeat | Wait | End
Steps: TypeAlias = tuple[Step, ...]


def repeated(piece: Send, times: int, every: float) -> Iterator[Step]:
    """A piece of the body so many times, with a silence after each."""
    for _ in range(times):
        yield piece
        if every:
            yield Wait(every)


def body_of(steps: Iterable[Step]) -> bytes:
    """All that the steps send."""
    return b"".join(step.data for step in steps if isinstance(step, Send))


async def play(steps: Steps, respond: Responder) -> None:
    """Do the steps."""
    match steps:
        case (Head(status, headers), Send(data), End("end")):
            respond.send(status, headers, data)
        case _:
            for step in steps:
                await _do(step, respond)


async def _do(step: Step, respond: Responder) -> None:
    match step:
        case Head(status, headers):
            respond.start(status, headers)
        case Send(data):
            await respond.write(data)
        case Repeat():
            await _repeat(step, respond)
        case Wait(seconds):
            await asyncio.sleep(seconds)
        case End():
            await _end(step, respond)


async def _repeat(step: Repeat, respond: Responder) -> None:
    """Other requests go on meanwhile: a client that reads fast would never let the loop go."""
    for _ in itertools.count() if step.times is None else range(step.times):
        await respond.write(step.data)
        await asyncio.sleep(step.every)


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
            await asyncio.sleep(_FLUSH_SECONDS)  # a reset throws away what is not yet sent: let the wire have it
            respond.abort()


_FLUSH_SECONDS = 0.01

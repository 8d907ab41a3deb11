"""Faults that are too much: pings for ever, one event of any size, events without number, a line that never ends.

Nothing of it is held in memory: a piece is sent again and again, so that a test can look at the memory of whoever reads,
in the same process too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from msgspec import structs

from clew.simulator.faults import Fault
from clew.simulator.places import divided
from clew.simulator.steps import End, Repeat, Send, Step, Steps
from clew.simulator.stream import PING

__all__ = ["FLOODS", "pings"]

_PIECE: Final = b"a" * 65536
_SAID: Final = re.compile(
    rb'"(?:text|thinking|partial_json|content|reasoning_content|reasoning|arguments)":"((?:[^"\\]|\\.)*)"'
)
"""A string of a delta, in either dialect."""
_STRING_END: Final = b'"}}\n\n'
_PADDED_PING: Final = b'event: ping\ndata: {"type":"ping","padding":{"text":"'


def pings(fault: Fault, steps: Steps, ping: bytes) -> Iterator[Step]:
    """From the place on, nothing else; without one, from where the content would begin."""
    yield from divided(steps, _placed(fault, content=0))[0]
    yield Repeat(ping, None, fault.every)
    yield End("fin")


def _flood(fault: Fault, steps: Steps) -> Iterator[Step]:
    """Without a place: after the first delta of the content."""
    before, after = divided(steps, _placed(fault, content=2))
    last = next((step.data for step in reversed(before) if isinstance(step, Send)), PING.data)
    yield from before
    yield from _SHAPES[fault.shape](fault.size, last)
    yield from after


def _placed(fault: Fault, *, content: int) -> Fault:
    nowhere = fault.at is None and fault.after is None and fault.content is None and not fault.before
    return structs.replace(fault, content=content) if nowhere else fault


def _one_event(size: int, last: bytes) -> Iterator[Step]:
    """The last delta once more, with a string of this size; or a ping, if that was none."""
    *_, found = (None, *_SAID.finditer(last))
    head, tail = (last[: found.end(1)], last[found.end(1) :]) if found else (_PADDED_PING, _STRING_END)
    yield Send(head)
    yield from _one_line(size, last)
    yield Send(tail)


def _one_line(size: int, last: bytes) -> Iterator[Step]:
    yield Repeat(_PIECE, size // len(_PIECE) if size else None)
    yield Send(_PIECE[: size % len(_PIECE)])


def _many_events(size: int, last: bytes) -> Iterator[Step]:
    yield Repeat(last, size or None)


_SHAPES: Final[dict[str, Callable[[int, bytes], Iterator[Step]]]] = {
    "event": _one_event,
    "line": _one_line,
    "events": _many_events,
}

FLOODS: Final[dict[str, Callable[[Fault, Steps], Iterator[Step]]]] = {"flood": _flood}

"""What each fault does: pure functions from the steps of an answer to the steps as they go wrong.

Here are those that strike the answer as a whole: its status, its time, its pieces, its end. What is said is spoilt in
`tamper`, what is too much in `floods` and `bombs`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec import structs

from clew.simulator.bombs import bomb
from clew.simulator.envelope import ANTHROPIC, Errors
from clew.simulator.faults import Fault
from clew.simulator.floods import FLOODS, pings
from clew.simulator.places import divided, is_streamed
from clew.simulator.steps import End, Head, Send, Step, Steps, Wait, body_of
from clew.simulator.tamper import TAMPERING

__all__ = ["spoil"]


def spoil(faults: Sequence[Fault], steps: Steps, request_id: str, errors: Errors = ANTHROPIC) -> Steps:
    """The steps as they go wrong, fault by fault; `errors` says how the vendor words its own."""
    said = _Said(errors, request_id)
    for fault in faults:
        if fault.kind in _TOLD:
            steps = tuple(_TOLD[fault.kind](fault, steps, said))
        else:
            steps = tuple(_EFFECTS[fault.kind](fault, steps))
    return steps


# Errors, which name the request.


@dataclass(frozen=True, slots=True)
class _Said:
    """Whose words an error has, and which request it is about."""

    errors: Errors
    request_id: str


def _status(fault: Fault, steps: Steps, said: _Said) -> Iterator[Step]:
    worded = said.errors.body(fault.type, fault.message, fault.status, said.request_id)
    body = worded if fault.body is None else fault.body.encode()
    given = [
        ("content-type", fault.content_type or "application/json"),
        ("retry-after", fault.retry_after),
        ("retry-after-ms", fault.retry_after_ms),
        ("x-should-retry", fault.should_retry),
        ("location", fault.location),
    ]
    kept = [(name, value) for name, value in _head(steps).headers if name not in ("content-type", "cache-control")]
    yield Head(fault.status, (*((name, value) for name, value in given if value), *kept))
    yield Send(body)
    yield End()


def _error(fault: Fault, steps: Steps, said: _Said) -> Iterator[Step]:
    if not is_streamed(steps):
        yield from _status(structs.replace(fault, status=said.errors.status(fault.type)), steps, said)
        return
    yield from divided(steps, fault)[0]
    yield Send(said.errors.event(fault.type, fault.message), "error")
    yield End()


def _pings(fault: Fault, steps: Steps, said: _Said) -> Iterator[Step]:
    return pings(fault, steps, said.errors.ping)


def _head(steps: Steps) -> Head:
    return next(step for step in steps if isinstance(step, Head))


# Time, pieces, and the end.


def _cut(fault: Fault, steps: Steps) -> Iterator[Step]:
    yield from divided(steps, fault)[0]
    yield End(fault.how)


def _stall(fault: Fault, steps: Steps) -> Iterator[Step]:
    before, after = divided(steps, fault)
    yield from before
    yield Wait(fault.seconds)
    yield from after


def _slow_start(fault: Fault, steps: Steps) -> Iterator[Step]:
    yield Wait(fault.seconds)
    yield from steps


def _drip(fault: Fault, steps: Steps) -> Iterator[Step]:
    size = max(1, fault.size)
    for step in steps:
        if not isinstance(step, Send):
            yield step
            continue
        for place in range(0, len(step.data), size):
            yield Send(step.data[place : place + size], step.event)
            yield Wait(0)  # lets the loop send it as a segment of its own


def _lump(fault: Fault, steps: Steps) -> Iterator[Step]:
    yield _head(steps)
    yield Wait(0)  # as a stream: what follows its head at once goes out with a length
    yield Send(body_of(steps), "lump" if is_streamed(steps) else "")
    yield steps[-1]


def _content_type(fault: Fault, steps: Steps) -> Iterator[Step]:
    for step in steps:
        if isinstance(step, Head):
            kept = [(name, value) for name, value in step.headers if name != "content-type"]
            step = Head(step.status, (("content-type", fault.content_type), *kept))
        yield step


def _no_answer(fault: Fault, steps: Steps) -> Iterator[Step]:
    yield End("rst" if fault.how == "rst" else "fin")


def _hang_up(fault: Fault, steps: Steps) -> Iterator[Step]:
    return (End("close", fault.later) if step == End() else step for step in steps)


_TOLD: Final[dict[str, Callable[[Fault, Steps, _Said], Iterator[Step]]]] = {
    "status": _status,
    "error": _error,
    "pings": _pings,
}

_EFFECTS: Final[dict[str, Callable[[Fault, Steps], Iterator[Step]]]] = {
    "cut": _cut,
    "stall": _stall,
    "slow-start": _slow_start,
    "drip": _drip,
    "lump": _lump,
    "content-type": _content_type,
    "no-answer": _no_answer,
    "hang-up": _hang_up,
    "bomb": bomb,
    **TAMPERING,
    **FLOODS,
}

"""What each fault does: pure functions from the steps of an answer to the steps as they go wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from clew.simulator.envelope import STATUS_OF_TYPE, error_body, error_event, type_of_status, words_of_type
from clew.simulator.faults import Fault
from clew.simulator.steps import End, Head, Send, Step, Steps, Wait

__all__ = ["spoil"]


def spoil(faults: Sequence[Fault], steps: Steps, request_id: str) -> Steps:
    """The steps as they go wrong, fault by fault."""
    for fault in faults:
        steps = tuple(_EFFECTS[fault.kind](fault, steps, request_id))
    return steps


def _status(fault: Fault, steps: Steps, request_id: str) -> Iterator[Step]:
    kind = fault.type or type_of_status(fault.status)
    body = (
        fault.body.encode() if fault.body is not None else error_body(kind, fault.message or words_of_type(kind), request_id)
    )
    given = [
        ("content-type", fault.content_type or "application/json"),
        ("retry-after", fault.retry_after),
        ("x-should-retry", fault.should_retry),
        ("location", fault.location),
    ]
    kept = [(name, value) for name, value in _head(steps).headers if name not in ("content-type", "cache-control")]
    yield Head(fault.status, (*((name, value) for name, value in given if value), *kept))
    yield Send(body)
    yield End()


def _error(fault: Fault, steps: Steps, request_id: str) -> Iterator[Step]:
    kind = fault.type or "overloaded_error"
    message = fault.message or words_of_type(kind)
    if not _streamed(steps):
        as_status = Fault(kind="status", status=STATUS_OF_TYPE.get(kind, 500), type=kind, message=message)
        yield from _status(as_status, steps, request_id)
        return
    yield from _until_event(steps, fault.after or 0)
    yield Send(error_event(kind, message), "error")
    yield End()


def _cut(fault: Fault, steps: Steps, request_id: str) -> Iterator[Step]:
    if fault.at is None:
        yield from _until_event(steps, fault.after or 0)
    else:
        yield from _split(steps, fault.at)[0]
    yield End(fault.how)


def _stall(fault: Fault, steps: Steps, request_id: str) -> Iterator[Step]:
    if fault.at is None:
        before = tuple(_until_event(steps, fault.after or 0))
        after = steps[len(before) :]
    else:
        before, after = _split(steps, fault.at)
    yield from before
    yield Wait(fault.seconds)
    yield from after


def _slow_start(fault: Fault, steps: Steps, request_id: str) -> Iterator[Step]:
    yield Wait(fault.seconds)
    yield from steps


def _drip(fault: Fault, steps: Steps, request_id: str) -> Iterator[Step]:
    size = max(1, fault.size)
    for step in steps:
        if not isinstance(step, Send):
            yield step
            continue
        for place in range(0, len(step.data), size):
            yield Send(step.data[place : place + size], step.event)
            yield Wait(0)  # lets the loop send it as a segment of its own


def _bad_utf8(fault: Fault, steps: Steps, request_id: str) -> Iterator[Step]:
    seen = 0
    for step in steps:
        if isinstance(step, Send):
            if seen == (fault.after or 0):
                middle = len(step.data) * 2 // 3
                step = Send(step.data[:middle] + b"\xff" + step.data[middle:], step.event)
            seen += 1
        yield step


def _omit(fault: Fault, steps: Steps, request_id: str) -> Iterator[Step]:
    names = fault.events.split(",")
    yield from (step for step in steps if not (isinstance(step, Send) and step.event in names))


def _repeat(fault: Fault, steps: Steps, request_id: str) -> Iterator[Step]:
    names = fault.events.split(",")
    for step in steps:
        yield step
        if isinstance(step, Send) and step.event in names:
            yield step


def _content_type(fault: Fault, steps: Steps, request_id: str) -> Iterator[Step]:
    for step in steps:
        if isinstance(step, Head):
            kept = [(name, value) for name, value in step.headers if name != "content-type"]
            step = Head(step.status, (("content-type", fault.content_type), *kept))
        yield step


def _no_answer(fault: Fault, steps: Steps, request_id: str) -> Iterator[Step]:
    yield End("rst" if fault.how == "rst" else "fin")


def _hang_up(fault: Fault, steps: Steps, request_id: str) -> Iterator[Step]:
    yield from (End("close") if step == End("end") else step for step in steps)


_EFFECTS: Final[dict[str, Callable[[Fault, Steps, str], Iterator[Step]]]] = {
    "status": _status,
    "error": _error,
    "cut": _cut,
    "stall": _stall,
    "slow-start": _slow_start,
    "drip": _drip,
    "bad-utf8": _bad_utf8,
    "omit": _omit,
    "repeat": _repeat,
    "content-type": _content_type,
    "no-answer": _no_answer,
    "hang-up": _hang_up,
}


def _head(steps: Steps) -> Head:
    return next(step for step in steps if isinstance(step, Head))


def _streamed(steps: Steps) -> bool:
    return any(isinstance(step, Send) and step.event for step in steps)


def _until_event(steps: Steps, count: int) -> Iterator[Step]:
    """The steps up to the piece of the body that comes after so many others, or to the end."""
    for step in steps:
        if isinstance(step, End) or (isinstance(step, Send) and count <= 0):
            return
        count -= isinstance(step, Send)
        yield step


def _split(steps: Steps, at: int) -> tuple[Steps, Steps]:
    """The steps before and after so many bytes of the body; in a body that is shorter, before its end."""
    before: list[Step] = []
    for place, step in enumerate(steps):
        if isinstance(step, End):
            return tuple(before), steps[place:]
        if isinstance(step, Send):
            if len(step.data) >= at:
                parts = (Send(step.data[:at], step.event), Send(step.data[at:], step.event))
                return (*before, parts[0]), (parts[1], *steps[place + 1 :])
            at -= len(step.data)
        before.append(step)
    return tuple(before), ()

"""What each fault does: pure functions from the steps of an answer to the steps as they go wrong.

Here are the faults of the answer as a whole: its status, its timing, its pieces, its end. Faults of the body are in
`fault_bodies`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec import structs

from clew.simulator.anthropic.errors import ANTHROPIC_ERRORS
from clew.simulator.fault_bodies import BODY_EFFECTS, at_default_place, steps_around
from clew.simulator.faults import FaultSpec
from clew.simulator.interfaces import VendorErrors
from clew.simulator.steps import End, Repeat, Send, SendHead, Silence, Step, Steps, body_of

__all__ = ["apply_faults"]


def apply_faults(
    faults: Sequence[FaultSpec], steps: Steps, request_id: str, errors: VendorErrors = ANTHROPIC_ERRORS
) -> Steps:
    """The steps after all faults, in order; `errors` writes errors as the vendor does."""
    context = _ErrorContext(errors, request_id)
    for fault in faults:
        if fault.kind in _WITH_ERRORS:
            steps = tuple(_WITH_ERRORS[fault.kind](fault, steps, context))
        else:
            steps = tuple(_EFFECTS[fault.kind](fault, steps))
    return steps


# Errors of the vendor.


@dataclass(frozen=True, slots=True)
class _ErrorContext:
    """Who writes an error, and for which request."""

    errors: VendorErrors
    request_id: str


def _status(fault: FaultSpec, steps: Steps, context: _ErrorContext) -> Iterator[Step]:
    worded = context.errors.body(fault.type, fault.message, fault.status, context.request_id)
    body = worded if fault.body is None else fault.body.encode()
    given = [
        ("content-type", fault.content_type or "application/json"),
        ("retry-after", fault.retry_after),
        ("retry-after-ms", fault.retry_after_ms),
        ("x-should-retry", fault.should_retry),
        ("location", fault.location),
    ]
    kept = [(name, value) for name, value in _head(steps).headers if name not in ("content-type", "cache-control")]
    yield SendHead(fault.status, (*((name, value) for name, value in given if value), *kept))
    yield Send(body)
    yield End()


def _error(fault: FaultSpec, steps: Steps, context: _ErrorContext) -> Iterator[Step]:
    if not _is_streamed(steps):
        yield from _status(structs.replace(fault, status=context.errors.status(fault.type)), steps, context)
        return
    yield from steps_around(steps, fault)[0]
    yield Send(context.errors.event(fault.type, fault.message), "error")
    yield End()


def _pings(fault: FaultSpec, steps: Steps, context: _ErrorContext) -> Iterator[Step]:
    """From the place on, nothing but pings; without a place, from where the content would begin."""
    yield from steps_around(steps, at_default_place(fault, content=0))[0]
    yield Repeat(context.errors.ping, None, fault.every)
    yield End("fin")


def _head(steps: Steps) -> SendHead:
    return next(step for step in steps if isinstance(step, SendHead))


def _is_streamed(steps: Steps) -> bool:
    return any(isinstance(step, Send) and step.event for step in steps)


# Timing, pieces, and the end.


def _cut(fault: FaultSpec, steps: Steps) -> Iterator[Step]:
    yield from steps_around(steps, fault)[0]
    yield End(fault.how)


def _stall(fault: FaultSpec, steps: Steps) -> Iterator[Step]:
    before, after = steps_around(steps, fault)
    yield from before
    yield Silence(fault.seconds)
    yield from after


def _slow_start(fault: FaultSpec, steps: Steps) -> Iterator[Step]:
    yield Silence(fault.seconds)
    yield from steps


def _drip(fault: FaultSpec, steps: Steps) -> Iterator[Step]:
    size = max(1, fault.size)
    for step in steps:
        if not isinstance(step, Send):
            yield step
            continue
        for place in range(0, len(step.data), size):
            yield Send(step.data[place : place + size], step.event)
            yield Silence(0)  # so that the event loop sends it as a separate segment


def _lump(fault: FaultSpec, steps: Steps) -> Iterator[Step]:
    yield _head(steps)
    yield Silence(0)  # a body right after its head would go out with a content-length, not as a stream
    yield Send(body_of(steps), "lump" if _is_streamed(steps) else "")
    yield steps[-1]


def _content_type(fault: FaultSpec, steps: Steps) -> Iterator[Step]:
    for step in steps:
        if isinstance(step, SendHead):
            kept = [(name, value) for name, value in step.headers if name != "content-type"]
            step = SendHead(step.status, (("content-type", fault.content_type), *kept))
        yield step


def _no_answer(fault: FaultSpec, steps: Steps) -> Iterator[Step]:
    yield End("rst" if fault.how == "rst" else "fin")


def _hang_up(fault: FaultSpec, steps: Steps) -> Iterator[Step]:
    return (End("close", fault.later) if step == End() else step for step in steps)


_WITH_ERRORS: Final[dict[str, Callable[[FaultSpec, Steps, _ErrorContext], Iterator[Step]]]] = {
    "status": _status,
    "error": _error,
    "pings": _pings,
}

_EFFECTS: Final[dict[str, Callable[[FaultSpec, Steps], Iterator[Step]]]] = {
    "cut": _cut,
    "stall": _stall,
    "slow-start": _slow_start,
    "drip": _drip,
    "lump": _lump,
    "content-type": _content_type,
    "no-answer": _no_answer,
    "hang-up": _hang_up,
    **BODY_EFFECTS,
}

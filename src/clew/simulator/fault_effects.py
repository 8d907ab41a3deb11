"""What each fault does: pure functions from the steps of an answer to the steps as they go wrong.

Here are the faults of the answer as a whole: its status, its timing, its pieces, its end. Faults of the body are in
`fault_bodies`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clew.simulator.anthropic.replies import ANTHROPIC_ERRORS
from clew.simulator.fault_bodies import BODY_EFFECTS, at_default_place, steps_around
from clew.simulator.faults import FaultSpec
from clew.simulator.interfaces import VendorErrors
from clew.simulator.steps import End, Repeat, Send, SendHead, Silence, Step, Steps, body_of


def apply_faults(
    faults: Sequence[FaultSpec], steps: Steps, request_id: str, errors: VendorErrors = ANTHROPIC_ERRORS
) -> Steps:
    """The steps after all faults, in order; `errors` writes errors as the vendor does."""
    for fault in faults:
        if fault.kind in BODY_EFFECTS:
            steps = tuple(BODY_EFFECTS[fault.kind](fault, steps))
        elif fault.kind in ("status", "error", "pings"):
            steps = _with_error(fault, steps, request_id, errors)
        else:
            steps = _with_other_delivery(fault, steps)
    return steps


def _with_error(fault: FaultSpec, steps: Steps, request_id: str, errors: VendorErrors) -> Steps:
    """The steps up to an error of the vendor, or up to pings without end."""
    if fault.kind == "pings":
        before, _ = steps_around(steps, at_default_place(fault, content=0))
        return (*before, Repeat(errors.ping, None, fault.every), End("fin"))
    if fault.kind == "error" and _is_streamed(steps):
        before, _ = steps_around(steps, fault)
        return (*before, Send(errors.event(fault.type, fault.message, fault.form, before), "error"), End())
    status = errors.status(fault.type) if fault.kind == "error" else fault.status
    body = errors.body(fault.type, fault.message, status, request_id) if fault.body is None else fault.body.encode()
    given = [
        ("content-type", fault.content_type or "application/json"),
        ("retry-after", fault.retry_after),
        ("retry-after-ms", fault.retry_after_ms),
        ("x-should-retry", fault.should_retry),
        ("location", fault.location),
    ]
    headers = [(name, value) for name, value in given if value]
    headers += [(name, value) for name, value in _head(steps).headers if name not in ("content-type", "cache-control")]
    return (SendHead(status, tuple(headers)), Send(body), End())


def _with_other_delivery(fault: FaultSpec, steps: Steps) -> Steps:
    """The same answer with another timing, in other pieces, with another type, or with another end."""
    before, after = steps_around(steps, fault)
    match fault.kind:
        case "cut":
            return (*before, End(fault.how))
        case "stall":
            return (*before, Silence(fault.seconds), *after)
        case "slow-start":
            return (Silence(fault.seconds), *steps)
        case "drip":
            return tuple(_drip(steps, max(1, fault.size)))
        case "lump":
            body = Send(body_of(steps), "lump" if _is_streamed(steps) else "")
            # The silence: a body right after its head would go out with a content-length, not as a stream.
            return (_head(steps), Silence(0), body, steps[-1])
        case "content-type":
            head = _head(steps)
            kept = [(name, value) for name, value in head.headers if name != "content-type"]
            typed = SendHead(head.status, (("content-type", fault.content_type), *kept))
            return tuple(typed if step is head else step for step in steps)
        case "no-answer":
            return (End("rst" if fault.how == "rst" else "fin"),)
        case _:
            return tuple(End("close", fault.later) if step == End() else step for step in steps)


def _drip(steps: Steps, size: int) -> Iterator[Step]:
    for step in steps:
        if not isinstance(step, Send):
            yield step
            continue
        for place in range(0, len(step.data), size):
            yield Send(step.data[place : place + size], step.event)
            yield Silence(0)  # so that the event loop sends it as a separate segment


def _head(steps: Steps) -> SendHead:
    return next(step for step in steps if isinstance(step, SendHead))


def _is_streamed(steps: Steps) -> bool:
    return any(isinstance(step, Send) and step.event for step in steps)

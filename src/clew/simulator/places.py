"""Where in an answer a fault strikes: after so many bytes, events or content events, or right before an event by name."""

from __future__ import annotations

from clew.simulator.faults import Fault
from clew.simulator.steps import End, Send, Steps

__all__ = ["CONTENT", "divided", "is_streamed"]

CONTENT = ("content_block_start", "content_block_delta", "content_block_stop", "reasoning", "content", "tool_calls")
"""What a stream of either dialect calls its content."""


def divided(steps: Steps, fault: Fault) -> tuple[Steps, Steps]:
    """The steps before and after the place. Without one it is the first byte of the body; at the latest it is the end."""
    if fault.at is not None:
        return _at_byte(steps, fault.at)
    if fault.before:
        place = _nth(steps, (fault.before,), 0)
    elif fault.content:
        place = min(_nth(steps, CONTENT, fault.content - 1) + 1, len(steps) - 1)
    else:
        place = _nth(steps, () if fault.content is None else CONTENT, fault.after or 0)
    return steps[:place], steps[place:]


def is_streamed(steps: Steps) -> bool:
    return any(isinstance(step, Send) and step.event for step in steps)


def _nth(steps: Steps, names: tuple[str, ...], count: int) -> int:
    """The place of the piece of the body, of any name or of one of these, that comes after so many of its like."""
    for place, step in enumerate(steps):
        if isinstance(step, End):
            return place
        if isinstance(step, Send) and (not names or step.event in names):
            if count <= 0:
                return place
            count -= 1
    return len(steps)


def _at_byte(steps: Steps, at: int) -> tuple[Steps, Steps]:
    for place, step in enumerate(steps):
        if isinstance(step, End):
            return steps[:place], steps[place:]
        if isinstance(step, Send):
            if len(step.data) >= at:
                head, tail = Send(step.data[:at], step.event), Send(step.data[at:], step.event)
                return (*steps[:place], head), (tail, *steps[place + 1 :])
            at -= len(step.data)
    return steps, ()

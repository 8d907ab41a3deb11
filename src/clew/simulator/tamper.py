"""Faults in what is said: events that are garbled, left out, said twice, put in, renumbered, or lack their usage."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, cast

import msgspec

from clew.model.json import JsonObject
from clew.simulator.faults import Fault
from clew.simulator.places import divided
from clew.simulator.steps import Send, Step, Steps

__all__ = ["TAMPERING"]


def _bad_utf8(fault: Fault, steps: Steps) -> Iterator[Step]:
    def garbled(data: bytes) -> bytes:
        middle = len(data) * 2 // 3
        return data[:middle] + b"\xff" + data[middle:]

    return _with_one_changed(fault, steps, garbled)


def _bad_json(fault: Fault, steps: Steps) -> Iterator[Step]:
    """The value breaks off before its last brace."""
    return _with_one_changed(fault, steps, lambda data: data.rstrip(b"\n} ") + b"\n\n")


def _with_one_changed(fault: Fault, steps: Steps, change: Callable[[bytes], bytes]) -> Iterator[Step]:
    before, after = divided(steps, fault)
    yield from before
    for place, step in enumerate(after):
        yield Send(change(step.data), step.event) if place == 0 and isinstance(step, Send) else step


def _omit(fault: Fault, steps: Steps) -> Iterator[Step]:
    names = fault.events.split(",")
    return (step for step in steps if not (isinstance(step, Send) and step.event in names))


def _repeat(fault: Fault, steps: Steps) -> Iterator[Step]:
    names = fault.events.split(",")
    for step in steps:
        yield step
        if isinstance(step, Send) and step.event in names:
            yield step


def _event(fault: Fault, steps: Steps) -> Iterator[Step]:
    before, after = divided(steps, fault)
    data = fault.data or msgspec.json.encode({"type": fault.name}).decode()
    yield from before
    yield Send(f"event: {fault.name}\ndata: {data}\n\n".encode(), fault.name)
    yield from after


def _index_gap(fault: Fault, steps: Steps) -> Iterator[Step]:
    """Blocks from the named one on have a higher number."""

    def moved(event: JsonObject) -> JsonObject:
        index = event.get("index")
        return {**event, "index": index + fault.by} if isinstance(index, int) and index >= fault.block else event

    return (_changed(step, moved) for step in steps)


def _no_usage(fault: Fault, steps: Steps) -> Iterator[Step]:
    def without(event: JsonObject) -> JsonObject:
        kept: JsonObject = {key: value for key, value in event.items() if key != "usage"}
        message = kept.get("message")
        return {**kept, "message": without(message)} if isinstance(message, dict) else kept

    return (_changed(step, without) for step in steps)


def _changed(step: Step, change: Callable[[JsonObject], JsonObject]) -> Step:
    """An event with another value, or a whole message; what is no JSON object stays."""
    if not isinstance(step, Send):
        return step
    head, mark, rest = step.data.partition(b"data: ") if step.event else (b"", b"", step.data)
    try:
        value = msgspec.json.decode(rest)
    except msgspec.DecodeError:
        return step
    if not isinstance(value, dict):
        return step
    end = b"\n\n" if step.event else b""
    return Send(head + mark + msgspec.json.encode(change(cast(JsonObject, value))) + end, step.event)


TAMPERING: Final[dict[str, Callable[[Fault, Steps], Iterator[Step]]]] = {
    "bad-utf8": _bad_utf8,
    "bad-json": _bad_json,
    "omit": _omit,
    "repeat": _repeat,
    "event": _event,
    "index-gap": _index_gap,
    "no-usage": _no_usage,
}

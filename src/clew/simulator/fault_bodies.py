"""Faults of the body: events that are garbled, missing, repeated or renumbered; floods; bodies that unpack to too much.

A fault strikes at a place: after so many bytes, events or content events, or right before an event by name. A flood holds
nothing in memory: one piece is sent again and again, so that a test can measure the memory of the reader in the same
process.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import chain, repeat
from typing import Final, cast

import msgspec
from msgspec import structs

from clew.model.json import JsonObject
from clew.simulator.anthropic.replies import ANTHROPIC_ERRORS
from clew.simulator.faults import FaultSpec
from clew.simulator.steps import End, Repeat, Send, SendHead, Step, Steps

_CONTENT: Final = re.compile(
    r"content_block_.*|reasoning|content|tool_calls|response\.(?!created|queued|in_progress|completed|incomplete|failed).*"
)
"""The content events of a stream, in all dialects."""


# The place.


def steps_around(steps: Steps, fault: FaultSpec) -> tuple[Steps, Steps]:
    """The steps before and after the place: by default the first byte of the body, and at the latest the end."""
    if fault.at is not None:
        at = fault.at
        for place, step in enumerate(steps):
            if isinstance(step, End):
                return steps[:place], steps[place:]
            if isinstance(step, Send):
                if len(step.data) >= at:
                    head, tail = Send(step.data[:at], step.event), Send(step.data[at:], step.event)
                    return (*steps[:place], head), (tail, *steps[place + 1 :])
                at -= len(step.data)
        return steps, ()
    if fault.before:
        place = _nth(steps, re.compile(re.escape(fault.before)), 0)
    elif fault.content:
        place = min(_nth(steps, _CONTENT, fault.content - 1) + 1, len(steps) - 1)
    else:
        place = _nth(steps, None if fault.content is None else _CONTENT, fault.after or 0)
    return steps[:place], steps[place:]


def at_default_place(fault: FaultSpec, *, content: int) -> FaultSpec:
    """The fault, which strikes after so many content events if it has no place."""
    has_place = fault.before or any(place is not None for place in (fault.at, fault.after, fault.content))
    return fault if has_place else structs.replace(fault, content=content)


def _nth(steps: Steps, names: re.Pattern[str] | None, count: int) -> int:
    """The index of the piece of the body that follows `count` others; with names, only events of these names count."""
    for place, step in enumerate(steps):
        if isinstance(step, End):
            return place
        if isinstance(step, Send) and (names is None or names.fullmatch(step.event)):
            if count <= 0:
                return place
            count -= 1
    return len(steps)


# Events.


def _garble(fault: FaultSpec, steps: Steps) -> Iterator[Step]:
    """One event with a byte that is no UTF-8, or with a value that breaks off before its last brace."""
    before, after = steps_around(steps, fault)
    if after and isinstance(piece := after[0], Send):
        data, middle = piece.data, len(piece.data) * 2 // 3
        broken = data[:middle] + b"\xff" + data[middle:] if fault.kind == "bad-utf8" else data.rstrip(b"\n} ") + b"\n\n"
        after = (Send(broken, piece.event), *after[1:])
    return chain(before, after)


def _omit_or_repeat(fault: FaultSpec, steps: Steps) -> Iterator[Step]:
    names, times = fault.events.split(","), 2 if fault.kind == "repeat" else 0
    for step in steps:
        yield from repeat(step, times if isinstance(step, Send) and step.event in names else 1)


def _event(fault: FaultSpec, steps: Steps) -> Iterator[Step]:
    before, after = steps_around(steps, fault)
    data = fault.data or msgspec.json.encode({"type": fault.name}).decode()
    return chain(before, [Send(f"event: {fault.name}\ndata: {data}\n\n".encode(), fault.name)], after)


def _index_gap(fault: FaultSpec, steps: Steps) -> Iterator[Step]:
    """Blocks from the named one on have a higher number."""

    def moved(event: JsonObject) -> JsonObject:
        key = "output_index" if "output_index" in event else "index"
        index = event.get(key)
        return {**event, key: index + fault.by} if isinstance(index, int) and index >= fault.block else event

    return (_changed(step, moved) for step in steps)


def _no_usage(fault: FaultSpec, steps: Steps) -> Iterator[Step]:
    def without(event: JsonObject) -> JsonObject:
        kept: JsonObject = {key: value for key, value in event.items() if key != "usage"}
        for key in ("message", "response"):
            if isinstance(inner := kept.get(key), dict):
                kept[key] = without(inner)
        return kept

    return (_changed(step, without) for step in steps)


def _no_output(fault: FaultSpec, steps: Steps) -> Iterator[Step]:
    """The end of a stream of Responses does not repeat the items."""

    def without(event: JsonObject) -> JsonObject:
        response = event.get("response")
        return {**event, "response": {**response, "output": []}} if isinstance(response, dict) else event

    return (_changed(step, without) for step in steps)


def _changed(step: Step, change: Callable[[JsonObject], JsonObject]) -> Step:
    """An event, or a whole message, with another value. Data that is not a JSON object stays."""
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


# Floods.

_PIECE: Final = b"a" * 65536
_STRING: Final = re.compile(
    rb'"(?:text|thinking|partial_json|delta|content|reasoning_content|reasoning|arguments)":"((?:[^"\\]|\\.)*)"'
)
"""A string of a delta, in all dialects."""
_STRING_END: Final = b'"}}\n\n'
_PADDED_PING: Final = b'event: ping\ndata: {"type":"ping","padding":{"text":"'


def _flood(fault: FaultSpec, steps: Steps) -> Iterator[Step]:
    """Without a place: after the first delta of the content."""
    before, after = steps_around(steps, at_default_place(fault, content=2))
    last = next((step.data for step in reversed(before) if isinstance(step, Send)), ANTHROPIC_ERRORS.ping)
    yield from before
    match fault.shape:
        case "event":
            # The last delta again, with a string of this size; or a ping, if there was no delta.
            *_, found = (None, *_STRING.finditer(last))
            head, tail = (last[: found.end(1)], last[found.end(1) :]) if found else (_PADDED_PING, _STRING_END)
            yield Send(head)
            yield from _one_line(fault.size)
            yield Send(tail)
        case "line":
            yield from _one_line(fault.size)
        case "events":
            yield Repeat(last, fault.size or None)
    yield from after


def _one_line(size: int) -> Iterator[Step]:
    yield Repeat(_PIECE, size // len(_PIECE) if size else None)
    yield Send(_PIECE[: size % len(_PIECE)])


# Bodies that unpack to much more than their size: a gigabyte of zeros is a megabyte of gzip or some kilobytes of zstd. Many
# empty gzip members unpack to nothing and cost time.

_BLOCK: Final = bytes(8 * 1024 * 1024)
_ZSTD_BLOCK: Final = 128 * 1024
_ZSTD_HEAD: Final = b"\x28\xb5\x2f\xfd\x00\x38"
"""Magic number; no checksum, no length, no dictionary; a window of one block."""


def _bomb(fault: FaultSpec, steps: Steps) -> Iterator[Step]:
    """The answer's head, and a packed body in place of the answer's."""
    coding = "zstd" if fault.coding == "zstd" else "gzip"
    for step in steps:
        if isinstance(step, SendHead):
            yield SendHead(step.status, (*step.headers, ("content-encoding", coding)))
    yield Send(packed(fault.coding, fault.size))
    yield End()


@lru_cache(maxsize=4)
def packed(coding: str, size: int) -> bytes:
    """So many zeros, packed; for `members`, so many empty gzip members."""
    match coding:
        case "gzip":
            # One member. A block of zeros is packed once and repeated: the packer's window is cleared after each block.
            count, rest = divmod(size, len(_BLOCK))
            body = _deflated(_BLOCK) * count + _deflated(_BLOCK[:rest]) + b"\x03\x00"
            check = 0
            for length in (*[len(_BLOCK)] * count, rest):
                check = zlib.crc32(memoryview(_BLOCK)[:length], check)
            head = b"\x1f\x8b\x08" + bytes(6) + b"\xff"
            return head + body + check.to_bytes(4, "little") + (size % 2**32).to_bytes(4, "little")
        case "zstd":
            count, rest = divmod(size, _ZSTD_BLOCK)
            return _ZSTD_HEAD + _same_byte(_ZSTD_BLOCK, last=False) * count + _same_byte(rest, last=True)
        case _:
            return gzip.compress(b"", mtime=0) * size


def _deflated(zeros: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(zeros) + packer.flush(zlib.Z_FULL_FLUSH)


def _same_byte(length: int, *, last: bool) -> bytes:
    """A block of zstd that repeats one byte so many times."""
    return (last | 1 << 1 | length << 3).to_bytes(3, "little") + b"\0"


BODY_EFFECTS: Final[dict[str, Callable[[FaultSpec, Steps], Iterator[Step]]]] = {
    "bad-utf8": _garble,
    "bad-json": _garble,
    "omit": _omit_or_repeat,
    "repeat": _omit_or_repeat,
    "event": _event,
    "index-gap": _index_gap,
    "no-usage": _no_usage,
    "no-output": _no_output,
    "flood": _flood,
    "bomb": _bomb,
}

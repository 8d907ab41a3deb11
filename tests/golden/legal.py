"""What every client needs of a stream, as one checker of bytes.

Anyone who has bytes that a client would get, from a golden file, a fuzzer, a hand-over or a real gateway, asks `problems`. It
reads them as a client does, with nothing of the code that wrote them, and names each rule that they break. The rules are the
strictest of all clients: one of them needs `event:` lines, another indices without gaps, a third exactly one signature for each
thought, a fourth only types that it knows. A stream that no rule objects to is safe for all.

A stream that failed may end anywhere, with an `error`. The block that was open then has no stop and no signature: it must
not look whole. A stream that did not fail must be whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

__all__ = ["RULES", "Signatures", "check", "problems"]

Signatures = Literal["sealed", "empty", "any"]
"""On each thought: one that is not empty; none at all, as the founding document had it; or whatever came."""

TYPES = ("message_start", "content_block_start", "content_block_delta", "content_block_stop")
TYPES += ("message_delta", "message_stop", "ping", "error")
STARTS = {
    "text": {"type": "text", "text": ""},
    "thinking": {"type": "thinking", "thinking": "", "signature": ""},
}
"""What a block must be when it starts: clients take texts from deltas alone."""
DELTAS = {
    "text": {"text_delta"},
    "thinking": {"thinking_delta", "signature_delta"},
    "tool_use": {"input_json_delta"},
    "redacted_thinking": set[str](),
}
REASONS = ("end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal", "model_context_window_exceeded")
CUT = ("max_tokens", "model_context_window_exceeded", "refusal")
"""Reasons that may leave a thought unfinished."""
SAFE_ID = re.compile(r"[a-zA-Z0-9_-]+")


@dataclass
class Block:
    index: Any
    start: dict[str, Any]
    deltas: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    stops: int = 0

    @property
    def type(self) -> Any:
        return self.start.get("type")


@dataclass
class Read:
    """A stream as a client reads it."""

    names: list[str]
    events: list[dict[str, Any]]
    signatures: Signatures
    model: str | None

    @property
    def types(self) -> list[Any]:
        return [event.get("type") for event in self.events]

    @property
    def failed(self) -> bool:
        return "error" in self.types

    @property
    def broken_block(self) -> Block | None:
        """The block that was open when the stream failed."""
        last = self.blocks[-1] if self.failed and self.blocks else None
        return last if last is not None and not last.stops else None

    @property
    def reason(self) -> Any:
        ends = [event for event in self.events if event.get("type") == "message_delta"]
        return ends[-1].get("delta", {}).get("stop_reason") if ends else None

    @cached_property
    def blocks(self) -> list[Block]:
        """In the order of their starts; what names no started block is the business of `one_at_a_time`."""
        found: list[Block] = []
        by_index: dict[Any, Block] = {}
        for event in self.events:
            index = event.get("index")
            if event.get("type") == "content_block_start":
                by_index[index] = Block(index, event.get("content_block", {}))
                found.append(by_index[index])
            elif event.get("type") == "content_block_delta" and index in by_index:
                by_index[index].deltas.append(event.get("delta", {}))
            elif event.get("type") == "content_block_stop" and index in by_index:
                by_index[index].stops += 1
        return found


def names_are_types(read: Read) -> Iterator[str]:
    """Each event has a line with its name, and the name is the type in its data (Claude Code, the SDKs)."""
    for name, kind in zip(read.names, read.types, strict=True):
        if name != kind:
            yield f"an event named {name!r} is of type {kind!r}"


def only_known_types(read: Read) -> Iterator[str]:
    """Events, blocks and deltas that every client has heard of (AI SDK)."""
    yield from (f"event {kind!r}" for kind in read.types if kind not in TYPES)
    for block in read.blocks:
        if block.type not in DELTAS:
            yield f"block {block.type!r}"
        known = DELTAS.get(block.type, set())
        yield from (f"{delta.get('type')!r} in {block.type!r}" for delta in block.deltas if delta.get("type") not in known)


def starts_whole(read: Read) -> Iterator[str]:
    """`message_start` comes once and before all but pings, and is a whole message with usage (SDKs, AI SDK)."""
    rest = [kind for kind in read.types if kind != "ping"]
    if rest[:1] != ["message_start"] or rest.count("message_start") != 1:
        if rest != ["error"]:
            yield f"it begins with {rest[:1]}"
        return
    message = next(event["message"] for event in read.events if event.get("type") == "message_start")
    wanted = {"type": "message", "role": "assistant", "content": [], "stop_reason": None, "stop_sequence": None}
    if {key: message.get(key, "absent") for key in wanted} != wanted or not message.get("id"):
        yield f"the message starts as {message}"
    yield from _uncounted(message.get("usage"), "input_tokens", "output_tokens")


def names_the_model(read: Read) -> Iterator[str]:
    """The model is the one that was asked for: Claude Code drops thinking of any other."""
    for event in read.events:
        named = event.get("message", {}).get("model")
        if event.get("type") == "message_start" and (not named or read.model not in (None, named)):
            yield f"the model is named {named!r}"


def one_at_a_time(read: Read) -> Iterator[str]:
    """One block is open at a time, counted from 0 without gaps; deltas and stops name it (SDKs)."""
    count, open_index = 0, None
    for event in read.events:
        kind, index = event.get("type"), event.get("index")
        if kind == "content_block_start":
            if open_index is not None or index != count:
                yield f"block {index} starts as number {count}, while {open_index} is open"
            count, open_index = count + 1, index
        elif kind in ("content_block_delta", "content_block_stop"):
            if index != open_index or index is None:
                yield f"{kind} for {index} while {open_index} is open"
            open_index = None if kind == "content_block_stop" else open_index
        elif kind in ("message_delta", "message_stop") and open_index is not None:
            yield f"{kind} while {open_index} is open"


def stops_once(read: Read) -> Iterator[str]:
    """Every block is stopped, once (Claude Code); only one that is broken off is not."""
    whole = (block for block in read.blocks if block is not read.broken_block)
    yield from (f"block {block.index} is stopped {block.stops} times" for block in whole if block.stops != 1)


def starts_empty(read: Read) -> Iterator[str]:
    """A block starts with empty values; texts and thoughts grow by something (Claude Code)."""
    for block in read.blocks:
        if block.type in STARTS and block.start != STARTS[block.type]:
            yield f"block {block.index} starts as {block.start}"
        if block.type == "tool_use" and block.start.get("input") != {}:
            yield f"call {block.index} starts with input {block.start.get('input')}"
        if any(delta.get(name) == "" for delta in block.deltas for name in ("text", "thinking")):
            yield f"block {block.index} grows by nothing"


def signed_once(read: Read) -> Iterator[str]:
    """A thought has exactly one signature, which is not empty and comes just before its stop (Claude Code, SDKs).

    One that is broken off has none: it is not whole.
    """
    for block in read.blocks:
        if block.type != "thinking" or read.signatures == "any":
            continue
        signed = [delta.get("signature") for delta in block.deltas if delta.get("type") == "signature_delta"]
        if block is read.broken_block:
            yield from (f"thought {block.index} is broken off and signed {each!r}" for each in signed if each)
        elif read.signatures == "empty":
            yield from (f"thought {block.index} is signed {each!r}" for each in signed if each)
        elif len(signed) != 1 or not signed[0] or block.deltas[-1].get("type") != "signature_delta":
            yield f"thought {block.index} is signed {signed}"


def calls_can_run(read: Read) -> Iterator[str]:
    """A call has a name and an id of its own in safe letters. (What is in its input are the model's own words.)"""
    calls = [block for block in read.blocks if block.type == "tool_use"]
    ids = [str(call.start.get("id")) for call in calls]
    yield from (f"the id {each!r}" for each in ids if not SAFE_ID.fullmatch(each) or ids.count(each) > 1)
    yield from (f"call {call.index} has no name" for call in calls if not call.start.get("name"))


def ends_once(read: Read) -> Iterator[str]:
    """The end is one `message_delta` with reason and usage, then `message_stop`; or an `error`, and nothing behind it."""
    rest = [kind for kind in read.types if kind != "ping"]
    if read.failed:
        if rest.index("error") != len(rest) - 1 or "message_stop" in rest:
            yield f"it fails and goes on: {rest[-3:]}"
        return
    if rest[-2:] != ["message_delta", "message_stop"] or rest.count("message_delta") + rest.count("message_stop") != 2:
        yield f"it ends with {rest[-2:]}"
    usages = [event.get("usage") for event in read.events if event.get("type") == "message_delta"]
    yield from _uncounted(usages[-1] if usages else None, "output_tokens")


def says_why(read: Read) -> Iterator[str]:
    """The reason is one that clients know, and `tool_use` means that there is a call (Claude Code runs tools by it)."""
    called = any(block.type == "tool_use" for block in read.blocks)
    if read.failed:
        return
    if read.reason not in REASONS:
        yield f"it ends for the reason {read.reason!r}"
    if (read.reason == "tool_use") is not called and read.reason not in CUT:
        yield f"it ends {read.reason} {'with' if called else 'without'} a call"


def errors_are_said(read: Read) -> Iterator[str]:
    """An error has a type and a message (SDKs raise by them)."""
    for event in read.events:
        error = event.get("error", {})
        if event.get("type") == "error" and not (error.get("type") and isinstance(error.get("message"), str)):
            yield f"the error is {error}"


RULES: tuple[Callable[[Read], Iterable[str]], ...] = (
    names_are_types,
    only_known_types,
    starts_whole,
    names_the_model,
    one_at_a_time,
    stops_once,
    starts_empty,
    signed_once,
    calls_can_run,
    ends_once,
    says_why,
    errors_are_said,
)


def problems(stream: bytes, *, signatures: Signatures = "sealed", model: str | None = None) -> list[str]:
    """Each broken rule by its name, with what breaks it; none if every client can read these bytes."""
    try:
        read = _read(stream, signatures, model)
    except ValueError as error:
        return [f"readable: {error}"]
    return [f"{rule.__name__}: {problem}" for rule in RULES for problem in rule(read)]


def check(stream: bytes, *, signatures: Signatures = "sealed", model: str | None = None) -> None:
    """Fails with what is wrong, and the stream."""
    found = problems(stream, signatures=signatures, model=model)
    assert not found, "\n".join([*found, stream.decode(errors="replace")])


def _read(stream: bytes, signatures: Signatures, model: str | None) -> Read:
    names: list[str] = []
    events: list[dict[str, Any]] = []
    for part in re.split(r"(?<=\n)\n", stream.decode()):
        lines = [line for line in part.split("\n") if line and not line.startswith(":")]
        if not lines:
            continue
        if len(lines) != 2 or not lines[0].startswith("event: ") or not lines[1].startswith("data: "):
            raise ValueError(f"an event is {lines}")
        names.append(lines[0].removeprefix("event: "))
        events.append(_object(lines[1].removeprefix("data: ")))
    if stream and not stream.endswith(b"\n\n"):
        raise ValueError("the last event is not whole")
    return Read(names, events, signatures, model)


def _object(data: str) -> dict[str, Any]:
    value = json.loads(data)
    if not isinstance(value, dict):
        raise ValueError(f"no object: {data}")
    return value


def _uncounted(usage: Any, *names: str) -> Iterator[str]:
    """Usage that an SDK cannot read."""
    counts = [usage.get(name) for name in names] if isinstance(usage, dict) else [None]
    if any(not isinstance(count, int) or count < 0 for count in counts):
        yield f"usage is {usage}"

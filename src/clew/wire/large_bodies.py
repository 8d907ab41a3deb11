"""Reads a large request body part by part, so that no single call holds the interpreter for long.

The decoder builds a whole body in one call. With two million tiny blocks that takes 0.4 s, in which no other thread runs,
not even the event loop. So the first pass only finds where each message begins and ends. Then every message is decoded by
itself, and a large one block by block. Between two parts other threads run, and `check` may stop the work. The values are
the same, and are views of the same bytes, as if the body had been decoded in one call.

Bounds are checked before the values are built.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from clew.errors import BodyTooLarge, RequestInvalid
from clew.model.blocks import Block
from clew.model.request import Body, RequestMessage, blocks_of
from clew.model.texts import decode_string

MAX_MESSAGES: Final = 100_000
"""The vendor's own limit for entries in `messages`."""

MAX_BLOCKS: Final = 200_000
"""Blocks in all messages of a request. The largest models read about a million tokens, and every block takes several."""

MAX_VALUES: Final = 1_000_000
"""JSON values in a request body, apart from the first of each list and object. No model reads as many: each takes two
tokens at least."""

_PART_BYTES: Final = 256 * 1024
"""A larger message is decoded block by block."""
_SLICE_BYTES: Final = 1024 * 1024
_IN_STRING: Final = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)


class InvalidMessage(Exception):
    """A message that is not as it must be: the decoder's complaint, and which message it is about."""

    def __init__(self, complaint: str, index: int) -> None:
        super().__init__(complaint)
        self.index = index


class _MessageParts(msgspec.Struct, gc=False):
    role: str
    content: Raw | UnsetType = UNSET
    output_config: Raw | UnsetType = UNSET


_FIELDS: Final = msgspec.structs.fields(Body)
_RawBody: Any = msgspec.defstruct(
    "_RawBody",
    [("messages", list[Raw]), *[(each.name, each.type, each.default) for each in _FIELDS if each.name != "messages"]],
)
"""The body with its messages as they came."""

_raw_body: msgspec.json.Decoder[Any] = msgspec.json.Decoder(_RawBody)
_message = msgspec.json.Decoder(RequestMessage)
_parts = msgspec.json.Decoder(_MessageParts)
_elements = msgspec.json.Decoder(list[Raw])
_block = msgspec.json.Decoder(Block)


def read_large_body(raw: bytes, check: Callable[[], None]) -> tuple[Body, Sequence[Raw]]:
    """The body, and the messages as they came.

    Raises DecodeError for bytes that are no body, InvalidMessage for a wrong message, RequestInvalid or BodyTooLarge over a
    limit, and whatever `check` raises.
    """
    check_values(raw)
    shell = _raw_body.decode(raw)
    given: list[Raw] = shell.messages
    check_count(given)
    messages: list[RequestMessage] = []
    blocks = 0
    for index, value in enumerate(given):
        check()
        try:
            message = read_message(value, check)
        except msgspec.ValidationError as error:
            raise InvalidMessage(str(error), index) from None
        messages.append(message)
        blocks += len(blocks_of(message))
        _check_blocks(blocks)
    rest = [getattr(shell, each.name) for each in _FIELDS if each.name != "messages"]
    return Body(tuple(messages), *rest), given


def check_values(raw: bytes, start: int = 0) -> None:
    """Raises BodyTooLarge for a document with too many values, from `start` on.

    They are counted by the commas between them. Commas in strings count at first: only where there are so many is it worth
    to tell them apart.
    """
    slices = range(start, len(raw), _SLICE_BYTES)
    if sum(raw.count(b",", at, at + _SLICE_BYTES) for at in slices) < MAX_VALUES:
        return
    count, at = 0, start
    while at < len(raw) and count < MAX_VALUES:
        stop = min(at + _SLICE_BYTES, len(raw))
        quote = raw.find(b'"', at, stop)
        end = quote if quote >= 0 else stop
        count += raw.count(b",", at, end)
        at = end if quote < 0 else _after_string(raw, quote + 1)
    if count >= MAX_VALUES:
        raise BodyTooLarge(f"the request body has more than the {MAX_VALUES} JSON values allowed")


def _after_string(raw: bytes, at: int) -> int:
    """Behind the string that goes on here: behind its quote, or at the end of the document."""
    while at < len(raw):
        match = _IN_STRING.match(raw, at, at + _SLICE_BYTES)
        assert match is not None, "it may be empty"
        if match.end() == at and raw[at : at + 1] != b'"':
            return len(raw)  # half an escape, at the very end
        at = match.end()
        if raw[at : at + 1] == b'"':
            return at + 1
    return at


def check_count(messages: Sequence[object]) -> None:
    """Raises RequestInvalid for more messages than a request may have."""
    if len(messages) > MAX_MESSAGES:
        raise RequestInvalid(f"messages: {len(messages)} entries, more than the {MAX_MESSAGES} allowed", path="messages")


def read_message(value: bytes | Raw, check: Callable[[], None]) -> RequestMessage:
    """One message; a large one block by block. Raises DecodeError, BodyTooLarge, and whatever `check` raises."""
    if len(memoryview(value)) <= _PART_BYTES:
        return _message.decode(value)
    parts = _parts.decode(value)
    if parts.content is UNSET:
        return RequestMessage(parts.role, None, parts.output_config)
    begin = memoryview(parts.content)[0]
    if begin not in b'"[':
        return _message.decode(value)  # null, or a complaint that names all kinds of content
    blocks: list[Block] = []
    try:
        if begin == 0x22:
            return RequestMessage(parts.role, decode_string(parts.content), parts.output_config)
        elements = _elements.decode(parts.content)
        _check_blocks(len(elements))
        for element in elements:
            check()
            blocks.append(_block.decode(element))
    except msgspec.ValidationError:
        return _message.decode(value)  # its complaint says where in the message
    return RequestMessage(parts.role, tuple(blocks), parts.output_config)


def _check_blocks(count: int) -> None:
    if count > MAX_BLOCKS:
        raise BodyTooLarge(f"messages: more than the {MAX_BLOCKS} content blocks allowed in a request")

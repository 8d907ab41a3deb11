"""Requests of the Messages API: bytes in, bytes out.

`parse` reads the body once, typed where decisions look and raw elsewhere. `encode` writes it again by comparing what is to
go out with what came in, by identity, and splicing only what differs: an untouched request is the very bytes that came.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress

import msgspec
from msgspec import UNSET, Raw, UnsetType

from clew.errors import BodyTooLarge, RequestInvalid
from clew.model.blocks import Block, Made
from clew.model.request import ALWAYS, Body, Content, Edited, Request, RequestMessage, Source, Wanted
from clew.wire.arrays import Array, Item, find_array, last_elements, recompose
from clew.wire.large_bodies import MAX_MESSAGES, InvalidMessage, check_count, read_large_body
from clew.wire.splice import Edit, Span, apply, cuts, drop_key, edit_object, elements, locate, set_key
from clew.wire.strict_json import LARGE_BYTES, decode_json, find_large_fault

__all__ = [
    "MAX_BYTES",
    "MAX_MESSAGES",
    "array_of",
    "encode",
    "messages_after_last_answer",
    "parse",
    "raw_of",
    "read_array",
]

MAX_BYTES = 32 * 1024 * 1024
"""The vendor's own limit for a request body."""

MAX_MODEL = 1000
"""Characters of a model's name, several times those of the longest: it is kept in many places, and said in a header."""

_body = msgspec.json.Decoder(Body)
_message = msgspec.json.Decoder(RequestMessage)
_FIELDS = tuple(name for name in Body.__struct_fields__ if name != "messages")


def parse(raw: bytes, *, betas: Sequence[str] = (), wanted: Wanted = ALWAYS) -> Request:
    """Read a request.

    Raises RequestInvalid with a JSON path for what cannot be read, BodyTooLarge over a limit, and NotWanted where a large
    request is not wanted any more.
    """
    if len(raw) > MAX_BYTES:
        raise BodyTooLarge(f"the request body has {len(raw)} bytes, more than the {MAX_BYTES} allowed")
    try:
        source = Source(raw, _body.decode(raw)) if len(raw) <= LARGE_BYTES else _read_large(raw, wanted)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        if isinstance(error, msgspec.ValidationError):  # what is wrong as a request: the path says where
            raise _invalid(str(error)) from None
        if isinstance(error, RecursionError) or len(raw) <= LARGE_BYTES:
            decode_json(raw)  # raises with line and column where the bytes are no JSON at all
            raise _invalid(str(error)) from None
        fault = find_large_fault(raw, str(error))
        raise RequestInvalid(str(fault), line=fault.line, column=fault.column) from None
    body = source.body
    check_count(body.messages)
    if len(body.model) > MAX_MODEL:
        raise RequestInvalid(f"model: {len(body.model)} characters, more than the {MAX_MODEL} allowed", path="model")
    return Request(source, body, tuple(betas))


def _read_large(raw: bytes, wanted: Wanted) -> Source:
    try:
        body, messages = read_large_body(raw, wanted.check)
    except InvalidMessage as error:
        raise _invalid(str(error), f"messages.{error.index}") from None
    except msgspec.DecodeError:
        return Source(raw, _body.decode(raw))  # its complaint says where in the body
    source = Source(raw, body)
    source.wanted = wanted
    with suppress(RequestInvalid):  # a doubled key is refused only where the list has to be edited
        source.layout = find_array(raw, "messages", messages)
    return source


def _invalid(complaint: str, above: str = "") -> RequestInvalid:
    """What the decoder says of a value that stands at `above`."""
    words, _, where = complaint.partition(" - at `$")
    path = (above + re.sub(r"\[(\d+|\.\.\.)\]", r".\1", where.rstrip("`"))).strip(".")
    return RequestInvalid(f"{path}: {words}" if path else words, path=path)


def encode(request: Request) -> bytes:
    """The bytes to send."""
    source, body = request.source, request.body
    if body is source.body:
        return source.raw
    fields = {name: new for name in _FIELDS if (new := getattr(body, name)) is not getattr(source.body, name)}
    if body.messages is source.body.messages and not fields:
        return source.raw
    if not fields and (edits := cuts(request)) is not None:
        return apply(source.raw, edits)
    array = array_of(source)
    return apply(source.raw, _field_edits(source.raw, array, fields) + _message_edits(request, array))


def _field_edits(raw: bytes, array: Array, fields: dict[str, Raw | str | UnsetType]) -> list[Edit]:
    """Edits of the outermost object, found in the document without its long array, which need not be read again."""
    if not fields:
        return []
    shell = raw[: array.start] + b"[]" + raw[array.end :]
    put = {name: msgspec.json.encode(new) for name, new in fields.items() if new is not UNSET}
    drop = [name for name, new in fields.items() if new is UNSET]
    longer = array.end - array.start - 2

    def moved(at: int) -> int:
        return at + longer if at > array.start else at

    edits = edit_object(shell, put=put, drop=drop)
    return [Edit(moved(edit.start), moved(edit.end), edit.new) for edit in edits]


class _Messages(msgspec.Struct):
    messages: list[Raw]


_raw_messages = msgspec.json.Decoder(_Messages)


def array_of(source: Source) -> Array:
    """Where the messages stand. Raises RequestInvalid where the key is there twice."""
    if not isinstance(source.layout, Array):
        source.layout = read_array(source.raw)
    return source.layout


def read_array(raw: bytes) -> Array:
    """The same for a document."""
    return find_array(raw, "messages", _raw_messages.decode(raw).messages)


def _message_edits(request: Request, array: Array) -> list[Edit]:
    """Edits of the messages in their places; of the whole list only if one is new, gone or elsewhere."""
    source, given, now = request.source, request.source.body.messages, request.messages
    if len(now) != len(given) or any(
        a is not b and source.index_of(b) != i for i, (a, b) in enumerate(zip(given, now, strict=True))
    ):
        items: list[Item] = []
        for message in now:
            index = source.index_of(message)
            if index is None:
                content = _content(source, array, message.content)
                items.append(Item(new=b'{"role":%b,"content":%b}' % (msgspec.json.encode(message.role), content)))
            else:
                edited = _edited(source, array, index, message) if isinstance(message, Edited) else None
                items.append(Item(index, edited))
        return [Edit(array.start, array.end, recompose(source.raw, array.spans, Span(array.start, array.end), items))]
    altered = [index for index, (a, b) in enumerate(zip(given, now, strict=True)) if a is not b]
    return [Edit(*array.spans[index], _edited(source, array, index, now[index])) for index in altered]


def _edited(source: Source, array: Array, index: int, message: RequestMessage) -> bytes:
    source.wanted.check()
    given, raw, path = source.body.messages[index], source.raw[slice(*array.spans[index])], f"messages.{index}"
    if message.role != given.role:
        raw = set_key(raw, "role", msgspec.json.encode(message.role), path=path)
    if message.output_config is UNSET and given.output_config is not UNSET:
        raw = drop_key(raw, "output_config", path=path)
    if message.content is given.content:
        return raw
    if not (isinstance(given.content, tuple) and isinstance(message.content, tuple)):
        return set_key(raw, "content", _content(source, array, message.content), path=path)
    start, end = locate(raw, ("content",))  # refuses a doubled key
    own = {id(block): j for j, block in enumerate(given.content)}
    items = [
        Item(own[id(block)]) if id(block) in own else Item(new=_block(source, array, block)) for block in message.content
    ]
    spans = [Span(span.start + start, span.end + start) for span in elements(raw[start:end])]
    return raw[:start] + recompose(raw, spans, Span(start, end), items) + raw[end:]


def _content(source: Source, array: Array, content: Content) -> bytes:
    if not isinstance(content, tuple):
        return msgspec.json.encode(content)
    return b"[%b]" % b",".join(_block(source, array, block) for block in content)


def _block(source: Source, array: Array, block: Block) -> bytes:
    """A block's own bytes: as they were made, or as they came in whichever message."""
    if isinstance(block, Made):
        return block.raw
    place = source.place_of(block)
    assert place is not None, "a block that is neither the client's nor made"
    index, position = place
    if index not in source.block_spans:  # looked for once for all blocks of a message
        message = array.spans[index]
        start, end = locate(source.raw[slice(*message)], ("content",))
        at = message.start + start
        spans = elements(source.raw[at : message.start + end])
        source.block_spans[index] = [Span(span.start + at, span.end + at) for span in spans]
    return source.raw[slice(*source.block_spans[index][position])]


def raw_of(request: Request, block: Block) -> bytes:
    """A block's own bytes, for a step that has to alter one value in it."""
    return block.raw if isinstance(block, Made) else _block(request.source, array_of(request.source), block)


def messages_after_last_answer(request: Request) -> tuple[bytes, ...]:
    """The client's own bytes of what it said since the last answer in its history."""
    messages = request.source.body.messages
    last = next((i for i in range(len(messages) - 1, -1, -1) if messages[i].role == "assistant"), -1)
    new = messages[last + 1 :]
    if request.source.layout is None and (found := _at_the_end(request.source.raw, new)):
        return found
    spans = array_of(request.source).spans[last + 1 :]
    return tuple(request.source.raw[start:end] for start, end in spans)


def _at_the_end(raw: bytes, messages: Sequence[RequestMessage]) -> tuple[bytes, ...]:
    """The bytes of the last messages, as nearly every client writes them; nothing if they are not found so. A history of
    megabytes need not be read a second time for them."""
    found = last_elements(raw, len(messages), b'{"role":') if messages else None
    if found is None:
        return ()
    try:
        read = [_message.decode(each) for each in found]
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ()
    return tuple(found) if msgspec.json.encode(read) == msgspec.json.encode(messages) else ()

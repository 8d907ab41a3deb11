"""Messages on both sides: bytes pass, and these few of them are replaced.

The model's name becomes the one that the client asked for. Usage that a backend does not report becomes zero, because
clients read it without asking whether it is there: the SDKs end a stream with an error of their own, and Claude Code adds
up. What is recorded stays as the backend said it.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Struct

from clew.dialects.anthropic.delta_runs import ALL_DELTAS, NO_DELTAS, UNSIGNED_DELTAS, join_run, read_run
from clew.dialects.anthropic.streams import read_stream_event
from clew.dialects.shape import Passthrough
from clew.errors import RequestInvalid
from clew.model.events import Event, MessageStart, data_of
from clew.model.json import JsonObject
from clew.wire.events import encode_event
from clew.wire.splice import Edit, apply, locate, set_key
from clew.wire.sse import SseEvent, sse_bytes

_NO_USAGE: Final = b'{"input_tokens":0,"output_tokens":0}'
_NO_USAGE_AT_THE_END: Final = b'{"output_tokens":0}'


class _Message(Struct):
    model: str = ""


class _Start(Struct):
    message: _Message | None = None


_message = msgspec.json.Decoder(_Message)
_start = msgspec.json.Decoder(_Start)


def rename(data: bytes, model: str, path: tuple[str, ...] = ("model",)) -> bytes:
    """The JSON with that model's name; the very same bytes if it has it already, or has no name that could be replaced."""
    if _model_in(data, path) == model:
        return data
    try:
        start, end = locate(data, path)
    except RequestInvalid:
        return data
    name = msgspec.json.encode(model)
    return data if data[start:end] == name else apply(data, [Edit(start, end, name)])


def _model_in(data: bytes, path: tuple[str, ...]) -> str:
    """The model that it names, nearly always the right one; "" if that cannot be read quickly."""
    try:
        found = _message.decode(data) if len(path) == 1 else _start.decode(data).message
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""
    return found.model if found else ""


def rename_start(raw: bytes, event: SseEvent, model: str) -> bytes:
    """A `message_start` that names this model."""
    data = rename(event.data, model, ("message", "model"))
    return raw if data is event.data else sse_bytes(event.name, data)


def fill_usage(event: Event, raw: bytes, model: str) -> bytes:
    """An event that lacks usage, with it; its other data stay as they came. `model` is the name as asked."""
    data = data_of(event)
    try:
        if isinstance(event, MessageStart):
            start, end = locate(data, ("message",))
            message = rename(set_key(data[start:end], "usage", _NO_USAGE), model)
            data = apply(data, [Edit(start, end, message)])
        else:
            data = set_key(data, "usage", _NO_USAGE_AT_THE_END)
    except RequestInvalid:
        return raw
    return sse_bytes(event.type.encode(), data)


def pass_answer(raw: bytes, message: JsonObject, model: str) -> bytes:
    """An answer in one piece: the model's name as asked, and usage where there is none."""
    named = rename(raw, model)
    if isinstance(message.get("usage"), dict):
        return named
    try:
        return set_key(named, "usage", _NO_USAGE)
    except RequestInvalid:
        return named


PASSTHROUGH: Final = Passthrough(
    all_runs=ALL_DELTAS,
    unsigned_runs=UNSIGNED_DELTAS,
    no_runs=NO_DELTAS,
    read_run=read_run,
    join_run=join_run,
    read_event=read_stream_event,
    write_event=encode_event,
    rename_start=rename_start,
    fill_usage=fill_usage,
    pass_answer=pass_answer,
)

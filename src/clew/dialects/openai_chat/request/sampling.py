"""The small fields: limits, sampling, stops, who asks, the form of the answer."""

from __future__ import annotations

import hashlib

from msgspec import Raw
from msgspec.json import Decoder

from clew.dialects.openai_chat.request.notes import Notes
from clew.dialects.openai_chat.request.reading import BOOLEAN, INTEGER, OBJECT, Fields, Piece, decoded
from clew.dialects.openai_chat.request.tool_schemas import is_closed, schema_to_send
from clew.dialects.openai_chat.wire import Wire
from clew.errors import RequestInvalid, Unrepresentable

__all__ = ["answer_format", "max_tokens_of", "sampling", "stops", "streaming", "user"]

SCHEMA_NAME = "answer"
"""A schema must have a name; the client gave none."""

TOO_MANY = "this backend takes fewer stop sequences"
AT_MOST = "this backend says at most {} tokens at once"
NO_TOP_K = "this backend has no top_k"
NOT_TOLD = "this backend is not told who asks"
TOO_LONG = "longer than this backend takes; its SHA-256 stands for it"
NO_SCHEMA = "this backend does not take a schema for its answer"
NOT_HELD = "it is asked for, not held to: that takes objects that require all their properties and allow no others"
ANY_JSON = "this backend promises JSON, but not this schema"

_STRINGS = Decoder(list[str])


def max_tokens_of(fields: Fields, wire: Wire) -> int | None:
    """As many as the client asks for, or as the backend can say."""
    given = Piece("", fields).value("max_tokens", INTEGER) if "max_tokens" in fields else None
    return given if given is None or not wire.most_tokens else min(given, wire.most_tokens)


def sampling(fields: Fields, wire: Wire, notes: Notes) -> dict[str, object]:
    """Limits and sampling, each number as the client wrote it."""
    sent: dict[str, object] = {wire.max_tokens: fields["max_tokens"]} if "max_tokens" in fields else {}
    most = max_tokens_of(fields, wire) if wire.most_tokens else None
    if most is not None and bytes(fields["max_tokens"]) != str(most).encode():
        sent[wire.max_tokens] = most
        notes.add("max_tokens", "replaced", AT_MOST.format(most))
    sent |= {name: fields[name] for name in ("temperature", "top_p") if name in fields}
    if "top_k" in fields and not wire.top_k:
        notes.left_out("top_k", NO_TOP_K)
    elif "top_k" in fields:
        sent["top_k"] = fields["top_k"]
    return sent


def stops(fields: Fields, wire: Wire, notes: Notes) -> dict[str, object]:
    given = decoded(fields["stop_sequences"], _STRINGS, "stop_sequences") if "stop_sequences" in fields else []
    for index in range(wire.stops, len(given)):
        notes.left_out(f"stop_sequences.{index}", TOO_MANY)
    return {"stop": given[: wire.stops]} if given[: wire.stops] else {}


def user(fields: Fields, wire: Wire, notes: Notes) -> dict[str, object]:
    """Who asks. A long name (Claude Code's holds a device and a session) goes as its hash."""
    metadata = Piece("metadata", decoded(fields["metadata"], OBJECT, "metadata") if "metadata" in fields else {})
    notes.unsaid("metadata", metadata.fields, {"user_id"})
    name = metadata.string("user_id")
    if name and not wire.user:
        notes.left_out("metadata.user_id", NOT_TOLD)
    if not name or not wire.user:
        return {}
    if len(name) > wire.user_length:
        notes.add("metadata.user_id", "replaced", TOO_LONG)
        name = hashlib.sha256(name.encode()).hexdigest()[: wire.user_length]
    return {wire.user: name}


def streaming(fields: Fields, wire: Wire) -> dict[str, object]:
    """A stream tells its usage only if asked."""
    if "stream" not in fields or not decoded(fields["stream"], BOOLEAN, "stream"):
        return {}
    if not wire.stream_usage:
        return {"stream": True}
    return {"stream": True, "stream_options": {"include_usage": True}}


def _schema(form: Piece) -> Raw:
    if "schema" not in form.fields:
        raise RequestInvalid(f"{form.path}.schema: Field required", path=f"{form.path}.schema")
    return form.fields["schema"]


def answer_format(fields: Fields, wire: Wire, notes: Notes) -> dict[str, object]:
    """The schema that the answer must fit."""
    config = Piece(
        "output_config", decoded(fields["output_config"], OBJECT, "output_config") if "output_config" in fields else {}
    )
    notes.unsaid("output_config", config.fields, {"effort", "format"})
    path = "output_config.format"
    form = Piece(path, config.value("format", OBJECT) or {})
    if not form.fields:
        return {}
    notes.unsaid(path, form.fields, {"type", "schema"})
    if form.type != "json_schema":
        raise Unrepresentable(f"{path}: an answer of type {form.type!r} cannot be asked of this backend")
    if wire.schema == "none":
        notes.left_out(path, NO_SCHEMA)
        return {}
    if wire.schema == "json_object":
        notes.add(path, "replaced", ANY_JSON)
        return {"response_format": {"type": "json_object"}}
    given = _schema(form)
    schema = schema_to_send(given, f"{path}.schema", wire, notes) or {"type": "object"}
    strict = is_closed(given, f"{path}.schema")
    if not strict:
        notes.add(f"{path}.schema", "replaced", NOT_HELD)
    return {
        "response_format": {"type": "json_schema", "json_schema": {"name": SCHEMA_NAME, "schema": schema, "strict": strict}}
    }

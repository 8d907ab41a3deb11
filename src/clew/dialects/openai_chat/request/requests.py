"""Requests of Chat Completions, written from a projected request of the Messages API.

Pure: the same request and `Wire` always give the same bytes, and a request that goes on from another has messages
that go on from its messages. What cannot be said is left out or altered with a `Change`, if the conversation can do without;
otherwise the request is refused with `Unrepresentable`, before anything is sent.
"""

from __future__ import annotations

from typing import cast

import msgspec
from msgspec import Struct

from clew.dialects.openai_chat.request.asking import Asked, ask, settled
from clew.dialects.openai_chat.request.intent import intent_of
from clew.dialects.openai_chat.request.merging import merged
from clew.dialects.openai_chat.request.messages import encode_messages
from clew.dialects.openai_chat.request.notes import Notes
from clew.dialects.openai_chat.request.reading import Reading, read
from clew.dialects.openai_chat.request.sampling import answer_format, max_tokens_of, sampling, stops, streaming, user
from clew.dialects.openai_chat.request.tools import encode_choice, encode_tools, is_forced, refuse_server_tools
from clew.dialects.openai_chat.wire import Wire
from clew.model.change import Change
from clew.model.json import JsonObject
from clew.model.request import Request

__all__ = ["Encoded", "encode"]

REFUSED = "this backend refuses the field"
BETAS = "a header of Anthropic's: "

_KNOWN = frozenset(
    {"model", "system", "tools", "tool_choice", "max_tokens", "thinking", "output_config", "temperature", "top_p", "top_k"}
    | {"stop_sequences", "stream", "metadata"}
)

_CAME_FROM = {
    "max_completion_tokens": "max_tokens",
    "parallel_tool_calls": "tool_choice.disable_parallel_tool_use",
    "response_format": "output_config.format",
    "stop": "stop_sequences",
    "stream_options": "stream",
    "user": "metadata.user_id",
}
"""What the client calls a field that has another name here."""


class Encoded(Struct, frozen=True):
    """The bytes to send, and what became of the rest."""

    body: bytes
    changes: tuple[Change, ...] = ()


def encode(request: Request, wire: Wire) -> Encoded:
    """The request in this backend's words. Raises Unrepresentable, or RequestInvalid with a path."""
    reading, notes = read(request), Notes()
    request.source.wanted.check()
    refuse_server_tools(reading.fields)
    notes.unsaid("", reading.fields, _KNOWN | {"mcp_servers"})
    if request.betas:
        notes.left_out("anthropic-beta", BETAS + ", ".join(request.betas))
    body = _body(request, reading, wire, notes)
    return Encoded(msgspec.json.encode(_without(body, wire, notes)), notes.changes)


def _body(request: Request, reading: Reading, wire: Wire, notes: Notes) -> dict[str, object]:
    fields = reading.fields
    messages = encode_messages(reading, wire, notes)
    tools = encode_tools(fields, reading.said, wire, notes)
    forced = bool(tools) and is_forced(fields)
    asked = _asked(reading, messages.lost, forced, wire, notes)
    free = forced and wire.forced != "as asked" and asked.thinks is not False
    body: dict[str, object] = {"model": request.body.model, "messages": messages.sent}
    body |= tools | encode_choice(fields, bool(tools), free, wire, notes)
    body |= sampling(fields, wire, notes) | stops(fields, wire, notes) | answer_format(fields, wire, notes)
    body |= user(fields, wire, notes) | streaming(fields, wire)
    return cast("dict[str, object]", merged(cast("JsonObject", body), merged(wire.always, asked.fields)))


def _asked(reading: Reading, lost: bool, forced: bool, wire: Wire, notes: Notes) -> Asked:
    intent = intent_of(reading.fields, reading.said, notes)
    intent = settled(intent, lost=lost, forced=forced, wire=wire, notes=notes)
    return ask(intent, max_tokens_of(reading.fields, wire), wire, notes)


def _without(body: dict[str, object], wire: Wire, notes: Notes) -> dict[str, object]:
    """The body without what this backend refuses."""
    for name in body:
        if name in wire.drop:
            notes.left_out(_CAME_FROM.get(name, name), REFUSED)
    return {name: value for name, value in body.items() if name not in wire.drop}

"""A turn in its client's own form: what a client of Chat Completions or of the Responses API sent, and what it got.

What is kept of every turn is canonical: there a custom tool takes an object, a namespace is part of a name, and items are
blocks. The client's own request is there as well, as long as bodies are kept, and for clients that name stored answers: then
the turn is shown from it. Otherwise the form is made from what is kept, and the page says so: which tools the client offered
is not known any more, so a call of a custom tool is shown as that of a function.

A message of Chat Completions has its thinking and its calls in fields of their own. The Responses API has a list of items:
messages, and beside them thinking, calls and results. A member of a form that is not known is shown by its kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from clew.backends.row import Backend
from clew.chat.request import held_blocks_of, is_answer
from clew.dialects import DIALECTS
from clew.dialects.shape import AnswerContext, Dialect
from clew.errors import RequestInvalid, SealInvalid, Unrepresentable
from clew.exchange.backend_dialect import backend_dialect
from clew.model.json import JsonObject, JsonValue, object_of, objects_of, text_of
from clew.model.request import ALWAYS, NativeRequest
from clew.model.turn import Exchange
from clew.store.values import NativePassage, Passage
from clew.thinking.seal import Sealer, is_seal, open_summary
from clew.web.blocks import (
    MOST,
    ShownBlock,
    blocks_in,
    cut_block,
    pretty,
    read_object,
    result_text,
    shown_blocks,
    shown_thinking,
)
from clew.wire.requests import parse

_IDS: Final = ("id", "call_id", "tool_call_id", "namespace", "name", "phase", "status")
"""The members that are shown beside an item's type. They say what its words do not."""
_OPAQUE: Final = frozenset({"encrypted_content", "signature", "data", "file_data", "image_url"})
_MOST_OPAQUE: Final = 40


class ShownItem(Struct, frozen=True, kw_only=True):
    """An item or a message, for people; `source` is its JSON, with long values cut."""

    name: str
    """Its role, or its type."""
    about: Sequence[tuple[str, str]]
    pieces: Sequence[ShownBlock]
    source: str


class ClientTurn(Struct, frozen=True, kw_only=True):
    """A turn in its client's form."""

    asked: Sequence[ShownItem]
    """What was new in the request."""
    answered: Sequence[ShownItem]
    is_kept: bool
    """It is shown from the client's own request."""


class _ClientBody(Struct, frozen=True):
    """The part of a request that holds the conversation: of one dialect or the other."""

    messages: Sequence[Raw] = ()
    input: Sequence[Raw] | str = ()


def has_own_form(dialect: str) -> bool:
    """Whether clients of this dialect have a form that is not the canonical one."""
    found = DIALECTS.get(dialect)
    return found is not None and not found.is_canonical


def client_turn(
    passage: Passage, exchange: Exchange, body: bytes, native: NativePassage | None, sealer: Sealer
) -> ClientTurn | None:
    """The turn in the client's form; None where that is the canonical one. `body` is the client's request, b"" if it is not
    kept; `native` is the turn as a client keeps it here that names stored answers."""
    if not has_own_form(exchange.dialect):
        return None
    dialect = DIALECTS[exchange.dialect]
    if native is not None:
        asked, answered = [read_object(item) for item in native.items], _said_in(native.answer)
    else:
        request = _native_request(dialect, body)
        asked = _new_in(body) if body else _from_canonical(dialect, passage)
        answered = _answer_of(dialect, passage, exchange, request, sealer)
    return ClientTurn(
        asked=[_shown(item, sealer, exchange.principal) for item in asked],
        answered=[_shown(item, sealer, exchange.principal) for item in answered],
        is_kept=native is not None or bool(body),
    )


def _shown(item: JsonObject, sealer: Sealer, principal: str) -> ShownItem:
    name = name_of(item)
    about = [(member, value) for member in _IDS if (value := text_of(item.get(member))) and value != "completed"]
    pieces = sent_blocks(item)
    if name in SUMMARIES:
        with suppress(SealInvalid):  # another maker's is shown closed
            summary = open_summary(sealer, text_of(item.get("encrypted_content")), principal=principal)
            pieces = [cut_block("aside", summary, label="a summary in place of what was said before")]
    return ShownItem(name=name, about=about, pieces=pieces, source=pretty(_shortened(item))[:MOST])


def _shortened(value: JsonValue, name: str = "") -> JsonValue:
    """JSON without opaque values and the data of files, which no person reads."""
    if isinstance(value, dict):
        return {key: _shortened(each, key) for key, each in value.items()}
    if isinstance(value, list):
        return [_shortened(each, name) for each in value]
    if isinstance(value, str) and name in _OPAQUE and len(value) > _MOST_OPAQUE:
        return f"{value[:_MOST_OPAQUE]}… ({len(value):,} characters)"
    return value


# What was asked


def _new_in(body: bytes) -> list[JsonObject]:
    """What follows the last that a model said: the rest was there before."""
    try:
        found = msgspec.json.decode(body, type=_ClientBody)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return []
    if isinstance(found.input, str):
        return [{"type": "message", "role": "user", "content": found.input}]
    items: list[JsonObject] = []
    for raw in reversed(found.messages or found.input):
        item = read_object(bytes(raw))
        if is_answer(item):
            break
        items.append(item)
    return items[::-1]


def _from_canonical(dialect: Dialect[Any], passage: Passage) -> list[JsonObject]:
    """The question as this dialect says it to a backend that takes everything."""
    messages: list[JsonValue] = [read_object(raw) for raw in passage.asked]
    anybody = backend_dialect(Backend(name="any", url="", realm="any", dialect=dialect.name), "any")
    with suppress(RequestInvalid, Unrepresentable):
        request = parse(msgspec.json.encode({"model": "any", "max_tokens": 1, "messages": messages}))
        return _new_in(anybody.write(request).body)
    return []


# What was answered


def _native_request(dialect: Dialect[Any], body: bytes) -> NativeRequest | None:
    """The request as the front reads it, with the names of the client's tools; None where it names what is not in it."""
    with suppress(RequestInvalid, ValueError):
        return dialect.read_request(body, {}, ALWAYS).source.native if body else None
    return None


def _answer_of(
    dialect: Dialect[Any], passage: Passage, exchange: Exchange, request: NativeRequest | None, sealer: Sealer
) -> list[JsonObject]:
    if passage.recording is None or not passage.recording.blocks:
        return []
    content: list[JsonValue] = [*held_blocks_of(passage.recording, sealer)]
    context = AnswerContext(
        model=exchange.asked_model, message_id=f"msg_{exchange.id}", created=int(exchange.started), native=request
    )
    message: JsonObject = {"role": "assistant", "content": content, "stop_reason": exchange.stop_reason, "usage": {}}
    return _said_in(dialect.write_answer(message, context))


def _said_in(answer: bytes) -> list[JsonObject]:
    """The items of a response, or the message of a completion."""
    whole = read_object(answer)
    messages = [object_of(choice.get("message")) for choice in objects_of(whole.get("choices"))]
    return [*objects_of(whole.get("output")), *messages]


_THINKING_FIELDS: Final = ("reasoning_content", "reasoning", "thinking")
"""The fields in which messages carry thinking."""
_TEXTS: Final = ("input_text", "output_text", "summary_text", "reasoning_text")
"""The parts of items that are texts and nothing else."""
SUMMARIES: Final = ("compaction", "compaction_summary", "context_compaction")
"""The items that stand for a history, under a seal."""


def name_of(message: JsonObject) -> str:
    """The role of a message, or the type of an item that has none."""
    return text_of(message.get("role")) or text_of(message.get("type")) or "unknown"


def sent_blocks(message: JsonObject) -> list[ShownBlock]:
    """A message or an item: thinking, then words, then calls."""
    content, kind = message.get("content"), text_of(message.get("type"))
    if kind and kind != "message":
        return [_item_block(kind, message)]
    if message.get("role") == "tool":
        return [cut_block("result", result_text(content) or str(content or ""))]
    said = shown_blocks([_plain(part) for part in blocks_in(content)], role=str(message.get("role")))
    return [*_sent_thinking(message), *said, *_sent_calls(message.get("tool_calls"))]


def _plain(part: JsonObject) -> JsonObject:
    """A part of an item as a block, where it is a text."""
    if part.get("type") == "refusal":
        return {"type": "text", "text": part.get("refusal")}
    return {"type": "text", "text": part.get("text")} if part.get("type") in _TEXTS else part


def _item_block(kind: str, item: JsonObject) -> ShownBlock:
    """An item that is no message."""
    if kind == "reasoning":
        thoughts = [*blocks_in(item.get("summary")), *blocks_in(item.get("content"))]
        proof = text_of(item.get("encrypted_content"))
        return shown_thinking("\n\n".join(text_of(each.get("text")) for each in thoughts), sealed=is_seal(proof))
    if kind.endswith("_call"):
        name = ".".join(filter(None, (text_of(item.get("namespace")), text_of(item.get("name")))))
        words = text_of(item.get("input")) if "input" in item else _arguments(text_of(item.get("arguments")))
        return cut_block("call", words, label=name or kind)
    if kind.endswith("_output"):
        return cut_block("result", result_text([_plain(part) for part in blocks_in(item.get("output"))]))
    if kind in SUMMARIES:
        return ShownBlock(kind="other", label="a summary in place of what was said before, sealed")
    return ShownBlock(kind="other", label=kind.replace("_", " "))


def _sent_thinking(message: JsonObject) -> Iterator[ShownBlock]:
    for name in _THINKING_FIELDS:
        if isinstance(text := message.get(name), str):
            empty = ShownBlock(kind="other", label=f"{name} is there, and empty")
            yield shown_thinking(text) if text.strip() else empty
            return
    if details := message.get("reasoning_details"):
        yield cut_block("thinking", pretty(details))


def _sent_calls(calls: JsonValue) -> Iterator[ShownBlock]:
    for call in objects_of(calls):
        function = call.get("function")
        if isinstance(function, dict):
            arguments = _arguments(text_of(function.get("arguments")))
            yield cut_block("call", arguments, label=text_of(function.get("name")))


def _arguments(text: str) -> str:
    """The arguments of a call, spread over lines; what is no JSON stays as it is."""
    with suppress(msgspec.DecodeError):
        return msgspec.json.format(text, indent=2)
    return text

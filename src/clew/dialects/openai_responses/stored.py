"""Turns as clients of the Responses API said and got them, for the store; and how such clients name and list them later.

Ids are made from the exchange: `resp_<exchange>` is its answer, `rs_<exchange>_<n>`, `msg_<exchange>_<n>` and so on are the
items of the answer. Whether a later input goes on from a stored turn is told by a digest over the items: what the client
wrote counts byte for byte; of what a model said, its texts and the ids of its calls, because clients leave out thoughts and
ids, and write the rest in other ways.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Final
from urllib.parse import parse_qs

import msgspec
from msgspec import Raw, Struct

from clew.dialects.openai_responses.answers import write_answer
from clew.dialects.openai_responses.detail import detail_of
from clew.dialects.openai_responses.request_reader import read_request_with, references_in
from clew.dialects.optional import StoredTurns
from clew.dialects.shape import AnswerContext
from clew.errors import RequestInvalid
from clew.model.json import JsonObject, JsonValue, read_json
from clew.model.turn import NativeTurn

_ID: Final = re.compile(r"[a-z]+_([0-9A-Za-z]+)(?:_[0-9]+)?")


class _Part(Struct, frozen=True):
    text: str | None = None
    refusal: str | None = None


_SUMMARIES: Final = frozenset({"compaction", "compaction_summary", "context_compaction"})


class _Item(Struct, frozen=True):
    type: str = "message"
    role: str = ""
    id: str | None = None
    call_id: str | None = None
    encrypted_content: str | None = None
    content: list[_Part] | str | None = None

    @property
    def is_said(self) -> bool:
        """A model said it."""
        if self.type == "message":
            return self.role == "assistant"
        return self.type == "reasoning" or self.type.endswith("_call")


class _Answer(Struct, frozen=True):
    output: tuple[Raw, ...] = ()


_items: Final = msgspec.json.Decoder(_Item, strict=False)
_answers: Final = msgspec.json.Decoder(_Answer)


def exchange_of(id: str) -> str:
    """The exchange that gave an answer or an item this id; "" if the id has not the form of ours."""
    found = _ID.fullmatch(id)
    return found[1] if found else ""


def items_of(answer: bytes) -> tuple[Raw, ...]:
    """The items of a stored response object."""
    return _answers.decode(answer).output


def id_of(item: Raw) -> str:
    """ "" for an item that has none."""
    return _read(item).id or ""


def sealed_in(item: Raw) -> str:
    """The summary that an item brings under a seal, as it stands there; "" for any other item."""
    read = _read(item)
    return (read.encrypted_content or "") if read.type in _SUMMARIES else ""


def native_turn(items: Sequence[Raw], answer: bytes) -> NativeTurn:
    """The turn of an input with these items, and of the response object that answered it."""
    digest, before, before_digest = sha256(), 0, b""
    for index, raw in enumerate(items, 1):
        item = _read(raw)
        digest.update(_identity(item, raw))
        if item.is_said:
            before, before_digest = index, digest.digest()
    for raw in items_of(answer):
        digest.update(_identity(_read(raw), raw))
    return NativeTurn(
        items=tuple(bytes(item) for item in items),
        answer=answer,
        before=before,
        before_digest=before_digest,
        digest=digest.digest(),
    )


def _identity(item: _Item, raw: Raw) -> bytes:
    """What counts of an item. The lengths keep two different inputs from running together into one digest."""
    if not item.is_said:
        return b"asked %d;%b" % (len(bytes(raw)), bytes(raw))
    values = [value.encode("utf-8", "surrogatepass") for value in (item.call_id or "", *_texts(item)) if value]
    return b"".join([b"said %d;%b" % (len(value), value) for value in values])


def _texts(item: _Item) -> Iterable[str]:
    """Trimmed, without empty ones: that much of a text comes back from every client."""
    if item.type != "message":
        return
    content = item.content
    parts = [content] if isinstance(content, str) else [each.text or each.refusal or "" for each in content or ()]
    for part in parts:
        if text := part.strip():
            yield text


def _read(raw: Raw) -> _Item:
    """What cannot be read as an item was written by the client, whatever it is."""
    try:
        return _items.decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        return _Item(role="user")


_FALSE: Final = b"false"
_DEFAULT_LIMIT: Final = "20"
_MOST: Final = 100
_ORDERS: Final = ("asc", "desc")


def keep_turn(message: JsonObject, context: AnswerContext) -> NativeTurn | None:
    """The turn as the client said and got it; None for a client that says `store: false`."""
    detail = detail_of(context.native)
    if bytes(detail.fields.get("store", b"")) == _FALSE:
        return None
    return native_turn(detail.input, write_answer(message, context))


def show_answer(answer: bytes, query: str) -> bytes:
    """Whole, as it is kept."""
    if parse_qs(query).get("stream", [""])[-1] == "true":
        raise RequestInvalid(
            "stream: an answer that is kept is given in one piece: ask for it without `stream`", path="stream"
        )
    return answer


def write_deletion(id: str) -> bytes:
    return msgspec.json.encode({"id": id, "object": "response", "deleted": True})


def list_input(items: Sequence[Raw], exchange: str, query: str) -> bytes:
    """The newest first, unless the query says otherwise. Items that came without an id get one, to go on from."""
    given = {name: values[-1] for name, values in parse_qs(query).items()}
    text = given.get("limit", _DEFAULT_LIMIT)
    if not text.isdecimal() or not 1 <= len(text) <= 4 or not 1 <= int(text) <= _MOST:
        raise RequestInvalid(f"Invalid 'limit': expected an integer from 1 to {_MOST}, but got '{text[:40]}'.", path="limit")
    order, limit = given.get("order", "desc"), int(text)
    if order not in _ORDERS:
        raise RequestInvalid(f"Invalid value: '{order}'. Supported values are: 'asc' and 'desc'.", path="order")
    listed = [_shown(item, exchange, index) for index, item in enumerate(items)]
    if order == "desc":
        listed.reverse()
    ids = [item["id"] for item in listed]
    if after := given.get("after"):
        if after not in ids:
            raise RequestInvalid(f"Item with id '{after}' not found.", path="after")
        listed = listed[ids.index(after) + 1 :]
    page = listed[:limit]
    ends = {"first_id": page[0]["id"], "last_id": page[-1]["id"]} if page else {"first_id": None, "last_id": None}
    return msgspec.json.encode({"object": "list", "data": page, **ends, "has_more": len(page) < len(listed)})


def _shown(raw: Raw, exchange: str, index: int) -> JsonObject:
    """An item of the input as OpenAI shows it: with a type, an id, and its content as parts."""
    item = read_json(bytes(raw))
    assert isinstance(item, dict), "only a valid item is kept"
    shown: JsonObject = {"type": "message", **item}
    shown["id"] = shown.get("id") or f"item_{exchange}_{index}"
    content = shown.get("content")
    if shown["type"] == "message" and isinstance(content, str):
        kind = "output_text" if shown.get("role") == "assistant" else "input_text"
        parts: list[JsonValue] = [{"type": kind, "text": content}]
        shown["content"] = parts
    return shown


STORED: Final = StoredTurns(
    references_in=references_in,
    read_request_with=read_request_with,
    exchange_of=exchange_of,
    items_of=items_of,
    id_of=id_of,
    sealed_in=sealed_in,
    show_answer=show_answer,
    list_input=list_input,
    write_deletion=write_deletion,
    keep_turn=keep_turn,
)

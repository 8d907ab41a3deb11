"""The events of a client's stream, each with its number and its item; and the response object, which stands at both ends.

A client that does not stream gets the response object alone. It repeats the fields of the request. Its id, and those of its
items, are made of the exchange's: the same in every event, in every attempt to answer, and when the answer is asked for
later.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

import msgspec
from msgspec import Raw

from clew.dialects.openai_responses.detail import detail_of
from clew.dialects.shape import AnswerContext, SentEvents
from clew.model.json import JsonObject, JsonValue, encoded
from clew.model.texts import LongText


class NumberedEvents:
    """Writes events, each with its number in the stream."""

    __slots__ = ("_sent",)

    def __init__(self, sent: SentEvents) -> None:
        self._sent = sent

    def number(self) -> int:
        """That of the next event, which is as good as written."""
        self._sent.count += 1
        return self._sent.count - 1

    def write(self, kind: str, members: JsonObject) -> bytes:
        return self.write_raw(kind, encoded(members)[1:-1])

    def write_raw(self, kind: str, members: bytes) -> bytes:
        """`members` are the inside of a JSON object."""
        name, rest = kind.encode(), b"," + members if members else b""
        return b'event: %b\ndata: {"type":"%b","sequence_number":%d%b}\n\n' % (name, name, self.number(), rest)


class ItemText:
    """A text of an item that grows by deltas."""

    __slots__ = ("_events", "_head", "_tail", "_text", "kind", "place")

    def __init__(self, events: NumberedEvents, kind: str, place: JsonObject, tail: bytes = b"") -> None:
        """`place` says which text of which item it is, `tail` what else each delta has."""
        self._events = events
        self.kind = kind
        self.place = place
        self._text = LongText()
        name = kind.encode()
        self._head = b'event: %b\ndata: {"type":"%b",%b,"delta":' % (name, name, encoded(place)[1:-1])
        self._tail = tail + b',"sequence_number":%d}\n\n'

    def add(self, text: str) -> None:
        """More of it, which the client has."""
        self._text.add(text)

    def grow(self, text: str) -> bytes:
        self._text.add(text)
        return self._head + encoded(text) + self._tail % self._events.number()

    def whole(self) -> str:
        return self._text.whole()


class WrittenItem(Protocol):
    """An item that is being told. `grow` takes a delta of its block, `stop` ends the block."""

    @property
    def takes_more_text(self) -> bool:
        """Whether a text block that follows belongs to it."""
        ...

    @property
    def text(self) -> ItemText | None:
        """The text of it that grows; None if none does."""
        ...

    def grow(self, delta: JsonObject) -> bytes: ...

    def stop(self) -> bytes: ...

    def item(self, status: str) -> JsonObject:
        """The whole item."""
        ...


class ItemPlace:
    """Where an item stands, and what tells its events."""

    __slots__ = ("events", "index", "name")

    def __init__(self, events: NumberedEvents, name: str, index: int) -> None:
        self.events = events
        self.name = name
        """The part of its id behind the prefix."""
        self.index = index

    def of(self, item_id: str, **more: JsonValue) -> JsonObject:
        return {"item_id": item_id, "output_index": self.index, **more}

    def added(self, item: JsonObject) -> bytes:
        return self.events.write("response.output_item.added", {"output_index": self.index, "item": item})


_NULL: Final = b"null"
_REPEATED: Final = {
    "instructions": _NULL,
    "max_output_tokens": _NULL,
    "metadata": b"{}",
    "parallel_tool_calls": b"true",
    "previous_response_id": _NULL,
    "prompt_cache_key": _NULL,
    "reasoning": b'{"effort":null,"summary":null}',
    "safety_identifier": _NULL,
    "store": b"true",
    "temperature": b"1.0",
    "text": b'{"format":{"type":"text"}}',
    "tool_choice": b'"auto"',
    "tools": b"[]",
    "top_p": b"1.0",
    "truncation": b'"disabled"',
    "user": _NULL,
}
"""The fields of a request that its response repeats, each with its value where the request has none."""


def exchange_of(context: AnswerContext) -> str:
    """What the ids of an answer are made of."""
    return context.message_id.removeprefix("msg_")


def response_object(
    context: AnswerContext, status: str, output: Sequence[bytes] = (), usage: JsonObject | None = None, **more: JsonValue
) -> bytes:
    """The response as JSON. `output` are its items as JSON; `more` are fields that only some responses have."""
    if context.operation == "compact":
        # What a client gets that asks for a summary alone
        return msgspec.json.encode(
            {
                "id": f"resp_{exchange_of(context)}",
                "object": "response.compaction",
                "created_at": context.created,
                "output": Raw(b"[%b]" % b",".join(output)),
                "usage": usage,
            }
        )
    fields = detail_of(context.native).fields
    said: dict[str, object] = {
        "id": f"resp_{exchange_of(context)}",
        "object": "response",
        "created_at": context.created,
        "status": status,
        "background": False,
        "error": None,
        "incomplete_details": None,
        "model": context.model,
        "output": Raw(b"[%b]" % b",".join(output)),
        "usage": usage,
    }
    for name, default in _REPEATED.items():
        given = fields.get(name)
        said[name] = Raw(default) if given is None or bytes(given) == _NULL else given
    return msgspec.json.encode(said | more)

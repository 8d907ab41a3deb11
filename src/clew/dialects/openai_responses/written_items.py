"""The items of an answer as a client's stream tells them: what begins each, what it grows by, and what it is in the end.

The official clients put items together by their events and fail on a delta whose part was not announced, on another id at
the end, and on events of a type that they do not know. Codex takes items only from `output_item.done`, and an item without
it is lost. So every item is told in full, with one id.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol

from clew.dialects.openai_responses.detail import ClientTool
from clew.dialects.shape import SentEvents
from clew.model.json import JsonObject, JsonValue, encoded, read_object, text_of
from clew.model.texts import LongText

_CITED: Final = {"web_search_result_location": "url", "search_result_location": "source"}
"""The member with the address of what is cited, by the type of the citation."""


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

    __slots__ = ("_events", "_head", "_tail", "_text", "place")

    def __init__(self, events: NumberedEvents, kind: str, place: JsonObject, tail: bytes = b"") -> None:
        """`place` says which text of which item it is, `tail` what else each delta has."""
        self._events = events
        self.place = place
        self._text = LongText()
        name = kind.encode()
        self._head = b'event: %b\ndata: {"type":"%b",%b,"delta":' % (name, name, encoded(place)[1:-1])
        self._tail = tail + b',"sequence_number":%d}\n\n'

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


class WrittenMessage:
    """A message: each text block is a part of it."""

    takes_more_text = True

    def __init__(self, place: ItemPlace) -> None:
        self._place = place
        self._id = f"msg_{place.name}"
        self._parts: list[JsonValue] = []
        self._text: ItemText | None = None
        self._citations: list[JsonObject] = []

    def begin(self) -> bytes:
        return self._place.added(self.item("in_progress"))

    def begin_part(self) -> bytes:
        at: JsonObject = self._place.of(self._id, content_index=len(self._parts))
        self._text = ItemText(self._place.events, "response.output_text.delta", at, b',"logprobs":[]')
        self._citations = []
        return self._place.events.write("response.content_part.added", {**at, "part": _text_part("", ())})

    def grow(self, delta: JsonObject) -> bytes:
        if isinstance(citation := delta.get("citation"), dict):
            self._citations.append(citation)
        text = text_of(delta.get("text"))
        return self._text.grow(text) if text and self._text is not None else b""

    def stop(self) -> bytes:
        if self._text is None:
            return b""
        text, at, events = self._text.whole(), self._text.place, self._place.events
        part = _text_part(text, self._citations)
        self._parts.append(part)
        self._text = None
        done = events.write("response.output_text.done", {**at, "text": text, "logprobs": []})
        return done + events.write("response.content_part.done", {**at, "part": part})

    def item(self, status: str) -> JsonObject:
        head: JsonObject = {"id": self._id, "type": "message", "status": status}
        return {**head, "role": "assistant", "content": list(self._parts)}


def _text_part(text: str, citations: Iterable[JsonObject]) -> JsonObject:
    annotations: list[JsonValue] = [
        {"type": "url_citation", "url": url, "title": text_of(each.get("title")), "start_index": 0, "end_index": len(text)}
        for each in citations
        if (url := text_of(each.get(_CITED.get(text_of(each.get("type")), ""))))
    ]
    return {"type": "output_text", "text": text, "annotations": annotations, "logprobs": []}


def has_address(citation: JsonValue) -> bool:
    """Whether a citation can be told."""
    return isinstance(citation, dict) and bool(text_of(citation.get(_CITED.get(text_of(citation.get("type")), ""))))


class WrittenThought:
    """A thinking block: one reasoning item with one summary part, or none, and its proof in `encrypted_content`.

    Clients show summaries and lose them in part, so nothing may depend on their words. `proof` is there from the start in
    redacted thinking.
    """

    takes_more_text = False

    def __init__(self, place: ItemPlace, proof: str) -> None:
        self._place = place
        self._id = f"rs_{place.name}"
        self._proof = proof
        self._text: ItemText | None = None

    def begin(self) -> bytes:
        return self._place.added({"id": self._id, "type": "reasoning", "status": "in_progress", "summary": []})

    def grow(self, delta: JsonObject) -> bytes:
        if proof := text_of(delta.get("signature")):
            self._proof = proof
        text = text_of(delta.get("thinking"))
        if not text:
            return b""
        opening = b""
        if self._text is None:
            at: JsonObject = self._place.of(self._id, summary_index=0)
            self._text = ItemText(self._place.events, "response.reasoning_summary_text.delta", at)
            part: JsonObject = {"type": "summary_text", "text": ""}
            opening = self._place.events.write("response.reasoning_summary_part.added", {**at, "part": part})
        return opening + self._text.grow(text)

    def stop(self) -> bytes:
        if self._text is None:
            return b""
        text, at, events = self._text.whole(), self._text.place, self._place.events
        done = events.write("response.reasoning_summary_text.done", {**at, "text": text})
        part: JsonObject = {"type": "summary_text", "text": text}
        return done + events.write("response.reasoning_summary_part.done", {**at, "part": part})

    def item(self, status: str) -> JsonObject:
        summary: list[JsonValue] = [{"type": "summary_text", "text": self._text.whole()}] if self._text else []
        head: JsonObject = {"id": self._id, "type": "reasoning", "status": status, "summary": summary}
        return {**head, "encrypted_content": self._proof or None}


class WrittenCall:
    """A call of a function."""

    takes_more_text = False

    def __init__(self, place: ItemPlace, call_id: str, tool: ClientTool) -> None:
        self._place = place
        self._id = f"fc_{place.name}"
        self._call: JsonObject = {"call_id": call_id, "name": tool.name}
        self._call |= {"namespace": tool.namespace} if tool.namespace else {}
        self._text = ItemText(place.events, "response.function_call_arguments.delta", place.of(self._id))

    def begin(self) -> bytes:
        return self._place.added(self.item("in_progress"))

    def grow(self, delta: JsonObject) -> bytes:
        text = text_of(delta.get("partial_json"))
        return self._text.grow(text) if text else b""

    def stop(self) -> bytes:
        none = b"" if self._text.whole() else self._text.grow("{}")
        done: JsonObject = {**self._text.place, "arguments": self._text.whole(), "name": self._call["name"]}
        return none + self._place.events.write("response.function_call_arguments.done", done)

    def item(self, status: str) -> JsonObject:
        head: JsonObject = {"id": self._id, "type": "function_call", "status": status}
        return {**head, **self._call, "arguments": self._text.whole()}


class WrittenTextCall:
    """A call of a custom tool, which takes one text: the `input` of the canonical call; or all of its arguments, where the
    model gave it none. It is told once it is whole."""

    takes_more_text = False

    def __init__(self, place: ItemPlace, call_id: str, tool: ClientTool) -> None:
        self._place = place
        self._id = f"ctc_{place.name}"
        self._call: JsonObject = {"call_id": call_id, "name": tool.name}
        self._call |= {"namespace": tool.namespace} if tool.namespace else {}
        self._arguments = LongText()
        self._input = ""

    def begin(self) -> bytes:
        return self._place.added(self.item("in_progress"))

    def grow(self, delta: JsonObject) -> bytes:
        self._arguments.add(text_of(delta.get("partial_json")))
        return b""

    def stop(self) -> bytes:
        arguments = self._arguments.whole()
        found = (read_object(arguments.encode("utf-8", "surrogatepass")) or {}).get("input")
        self._input = found if isinstance(found, str) else arguments
        events, at = self._place.events, self._place.of(self._id)
        delta = events.write("response.custom_tool_call_input.delta", {**at, "delta": self._input}) if self._input else b""
        return delta + events.write("response.custom_tool_call_input.done", {**at, "input": self._input})

    def item(self, status: str) -> JsonObject:
        head: JsonObject = {"id": self._id, "type": "custom_tool_call", "status": status}
        return {**head, **self._call, "input": self._input}


class WrittenCompaction:
    """A summary in place of the conversation so far, sealed."""

    takes_more_text = False

    def __init__(self, place: ItemPlace, proof: str) -> None:
        self._place = place
        self._item: JsonObject = {"id": f"cmp_{place.name}", "type": "compaction", "encrypted_content": proof}

    def begin(self) -> bytes:
        return self._place.added(self._item)

    def grow(self, delta: JsonObject) -> bytes:
        self._item["encrypted_content"] = delta.get("encrypted_content") or self._item["encrypted_content"]
        return b""

    def stop(self) -> bytes:
        return b""

    def item(self, status: str) -> JsonObject:
        return self._item

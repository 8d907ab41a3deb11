"""The items of an answer as a client's stream tells them: what begins each, what it grows by, and what it is in the end.

The official clients put items together by their events and fail on a delta whose part was not announced, on another id at
the end, and on events of a type that they do not know. Codex takes items only from `output_item.done`, and an item without
it is lost. So every item is told in full, with one id.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from clew.dialects.openai_responses.detail import ClientTool, annotation_in, is_refusal_mark, item_of
from clew.dialects.openai_responses.numbered_events import ItemPlace, ItemText
from clew.model.json import JsonObject, JsonValue, object_of, read_object, text_of
from clew.model.texts import LongText

_TEXT_DELTA: Final = "response.output_text.delta"
_CITED: Final = {"web_search_result_location": "url", "search_result_location": "source"}
"""The member with the address of what is cited, by the type of the citation."""


class WrittenMessage:
    """A message: each text block is a part of it."""

    takes_more_text = True

    def __init__(self, place: ItemPlace) -> None:
        self._place = place
        self._id = f"msg_{place.name}"
        self._parts: list[JsonValue] = []
        self.text: ItemText | None = None
        self._is_open = False
        self._citations: list[JsonObject] = []
        self.has_refusal = False
        """A part of it is a refusal."""

    def begin(self) -> bytes:
        return self._place.added(self.item("in_progress"))

    def begin_part(self) -> bytes:
        """Its first event waits for the first word, or for the mark that it is a refusal."""
        self._is_open, self.text, self._citations = True, None, []
        return b""

    def grow(self, delta: JsonObject) -> bytes:
        text, citation = text_of(delta.get("text")), delta.get("citation")
        if isinstance(citation, dict):
            if not is_refusal_mark(citation):
                self._citations.append(citation)
            elif self.text is None:
                self.has_refusal = True
                return self._announce("response.refusal.delta", {"type": "refusal", "refusal": ""})
        if not text or not self._is_open:
            return b""
        opening = b"" if self.text is not None else self._announce(_TEXT_DELTA, _text_part("", ()))
        assert self.text is not None
        return opening + self.text.grow(text)

    def _announce(self, kind: str, part: JsonObject) -> bytes:
        at: JsonObject = self._place.of(self._id, content_index=len(self._parts))
        self.text = ItemText(self._place.events, kind, at, b',"logprobs":[]' if kind == _TEXT_DELTA else b"")
        return self._place.events.write("response.content_part.added", {**at, "part": part})

    def stop(self) -> bytes:
        if not self._is_open:
            return b""
        opening = b"" if self.text is not None else self._announce(_TEXT_DELTA, _text_part("", ()))
        assert self.text is not None
        text, at, events, kind = self.text.whole(), self.text.place, self._place.events, self.text.kind
        self._is_open, self.text = False, None
        part: JsonObject = {"type": "refusal", "refusal": text}
        if kind == _TEXT_DELTA:
            part = _text_part(text, self._citations)
        self._parts.append(part)
        said: JsonObject = {"text": text, "logprobs": []} if kind == _TEXT_DELTA else {"refusal": text}
        done = events.write(f"{kind.removesuffix('delta')}done", {**at, **said})
        return opening + done + events.write("response.content_part.done", {**at, "part": part})

    def item(self, status: str) -> JsonObject:
        head: JsonObject = {"id": self._id, "type": "message", "status": status}
        return {**head, "role": "assistant", "content": list(self._parts)}


def _text_part(text: str, citations: Iterable[JsonObject]) -> JsonObject:
    annotations: list[JsonValue] = [found for each in citations if (found := annotation_of(each, len(text)))]
    return {"type": "output_text", "text": text, "annotations": annotations, "logprobs": []}


def is_told(citation: JsonObject) -> bool:
    """Whether the client hears of it."""
    return is_refusal_mark(citation) or bool(annotation_of(citation))


def annotation_of(citation: JsonObject, end: int = 0) -> JsonObject:
    """The annotation for a citation in a text of this length; {} if it cannot be told."""
    if own := annotation_in(citation):
        return own
    address = text_of(citation.get(_CITED.get(text_of(citation.get("type")), "")))
    title = text_of(citation.get("title"))
    place: JsonObject = {"start_index": 0, "end_index": end}
    return {"type": "url_citation", "url": address, "title": title, **place} if address else {}


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
        self.text: ItemText | None = None

    def begin(self) -> bytes:
        return self._place.added({"id": self._id, "type": "reasoning", "status": "in_progress", "summary": []})

    def grow(self, delta: JsonObject) -> bytes:
        if proof := text_of(delta.get("signature")):
            self._proof = proof
        text = text_of(delta.get("thinking"))
        if not text:
            return b""
        opening = b""
        if self.text is None:
            at: JsonObject = self._place.of(self._id, summary_index=0)
            self.text = ItemText(self._place.events, "response.reasoning_summary_text.delta", at)
            part: JsonObject = {"type": "summary_text", "text": ""}
            opening = self._place.events.write("response.reasoning_summary_part.added", {**at, "part": part})
        return opening + self.text.grow(text)

    def stop(self) -> bytes:
        if self.text is None:
            return b""
        text, at, events = self.text.whole(), self.text.place, self._place.events
        done = events.write("response.reasoning_summary_text.done", {**at, "text": text})
        part: JsonObject = {"type": "summary_text", "text": text}
        return done + events.write("response.reasoning_summary_part.done", {**at, "part": part})

    def item(self, status: str) -> JsonObject:
        summary: list[JsonValue] = [{"type": "summary_text", "text": self.text.whole()}] if self.text else []
        head: JsonObject = {"id": self._id, "type": "reasoning", "status": status, "summary": summary}
        return {**head, "encrypted_content": self._proof or None}


class WrittenOwnItem:
    """An item that only this dialect has, as it came."""

    takes_more_text = False
    text = None

    def __init__(self, place: ItemPlace, item: JsonObject) -> None:
        self._place = place
        self._item = item

    def begin(self) -> bytes:
        return self._place.added(self._item)

    def grow(self, delta: JsonObject) -> bytes:
        whole = item_of(object_of(delta.get("block")))
        if whole:  # under the id that the client knows: some servers give each event another one
            self._item = {**whole, "id": self._item.get("id")}
        return b""

    def tell(self, kind: str, event: JsonObject) -> bytes:
        """What is said of it meanwhile, in an event that only this dialect has."""
        own = {name: value for name, value in event.items() if name not in ("type", "sequence_number")}
        return self._place.events.write(kind, {**own, **self._place.of(text_of(self._item.get("id")))})

    def stop(self) -> bytes:
        return b""

    def item(self, status: str) -> JsonObject:
        return self._item


class WrittenCompaction:
    """A summary in place of the conversation so far, sealed."""

    takes_more_text = False
    text = None

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


class WrittenCall:
    """A call of a function."""

    takes_more_text = False

    def __init__(self, place: ItemPlace, call_id: str, tool: ClientTool) -> None:
        self._place = place
        self._id = f"fc_{place.name}"
        self._call: JsonObject = {"call_id": call_id, "name": tool.name}
        self._call |= {"namespace": tool.namespace} if tool.namespace else {}
        self.text = ItemText(place.events, "response.function_call_arguments.delta", place.of(self._id))

    def begin(self) -> bytes:
        return self._place.added(self.item("in_progress"))

    def grow(self, delta: JsonObject) -> bytes:
        text = text_of(delta.get("partial_json"))
        return self.text.grow(text) if text else b""

    def stop(self) -> bytes:
        none = b"" if self.text.whole() else self.text.grow("{}")
        done: JsonObject = {**self.text.place, "arguments": self.text.whole(), "name": self._call["name"]}
        return none + self._place.events.write("response.function_call_arguments.done", done)

    def item(self, status: str) -> JsonObject:
        head: JsonObject = {"id": self._id, "type": "function_call", "status": status}
        return {**head, **self._call, "arguments": self.text.whole()}


class WrittenTextCall:
    """A call of a custom tool, which takes one text: the `input` of the canonical call; or all of its arguments, where the
    model gave it none. It is told once it is whole."""

    takes_more_text = False
    text = None

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

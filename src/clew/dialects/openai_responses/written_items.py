"""The items of an answer as a client's stream tells them: what begins each, what it grows by, and what it is in the end.

The official clients put items together by their events and fail on a delta whose part was not announced, on another id at
the end, and on events of a type that they do not know. Codex takes items only from `output_item.done`, and an item without
it is lost. So every item is told in full, with one id.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from clew.dialects.openai_responses.carrier import annotation_in
from clew.dialects.openai_responses.numbered_events import ItemPlace, ItemText
from clew.model.json import JsonObject, JsonValue, text_of

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
        self._citations: list[JsonObject] = []

    def begin(self) -> bytes:
        return self._place.added(self.item("in_progress"))

    def begin_part(self) -> bytes:
        at: JsonObject = self._place.of(self._id, content_index=len(self._parts))
        self.text = ItemText(self._place.events, "response.output_text.delta", at, b',"logprobs":[]')
        self._citations = []
        return self._place.events.write("response.content_part.added", {**at, "part": _text_part("", ())})

    def grow(self, delta: JsonObject) -> bytes:
        text = text_of(delta.get("text"))
        if text and self.text is not None:
            return self.text.grow(text)
        if isinstance(citation := delta.get("citation"), dict):
            self._citations.append(citation)
        return b""

    def stop(self) -> bytes:
        if self.text is None:
            return b""
        text, at, events = self.text.whole(), self.text.place, self._place.events
        part = _text_part(text, self._citations)
        self._parts.append(part)
        self.text = None
        done = events.write("response.output_text.done", {**at, "text": text, "logprobs": []})
        return done + events.write("response.content_part.done", {**at, "part": part})

    def item(self, status: str) -> JsonObject:
        head: JsonObject = {"id": self._id, "type": "message", "status": status}
        return {**head, "role": "assistant", "content": list(self._parts)}


def _text_part(text: str, citations: Iterable[JsonObject]) -> JsonObject:
    annotations: list[JsonValue] = [found for each in citations if (found := annotation_of(each, len(text)))]
    return {"type": "output_text", "text": text, "annotations": annotations, "logprobs": []}


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
        return b""

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

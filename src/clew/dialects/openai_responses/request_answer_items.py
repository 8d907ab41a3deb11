"""The items of one answer, in the order in which the model said them, its reasoning among them.

Neighbouring texts are one message. A thought goes once something follows it: alone it would be refused. A message says
whether it is a comment before calls or the final answer (`phase`), where the backend's messages have that: as its maker said
it, if the thought before it tells, and else by what follows.

A thinking block of this backend carries, where Anthropic has a signature, the item that the backend gave: that goes back as
it came, under its id, and what it said encrypted with it. A block without that is another maker's, handed over: its text
goes into the member that the options name, or nowhere. What another dialect keeps on a thought means nothing here.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec
from msgspec import Raw

from clew.dialects.openai.fields import RawObject, RequestChanges
from clew.dialects.openai.parts import Part
from clew.dialects.openai_responses.detail import DIALECT_NAME
from clew.dialects.openai_responses.options import ResponsesOptions
from clew.dialects.openai_responses.request_client_items import OwnItem
from clew.model.blocks import payload_of
from clew.model.json import JsonObject, JsonValue, object_of, objects_of, text_of


class AnswerItems:
    """Takes what one answer says, and puts it behind the items before."""

    def __init__(self, phases: bool, items: list[object], last_call: int) -> None:
        self.start = len(items)
        self.has_thought = False
        self.has_call = False
        self._items = items
        self._phases = phases
        self._last_call = last_call
        self._texts: list[Part] = []
        self._text_at = 0
        self._pending: list[tuple[JsonObject | Raw, str]] = []
        self._phase = ""

    @property
    def is_empty(self) -> bool:
        return len(self._items) == self.start

    def think(self, item: JsonObject | Raw | None, phase: str, path: str) -> None:
        self.flush()
        self._phase = phase
        if item is not None:
            self._pending.append((item, path))

    def say(self, text: str, at: int) -> None:
        self._text_at = at
        if text:
            self._texts.append({"type": "output_text", "text": text})

    def add(self, item: object, *, is_call: bool) -> None:
        self.flush()
        self._send_thoughts()
        self._items.append(item)
        self.has_call = self.has_call or is_call

    def flush(self) -> None:
        """Ends the message."""
        if not self._texts:
            return
        self._send_thoughts()
        message = message_item("assistant", self._texts)
        if self._phases:
            message["phase"] = self._phase or ("commentary" if self._text_at < self._last_call else "final_answer")
        self._items.append(message)
        self._texts, self._phase = [], ""

    def end(self) -> list[str]:
        """Ends the answer; the paths of thoughts that nothing followed."""
        self.flush()
        others = [isinstance(item, dict) and item.get("type") != "reasoning" for item, _ in self._pending]
        alone = [path for (_, path), is_other in zip(self._pending, others, strict=True) if not is_other]
        self._items += [item for (item, _), is_other in zip(self._pending, others, strict=True) if is_other]
        self._pending = []
        return alone

    def _send_thoughts(self) -> None:
        self.has_thought = self.has_thought or bool(self._pending)
        self._items += [item for item, _ in self._pending]
        self._pending = []


def message_item(role: str, parts: list[Part]) -> dict[str, object]:
    return {"type": "message", "role": role, "content": list(parts)}


NO_TEXT = "this backend accepts only its own reasoning, and another backend made this"
NOTHING = "it has nothing that this backend can read"
REPEATED = "this history already has an item with this id, and the backend refuses a second one"
NEEDED = "this backend refuses an answer of this kind without reasoning"
ALONE = "this backend refuses reasoning that nothing follows"

_any: Final[msgspec.json.Decoder[JsonValue]] = msgspec.json.Decoder()
_FILL: Final = {"empty": "", "space": " "}


class ThoughtItem(NamedTuple):
    """What goes back for one thinking block: an item, or None; and the phase of the message behind it, if it is known."""

    item: JsonObject | Raw | None
    phase: str = ""


class ThoughtWriter:
    """Writes the thoughts of one request. An item that is there twice goes once: the first, so that what was sent before is
    not altered later."""

    def __init__(self, options: ResponsesOptions, changes: RequestChanges) -> None:
        self._options = options
        self._changes = changes
        self._seen: set[str] = set()

    def write(self, block: RawObject, given: OwnItem | None = None) -> ThoughtItem:
        """`given` is the client's item, which goes if it says the same."""
        proof = block.string("signature" if block.type == "thinking" else "data")
        payload = payload_of(proof) or {}
        own = object_of(payload.get("item")) if payload.get("dialect") == DIALECT_NAME and self._options.items else {}
        item, why = self._given_back(own, block) if own else self._handed_over(block)
        if item is not None and self._is_repeated(item):
            item, why = None, REPEATED
        if why:
            self._changes.leave_out_thought(block.path, why)
        is_as_given = given is not None and item is not None and object_of(_any.decode(given.raw)) == item
        sent = given.raw if given is not None and is_as_given else item
        return ThoughtItem(sent, text_of(payload.get("phase")))

    def filled(self, path: str) -> JsonObject | None:
        """The least that can stand for reasoning, where the backend needs some and there is none."""
        word = _FILL.get(self._options.missing)
        if word is None:
            return None
        self._changes.add(path, "added", NEEDED)
        return self._with_text(word)

    def leave_out_alone(self, path: str) -> None:
        self._changes.leave_out_thought(path, ALONE)

    def _given_back(self, own: JsonObject, block: RawObject) -> tuple[JsonObject | None, str]:
        """The item as it came; without what this backend does not read, and never with an id that is none."""
        hidden = () if self._options.encrypted else ("encrypted_content",)
        item = {key: value for key, value in own.items() if key not in hidden and (key, value) != ("id", "")}
        if item.get("type", "reasoning") != "reasoning":
            return item, ""
        texts = objects_of(item.get("summary")) + objects_of(item.get("content"))
        if not texts and not item.get("encrypted_content"):
            return self._handed_over(block)
        return {"type": "reasoning", "summary": [], **item}, ""

    def _handed_over(self, block: RawObject) -> tuple[JsonObject | None, str]:
        """The text alone."""
        text = block.string("thinking") if block.type == "thinking" else ""
        if not text:
            return None, NOTHING
        return (self._with_text(text), "") if self._options.thought_text else (None, NO_TEXT)

    def _with_text(self, text: str) -> JsonObject:
        match self._options.thought_text:
            case "summary":
                return {"type": "reasoning", "summary": [{"type": "summary_text", "text": text}]}
            case "encrypted_content":
                return {"type": "reasoning", "summary": [], "encrypted_content": text}
            case _:
                return {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": text}]}

    def _is_repeated(self, item: JsonObject) -> bool:
        """Told by what only the maker could have given it. The same words alone may have been thought twice."""
        marks = {mark for mark in (text_of(item.get("id")), text_of(item.get("encrypted_content"))) if mark}
        if self._options.encrypted_is_text:
            marks.discard(text_of(item.get("encrypted_content")))
        is_repeated = bool(marks & self._seen)
        self._seen |= marks
        return is_repeated

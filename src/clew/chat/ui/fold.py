"""A stream's parts folded into the message that they tell, as the AI SDK's client holds it.

What is read from the store goes through the same parts as what is streamed, so a page that is loaded anew shows what it
showed while the answer came.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from clew.chat.ui.parts import Part
from clew.model.json import JsonObject, JsonValue
from clew.model.long_text import LongText

__all__ = ["Fold", "folded"]


class Fold:
    """`feed` it parts; `message` is the UI message so far."""

    def __init__(self) -> None:
        self._id: JsonValue = ""
        self._metadata: JsonObject = {}
        self._parts: list[JsonObject] = []
        self._growing: dict[str, JsonObject] = {}
        self._texts: dict[str, LongText] = {}
        """What those that grow say."""
        self._calls: dict[str, JsonObject] = {}

    @property
    def message(self) -> JsonObject:
        for id, text in self._texts.items():
            self._growing[id]["text"] = text.whole()
        parts: list[JsonValue] = [*self._parts]
        return {"id": self._id, "role": "assistant", "metadata": self._metadata, "parts": parts}

    def whole(self) -> Iterator[JsonObject]:
        """The message, if there is anything in it."""
        if self._parts:
            yield self.message

    def knows(self, part: Part) -> bool:
        """Whether the call that this part is about was told of."""
        return str(part.get("toolCallId")) in self._calls

    def feed_all(self, parts: Iterable[Part]) -> None:
        for part in parts:
            self.feed(part)

    def feed(self, part: Part) -> None:
        kind = str(part["type"])
        if kind in ("start", "finish", "message-metadata"):
            self._tell(part)
        elif kind == "start-step":
            self._parts.append({"type": "step-start"})
        elif kind.startswith(("text-", "reasoning-")):
            self._grow(kind, part)
        elif kind.startswith("tool-"):
            self._call(kind, part)
        elif kind.startswith(("data-", "source-")):
            self._parts.append(part)

    def _tell(self, part: Part) -> None:
        self._id = self._id or part.get("messageId", "")
        more = part.get("messageMetadata")
        self._metadata = {**self._metadata, **more} if isinstance(more, dict) else self._metadata

    def _grow(self, kind: str, part: Part) -> None:
        shown, _, what = kind.partition("-")
        id = str(part["id"])
        if what == "start":
            self._growing[id] = {"type": shown, "text": "", "state": "streaming"}
            self._texts[id] = LongText()
            self._parts.append(self._growing[id])
        grown = self._growing[id]
        if "delta" in part:
            self._texts[id].add(str(part["delta"]))
        if "providerMetadata" in part:
            grown["providerMetadata"] = part["providerMetadata"]
        if what == "end":
            grown |= {"text": self._texts.pop(id).whole(), "state": "done"}

    def _call(self, kind: str, part: Part) -> None:
        call = self._called(part)
        call |= {name: part[name] for name in ("input", "output", "errorText", "providerExecuted") if name in part}
        if state := _STATES.get(kind):
            call["state"] = state
        if kind == "tool-approval-request":
            call["approval"] = {"id": part["approvalId"]}

    def _called(self, part: Part) -> JsonObject:
        id = str(part["toolCallId"])
        if id not in self._calls:
            self._calls[id] = {"type": f"tool-{part.get('toolName', '')}", "toolCallId": id}
            self._parts.append(self._calls[id])
        return self._calls[id]


_STATES = {
    "tool-input-start": "input-streaming",
    "tool-input-available": "input-available",
    "tool-input-error": "output-error",
    "tool-approval-request": "approval-requested",
    "tool-output-available": "output-available",
    "tool-output-error": "output-error",
    "tool-output-denied": "output-denied",
}


def folded(parts: Iterable[Part]) -> JsonObject:
    """The UI message that these parts tell.

    >>> folded([{"type": "start", "messageId": "m"}, {"type": "text-start", "id": "t"}])["parts"]
    [{'type': 'text', 'text': '', 'state': 'streaming'}]
    """
    fold = Fold()
    fold.feed_all(parts)
    return fold.message

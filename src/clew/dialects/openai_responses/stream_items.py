"""The items of an answer, each told as blocks while it comes.

What an item says at its end counts only where nothing of it was told before: servers leave out deltas, or everything but the
end. A reasoning item goes back to its maker as the end has it, since the opaque value of its beginning is another one. So
does an item of a type that has no block, behind a thought without words.
"""

from __future__ import annotations

from typing import Final

from clew.dialects.openai_responses.detail import annotation_delta, item_block, refusal_delta
from clew.dialects.openai_responses.stream_answer import AnswerInItems, ItemTeller
from clew.dialects.openai_responses.stream_calls import CallTeller, TextCallTeller
from clew.dialects.openai_responses.stream_events import ANNOTATION, ResponsesEvent
from clew.model.events import BlockDelta, Unknown
from clew.model.json import JsonObject, objects_of, text_of

_BETWEEN_PARTS: Final = "\n\n"
_TEXT_DELTA: Final = "response.output_text.delta"


class ThoughtTeller:
    """A reasoning item: the summary, or the thought itself where that comes first; parts are set apart by a blank line."""

    __slots__ = ("_answer", "_channel", "_part")

    def __init__(self, answer: AnswerInItems, item: JsonObject) -> None:
        self._answer = answer
        self._channel = ""
        self._part = -1

    @property
    def grows_by(self) -> tuple[str, int]:
        return (f"{self._channel}.delta" if self._channel else "", self._part)

    def take(self, event: ResponsesEvent) -> None:
        kind: str = event.type
        channel, _, what = kind.rpartition(".")
        if what == "delta":
            self._think(channel, event.part, text_of(event.delta))
        elif self._channel != channel or event.part > self._part:
            self._think(channel, event.part, text_of(event.text))

    def _think(self, channel: str, part: int, text: str) -> None:
        if not text or self._channel not in ("", channel):
            return
        blocks = self._answer.blocks
        if not self._channel:
            self._channel = channel
            blocks.begin_thought()
        elif part != self._part:
            blocks.said.append(_BETWEEN_PARTS)
        self._part = part
        blocks.said.append(text)

    def finish(self, item: JsonObject) -> None:
        answer = self._answer
        if not self._channel:
            texts = _texts_of(item)
            if not texts and answer.options.encrypted_is_text:  # some servers put the plain thought there
                texts = [text_of(item.get("encrypted_content"))]
            for at, text in enumerate(texts):
                self._think("whole", at, text)
        if not item or item.get("status") == "incomplete":
            return  # what was cut is not for its maker
        if not self._channel and item.get("encrypted_content"):
            answer.blocks.begin_thought()
            self._channel = "encrypted_content"
        if self._channel:
            answer.blocks.keep_item(item)


def _texts_of(item: JsonObject) -> list[str]:
    for member in ("summary", "content"):
        if texts := [text for part in objects_of(item.get(member)) if (text := text_of(part.get("text")))]:
            return texts
    return []


class MessageTeller:
    """A message: each of its parts is a text block. White space alone opens none."""

    __slots__ = ("_annotated", "_answer", "_blank", "_is_open", "_part", "_phase", "_told")

    def __init__(self, answer: AnswerInItems, item: JsonObject) -> None:
        self._answer = answer
        self._phase = text_of(item.get("phase"))
        self._told: set[int] = set()
        self._part = 0
        self._is_open = False
        self._blank: list[str] = []
        self._annotated = False

    @property
    def grows_by(self) -> tuple[str, int]:
        return (_TEXT_DELTA if self._is_open else "", self._part)

    def take(self, event: ResponsesEvent) -> None:
        if event.type == _TEXT_DELTA:
            self._say(event.part, text_of(event.delta))
        elif event.type == "response.refusal.delta":
            self._refuse(event.part, text_of(event.delta))
        elif event.type == ANNOTATION:
            self._annotate([event.own_annotation])
        elif event.part not in self._told:
            self._refuse(event.part, text_of(event.refusal))
            self._say(event.part, text_of(event.text))

    def _refuse(self, part: int, text: str) -> None:
        self._answer.refused = self._answer.refused or bool(text)
        begins = bool(text.strip()) and (part != self._part or not self._is_open)
        if begins and self._answer.passes:
            self._close()
            self._part = part
            self._begin(part)
            blocks = self._answer.blocks
            blocks.add(BlockDelta(blocks.index, refusal_delta()))
        self._say(part, text)

    def _say(self, part: int, text: str) -> None:
        if part != self._part:
            self._close()
            self._part = part
        if not self._is_open:
            if not text or text.isspace():
                self._blank += [text] if text else []
                return
            blank = self._blank
            self._begin(part)
            self._answer.blocks.said += blank
        self._answer.blocks.said.append(text)

    def _begin(self, part: int) -> None:
        self._told.add(part)
        self._is_open = True
        self._answer.blocks.begin_text(self._phase)

    def _close(self) -> None:
        self._blank = []
        if self._is_open:
            self._is_open = False
            self._answer.blocks.close()

    def finish(self, item: JsonObject) -> None:
        content = item.get("content")
        parts = objects_of(content) or [{"text": content}]
        for at, part in enumerate(parts):
            if at not in self._told:
                self._refuse(at, text_of(part.get("refusal")))
                self._say(at, text_of(part.get("text")))
            if not self._annotated and at == self._part:
                self._annotate(objects_of(part.get("annotations")))
        self._close()

    def _annotate(self, annotations: list[JsonObject]) -> None:
        """Annotations of the part that is open, for a client that knows them."""
        if not annotations:
            return
        self._annotated = True
        answer = self._answer
        if self._is_open and answer.passes:
            answer.blocks.tell_rest()
            answer.blocks.add(*[BlockDelta(answer.blocks.index, annotation_delta(each)) for each in annotations])
        else:
            answer.unsaid.note("annotation")


class ForeignTeller:
    """An item of a type that has no block. A client of this dialect gets it as it is, with all that is said of it meanwhile;
    else its maker gets it back, and the client hears that there is something."""

    grows_by = ("", 0)
    __slots__ = ("_answer", "_is_open", "_kind")

    def __init__(self, answer: AnswerInItems, item: JsonObject) -> None:
        self._answer = answer
        self._kind = text_of(item.get("type"))
        self._is_open = answer.passes and bool(item.get("id"))
        if self._is_open:
            answer.blocks.open_foreign(item_block(item))

    def take(self, event: ResponsesEvent) -> None:
        """Nothing of it is told."""

    def pass_on(self, kind: str, data: bytes) -> None:
        """An event that only this dialect has: how a search goes, a part of a picture."""
        if self._is_open:
            self._answer.blocks.add(Unknown(kind, data))

    def finish(self, item: JsonObject) -> None:
        if self._is_open:
            if item:
                self._answer.blocks.end_foreign(item_block(item))
            self._answer.blocks.close()
            return
        if item and self._answer.passes:
            self._answer.blocks.tell_whole(item_block(item))
            return
        self._answer.unsaid.note(self._kind)
        if item:
            self._answer.blocks.begin_thought()
            self._answer.blocks.keep_item(item)


_TELLERS: Final = {
    "reasoning": ThoughtTeller,
    "message": MessageTeller,
    "function_call": CallTeller,
    "custom_tool_call": TextCallTeller,
}


def teller_of(answer: AnswerInItems, item: JsonObject) -> ItemTeller:
    """Who tells this item; it may be no more than the beginning of one."""
    return _TELLERS.get(text_of(item.get("type")), ForeignTeller)(answer, item)

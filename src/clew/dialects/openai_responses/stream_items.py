"""The items of an answer, each told as blocks while it comes.

What an item says at its end counts only where nothing of it was told before: servers leave out deltas, or everything but the
end. A reasoning item goes back to its maker as the end has it, since the opaque value of its beginning is another one. So
does an item of a type that has no block, behind a thought without words.
"""

from __future__ import annotations

from typing import Final, Protocol

import msgspec
from msgspec import Struct

from clew.dialects.openai_responses.detail import detail_of
from clew.dialects.openai_responses.options import ResponsesOptions
from clew.dialects.openai_responses.stream_blocks import ItemBlocks
from clew.dialects.openai_responses.stream_events import ResponsesEvent
from clew.dialects.openai_responses.tools import canonical_name
from clew.dialects.shape import AnswerContext
from clew.dialects.tool_ids import ToolIds
from clew.dialects.unsaid import UnsaidKinds
from clew.model.json import JsonObject, encoded, objects_of, read_object, text_of
from clew.model.texts import LongText

_BETWEEN_PARTS: Final = "\n\n"
_WRAPPERS: Final = frozenset({"parallel", "multi_tool_use.parallel"})
"""A call of several tools at once, which models make up now and then."""


class AnswerInItems:
    """What the items of one answer share: the blocks that they become, and what is known of the request."""

    __slots__ = ("_detail", "blocks", "calls", "context", "options", "refused", "tool_ids", "unsaid")

    def __init__(self, context: AnswerContext, options: ResponsesOptions) -> None:
        self.blocks = ItemBlocks()
        self.context = context
        self._detail = detail_of(context.native)
        self.options = options
        self.tool_ids = ToolIds(context.message_id)
        self.unsaid = UnsaidKinds(context.unsaid)
        self.refused = False
        self.calls = 0

    def open_call(self, item: JsonObject, name: str, call_id: str) -> None:
        """Opens the call that an item makes, under the client's name of the tool."""
        kind = "custom" if item.get("type") == "custom_tool_call" else "function"
        document = self.context.document
        known = canonical_name(self._detail, kind, text_of(item.get("namespace")), name, document)
        given = self.tool_ids.give(call_id)
        own = self.tool_ids.wire.get(given) if self.context.own_ids else ""
        self.blocks.open_call(own or given, known)
        self.calls += 1


class ItemTeller(Protocol):
    """Tells one item."""

    def take(self, event: ResponsesEvent) -> None:
        """More of it."""
        ...

    def finish(self, item: JsonObject) -> None:
        """Its end; {} if it never came whole."""
        ...


class ThoughtTeller:
    """A reasoning item: the summary, or the thought itself where that comes first; parts are set apart by a blank line."""

    __slots__ = ("_answer", "_channel", "_part")

    def __init__(self, answer: AnswerInItems, item: JsonObject) -> None:
        self._answer = answer
        self._channel = ""
        self._part = -1

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
            for at, text in enumerate(_texts_of(item) or self._readable(item)):
                self._think("whole", at, text)
        if not item or item.get("status") == "incomplete":
            return  # what was cut is not for its maker
        if not self._channel and item.get("encrypted_content"):
            answer.blocks.begin_thought()
            self._channel = "encrypted_content"
        if self._channel:
            answer.blocks.keep_item(item)

    def _readable(self, item: JsonObject) -> list[str]:
        """Some servers put the plain thought where others have an opaque value."""
        return [text_of(item.get("encrypted_content"))] if self._answer.options.encrypted_is_text else []


def _texts_of(item: JsonObject) -> list[str]:
    for member in ("summary", "content"):
        if texts := [text for part in objects_of(item.get(member)) if (text := text_of(part.get("text")))]:
            return texts
    return []


class MessageTeller:
    """A message: each of its parts is a text block. White space alone opens none."""

    __slots__ = ("_answer", "_blank", "_is_open", "_part", "_phase", "_told")

    def __init__(self, answer: AnswerInItems, item: JsonObject) -> None:
        self._answer = answer
        self._phase = text_of(item.get("phase"))
        self._told: set[int] = set()
        self._part = 0
        self._is_open = False
        self._blank: list[str] = []

    def take(self, event: ResponsesEvent) -> None:
        if event.type == "response.output_text.delta":
            self._say(event.part, text_of(event.delta))
        elif event.type == "response.refusal.delta":
            self._refuse(event.part, text_of(event.delta))
        elif event.part not in self._told:
            self._refuse(event.part, text_of(event.refusal))
            self._say(event.part, text_of(event.text))

    def _refuse(self, part: int, text: str) -> None:
        self._answer.refused = self._answer.refused or bool(text)
        self._say(part, text)

    def _say(self, part: int, text: str) -> None:
        if part != self._part:
            self._close()
            self._part = part
        if not self._is_open:
            if not text or text.isspace():
                self._blank += [text] if text else []
                return
            self._told.add(part)
            self._is_open = True
            self._answer.blocks.begin_text(self._phase)
            self._answer.blocks.said += self._blank
        self._answer.blocks.said.append(text)

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
            if part.get("annotations"):
                self._answer.unsaid.note("annotation")
        self._close()


class CallTeller:
    """A function call. Its arguments stream once its name is known."""

    __slots__ = ("_answer", "_came", "_is_open", "_item", "_waiting")

    def __init__(self, answer: AnswerInItems, item: JsonObject) -> None:
        self._answer = answer
        self._item = item
        self._came = False
        self._is_open = False
        self._waiting = LongText()
        if (name := text_of(item.get("name"))) and name not in _WRAPPERS:
            self._open(name)

    def _open(self, name: str) -> None:
        self._is_open = True
        call_id = text_of(self._item.get("call_id")) or text_of(self._item.get("id"))
        self._answer.open_call(self._item, name, call_id)

    def take(self, event: ResponsesEvent) -> None:
        if text := text_of(event.delta) or ("" if self._came else text_of(event.arguments)):
            self._came = True
            if self._is_open:
                self._answer.blocks.said.append(text)
            else:
                self._waiting.add(text)

    def finish(self, item: JsonObject) -> None:
        self._item = {**self._item, **item}
        arguments = "" if self._came else text_of(item.get("arguments"))
        if self._is_open:
            self._answer.blocks.said += [arguments] if arguments else []
        else:
            self._tell(text_of(self._item.get("name")), arguments or self._waiting.whole())
        self._answer.blocks.close()

    def _tell(self, name: str, arguments: str) -> None:
        """A call whose name came late, or one that stands for several."""
        calls = _wrapped_calls(arguments) if name in _WRAPPERS and not self._is_declared(name) else ()
        for at, (each, own) in enumerate(calls):
            self._answer.open_call(self._item, each, f"{text_of(self._item.get('call_id'))}_{at}")
            self._answer.blocks.said.append(own)
        if name and not calls:
            self._open(name)
            self._answer.blocks.said += [arguments] if arguments else []

    def _is_declared(self, name: str) -> bool:
        tools = objects_of((read_object(self._answer.context.document) or {}).get("tools"))
        return any(tool.get("name") == name for tool in tools)


def _wrapped_calls(arguments: str) -> list[tuple[str, str]]:
    """The names and arguments of the calls that one call stands for."""
    try:
        uses = msgspec.json.decode(arguments, type=_Wrapped).tool_uses
    except (msgspec.MsgspecError, UnicodeEncodeError):
        return []
    return [(use.recipient_name.removeprefix("functions."), encoded(use.parameters).decode()) for use in uses]


class _WrappedCall(Struct):
    recipient_name: str
    parameters: JsonObject = {}


class _Wrapped(Struct):
    tool_uses: list[_WrappedCall]


class TextCallTeller:
    """A call of a tool that takes one text. The canonical call has it as its `input`, told once it is whole."""

    __slots__ = ("_answer", "_item", "_text")

    def __init__(self, answer: AnswerInItems, item: JsonObject) -> None:
        self._answer = answer
        self._item = item
        self._text = LongText()

    def take(self, event: ResponsesEvent) -> None:
        self._text.add(text_of(event.delta))

    def finish(self, item: JsonObject) -> None:
        self._item = {**self._item, **item}
        name, call_id = text_of(self._item.get("name")), text_of(self._item.get("call_id"))
        if name:
            self._answer.open_call(self._item, name, call_id)
            text = text_of(item.get("input")) or self._text.whole()
            self._answer.blocks.said.append(encoded({"input": text}).decode())
            self._answer.blocks.close()


class ForeignTeller:
    """An item of a type that has no block. Its maker gets it back; the client hears that there is something."""

    __slots__ = ("_answer", "_kind")

    def __init__(self, answer: AnswerInItems, item: JsonObject) -> None:
        self._answer = answer
        self._kind = text_of(item.get("type"))

    def take(self, event: ResponsesEvent) -> None:
        """Nothing of it is told."""

    def finish(self, item: JsonObject) -> None:
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

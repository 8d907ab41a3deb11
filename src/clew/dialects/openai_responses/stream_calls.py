"""The calls of a streamed answer."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Struct

from clew.dialects.openai_responses.stream_answer import AnswerInItems
from clew.dialects.openai_responses.stream_events import ResponsesEvent
from clew.model.json import JsonObject, encoded, objects_of, read_object, text_of
from clew.model.texts import LongText

_ARGUMENTS: Final = "response.function_call_arguments.delta"
_WRAPPERS: Final = frozenset({"parallel", "multi_tool_use.parallel"})
"""A call of several tools at once, which models make up now and then."""


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

    @property
    def grows_by(self) -> tuple[str, int]:
        return (_ARGUMENTS if self._is_open and self._came else "", 0)

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

    grows_by = ("", 0)
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

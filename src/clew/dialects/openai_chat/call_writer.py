"""Calls as a client of Chat Completions knows them: of functions, of custom tools, or as the older `function_call`.

A custom tool takes one text. The canonical call has it in an object, as `input`, so its text is said once all of it is here.
A client of the older `functions` knows one call in an answer: more are left out, and reported.
"""

from __future__ import annotations

from typing import Final

from clew.dialects.openai_chat.detail import chat_detail
from clew.dialects.shape import AnswerContext
from clew.model.change import Change
from clew.model.json import JsonObject, JsonValue, encoded, read_object, text_of
from clew.model.texts import LongText

ONE_CALL: Final = Change("openai_chat", "answer", "left out", "a client that sends `functions` takes one call in an answer")


def custom_text(given: JsonObject | None, raw: str) -> str:
    """The text for a custom tool: the string that it was given as `input`, or else all that it was given."""
    text = (given or {}).get("input")
    return text if isinstance(text, str) else raw


class CallWriter:
    """Writes the calls of one answer, as deltas."""

    __slots__ = ("_context", "_count", "_detail", "_has_arguments", "_is_custom", "_is_left_out", "_text")

    def __init__(self, context: AnswerContext) -> None:
        self._context = context
        self._detail = chat_detail(context.native)
        self._count = 0
        self._has_arguments = self._is_custom = self._is_left_out = False
        self._text = LongText()

    def start(self, block: JsonObject) -> JsonObject | None:
        """The first delta of a call. One that is whole at its start has its input there; nearly all get it in deltas."""
        name, arguments = block.get("name"), encoded(given).decode() if (given := block.get("input")) else ""
        self._has_arguments = bool(arguments)
        self._is_custom = name in self._detail.custom_tools
        self._is_left_out = self._detail.has_functions and self._count > 0
        self._count += 1
        if self._is_left_out:
            self._context.report(ONE_CALL)
            return None
        if self._detail.has_functions:
            return {"function_call": {"name": name, "arguments": arguments}}
        place: JsonObject = {"index": self._count - 1, "id": block.get("id")}
        if self._is_custom:
            self._text = LongText()
            self._text.add(arguments)
            return {"tool_calls": [{**place, "type": "custom", "custom": {"name": name, "input": ""}}]}
        return {"tool_calls": [{**place, "type": "function", "function": {"name": name, "arguments": arguments}}]}

    def grow(self, text: str) -> JsonObject | None:
        self._has_arguments = True
        if self._is_left_out:
            return None
        if self._detail.has_functions:
            return {"function_call": {"arguments": text}}
        if self._is_custom:
            self._text.add(text)
            return None
        return {"tool_calls": [{"index": self._count - 1, "function": {"arguments": text}}]}

    def stop(self) -> JsonObject | None:
        """The last delta: what was not said yet."""
        if self._is_custom and not self._detail.has_functions:
            raw = self._text.whole()
            text = custom_text(read_object(raw.encode()), raw)
            return {"tool_calls": [{"index": self._count - 1, "custom": {"input": text}}]}
        return None if self._has_arguments else self.grow("{}")


def calls_of(blocks: list[JsonObject], context: AnswerContext) -> JsonObject:
    """The calls of an answer in one piece, as members of its message."""
    detail = chat_detail(context.native)
    if detail.has_functions and blocks:
        for _ in blocks[1:]:
            context.report(ONE_CALL)
        return {"function_call": {"name": blocks[0].get("name"), "arguments": _arguments(blocks[0])}}
    calls: list[JsonValue] = []
    for block in blocks:
        name, place = text_of(block.get("name")), {"id": block.get("id")}
        if name in detail.custom_tools:
            given = block.get("input")
            text = custom_text(given if isinstance(given, dict) else None, _arguments(block))
            calls.append({**place, "type": "custom", "custom": {"name": name, "input": text}})
        else:
            calls.append({**place, "type": "function", "function": {"name": name, "arguments": _arguments(block)}})
    return {"tool_calls": calls} if calls else {}


def _arguments(block: JsonObject) -> str:
    return encoded(block.get("input") or {}).decode()

"""Calls and thoughts as clients of Chat Completions know them.

A call is one of a function, of a custom tool, or the older `function_call`. A custom tool takes one text. The canonical call
has it in an object, as `input`, so its text is said once all of it is here. A client of the older `functions` knows one call
in an answer: more are left out, and reported. Every call gets an id of nine letters and digits: some clients cut ids to so
many for models of some names, and the beginnings of vendors' own ids are all alike.

Clients show `reasoning_content` (or `reasoning`) and few of them return it. The proof of a thought, a maker's own signature
or clew's seal, travels in `reasoning_details`: one entry for each thinking block, once, whole, last, each with an `index`.
(The official Python SDK joins strings of the same index and fails on entries without one; the Node SDK keeps only the last
delta.) The text in an entry is for people: clients cut it, join it and leave it out, so the seal brings the whole block. A
client that returns the proof alone returns the thought, without the store.

Clients return less: nothing, the plain text alone, or the details as one joined string. Such a thought is unsigned here, and
the store has the rest.
"""

from __future__ import annotations

import string
from hashlib import sha256
from typing import Final

from clew.dialects.openai_chat.detail import chat_detail
from clew.dialects.shape import AnswerContext
from clew.model.change import Change
from clew.model.json import JsonObject, JsonValue, encoded, objects_of, read_object, text_of
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


_FORMAT: Final = "anthropic-claude-v1"
"""The name under which clients that sort entries by format know text with a signature."""
_LETTERS: Final = string.ascii_letters + string.digits
_ID_LENGTH: Final = 9
_PLAIN: Final = ("reasoning_content", "reasoning")


def tool_id(exchange: str, index: int) -> str:
    """The id of a tool call for the client, of its exchange and its place in the answer. Among a hundred million calls about
    two have the same by chance; then the rest of the answer says which it is, or nothing is found by it."""
    number = int.from_bytes(sha256(f"{exchange}\0{index}".encode()).digest()[:8], "big")
    letters = ""
    for _ in range(_ID_LENGTH):
        number, at = divmod(number, len(_LETTERS))
        letters += _LETTERS[at]
    return letters


def detail_of(block: JsonObject, index: int) -> JsonObject | None:
    """The entry of `reasoning_details` for a thinking block; None for one without proof: its text says all of it."""
    if block.get("type") == "redacted_thinking":
        return {"type": "reasoning.encrypted", "index": index, "format": _FORMAT, "data": text_of(block.get("data"))}
    signature = text_of(block.get("signature"))
    if not signature:
        return None
    text = text_of(block.get("thinking"))
    return {"type": "reasoning.text", "index": index, "format": _FORMAT, "text": text, "signature": signature}


def thinking_in(message: JsonObject) -> list[JsonObject]:
    """The thinking blocks that an assistant message of a client brings back, in their order."""
    blocks: list[JsonObject] = []
    for entry in objects_of(message.get("reasoning_details")):
        text = text_of(entry.get("text")) or text_of(entry.get("summary"))
        if signature := text_of(entry.get("signature")):
            blocks.append({"type": "thinking", "thinking": text, "signature": signature})
        elif data := text_of(entry.get("data")):
            blocks.append({"type": "redacted_thinking", "data": data})
        elif text:
            blocks.append(_unsigned(text))
    if blocks:
        return blocks
    plain: JsonValue = next((value for name in _PLAIN if (value := message.get(name))), None)
    text = text_of(plain) or text_of(message.get("reasoning_details"))  # some clients join the entries to one string
    return [_unsigned(text)] if text else []


def _unsigned(text: str) -> JsonObject:
    return {"type": "thinking", "thinking": text, "signature": ""}

"""A kept message as the Messages API takes it: the maker's own blocks where there are any, else rebuilt from text and calls.

What is given is a copy throughout: whatever happens to a request, what was kept stays as it is.
"""

from __future__ import annotations

import json

from clew.chat.messages import Message, ToolCall
from clew.errors import RequestInvalid
from clew.model.blocks import FILLER
from clew.model.change import Change
from clew.model.json import JsonArray, JsonObject, JsonValue
from clew.pipeline.builder import copied

__all__ = ["STEP", "Rebuilding"]

STEP = "arguments"


class Rebuilding:
    """Turns messages into the API's, one by one, and keeps an account of what could not be said. `strict`: it raises."""

    def __init__(self, *, strict: bool = False) -> None:
        self.changes: list[Change] = []
        self._strict = strict

    def message(self, message: Message, index: int) -> JsonObject:
        """As the API takes it. Raises RequestInvalid for arguments that are no object, if that is how it is to be."""
        own = copied({"content": message.raw_content}) if isinstance(message.raw_content, list) else {}
        match message.role:
            case "assistant":
                return {"role": "assistant", "content": own.get("content") or self._said(message, index)}
            case "tool":
                return {"role": "user", "content": [_result(message, own.get("content"))]}
            case role:
                return {"role": role, "content": own.get("content") or message.content or ""}

    def _said(self, message: Message, index: int) -> JsonValue:
        text = message.content or ""
        if not message.tool_calls:
            return text or [{"type": "text", "text": FILLER, "citations": []}]
        calls: JsonArray = [
            self._call(call, f"messages.{index}.tool_calls.{n}") for n, call in enumerate(message.tool_calls)
        ]
        return [{"type": "text", "text": text}, *calls] if text.strip() else calls

    def _call(self, call: ToolCall, path: str) -> JsonObject:
        return {"type": "tool_use", "id": call.id, "name": call.name, "input": self._input(call, f"{path}.arguments")}

    def _input(self, call: ToolCall, path: str) -> JsonObject:
        """The arguments as an object. Models write them, so they may be anything; a call without any has none."""
        if not call.arguments.strip():
            return {}
        try:
            value: JsonValue = json.loads(call.arguments, parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            return self._instead(f"the arguments of {call.name} are not JSON: {error}", path)
        if isinstance(value, dict):
            return value
        return self._instead(f"the arguments of {call.name} are no JSON object", path)

    def _instead(self, why: str, path: str) -> JsonObject:
        if self._strict:
            raise RequestInvalid(f"{path}: {why}", path=path)
        self.changes.append(Change(STEP, path, "replaced", why))
        return {}


def _refuse(word: str) -> JsonValue:
    """NaN and the infinities, which the standard reader would let pass."""
    raise ValueError(f"{word} is no JSON")


def _result(message: Message, own: JsonValue) -> JsonObject:
    result: JsonObject = {
        "type": "tool_result",
        "tool_use_id": message.tool_call_id or "",
        "content": own or message.content or "",
    }
    return {**result, "is_error": True} if message.is_error else result

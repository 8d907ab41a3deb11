"""Requests in UI message form: what a chat front end holds, as the messages that an API takes.

A part of a front end that is a call and its result at once is taken apart; then the three transforms run in their order
(`clew.pipeline.ui`), on copies; what is left is written as blocks. What the front end holds is never touched, and never
kept in place of what a maker said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from clew.chat.contents import Output, result_block
from clew.chat.ui.compaction import summary_text
from clew.chat.ui.files import file_block
from clew.errors import RequestInvalid
from clew.model.json import JsonObject, JsonValue
from clew.pipeline.ui import for_api

__all__ = ["api_messages", "outputs_of", "parts_in", "system_of", "user_content"]

_DENIED: Final = "The user did not allow this call."
_STEP: Final = "step-start"
_PASSED_OVER: Final = (_STEP, "source-url", "source-document")


def api_messages(messages: Sequence[JsonObject]) -> list[JsonObject]:
    """UI messages as the Messages API takes them, without the system's. Raises RequestInvalid for what it cannot take.

    >>> api_messages([{"id": "1", "role": "user", "parts": [{"type": "text", "text": "Hello"}]}])
    [{'role': 'user', 'content': [{'type': 'text', 'text': 'Hello'}]}]
    """
    ready = for_api([_apart(message) for message in messages], accepts=bool).messages
    read: list[JsonObject] = [{"role": message["role"], "content": [*map(_block, parts_in(message))]} for message in ready]
    return [message for message in read if message["content"]]


def system_of(messages: Sequence[JsonObject]) -> str:
    """What the system's messages say: it is no part of the conversation."""
    texts = (_text(part) for message in messages if message.get("role") == "system" for part in parts_in(message))
    return "\n\n".join(text for text in texts if text)


def user_content(message: JsonObject) -> list[JsonObject]:
    """What the user says in a UI message, as blocks. Raises RequestInvalid if it is nothing, or cannot be sent."""
    blocks = [_block(part) for part in parts_in(message) if not _is_passed_over(part)]
    if not blocks:
        raise RequestInvalid("the user's message says nothing: it has no text and no file", path="messages")
    return blocks


def outputs_of(message: JsonObject) -> Mapping[str, Output]:
    """What the calls in an assistant's UI message came to, by their ids, as far as they did."""
    return {str(part["toolCallId"]): output for part in parts_in(message) if _is_tool(part) for output in _outputs(part)}


def parts_in(message: JsonObject) -> list[JsonObject]:
    parts = message.get("parts")
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def _apart(message: JsonObject) -> JsonObject:
    """Calls and their results as parts of their own. Calls of a step were made at once, so their results come after it;
    where nobody marked the steps, after the calls that stand together."""
    given = parts_in(message)
    marked = any(part.get("type") == _STEP for part in given)
    parts: list[JsonValue] = []
    results: list[JsonValue] = []
    for part in given:
        if part.get("type") == _STEP or (not marked and not _is_tool(part)):
            parts, results = [*parts, *results], []
        if _is_tool(part):
            parts.append(_call(part))
            results += _results(part)
        elif not _is_passed_over(part):
            parts.append(part)
    return {**message, "parts": [*parts, *results]}


def _call(part: JsonObject) -> JsonObject:
    return {"type": "tool-call", "toolCallId": part["toolCallId"], "toolName": _name(part), "input": part.get("input")}


def _results(part: JsonObject) -> Iterator[JsonObject]:
    for output in _outputs(part):
        call = str(part["toolCallId"])
        yield {"type": "tool-result", "toolCallId": call, "block": result_block(call, output)}


def _outputs(part: JsonObject) -> Iterator[Output]:
    approval = part.get("approval")
    answered = approval if isinstance(approval, dict) else {}
    match part.get("state"):
        case "output-available":
            yield part.get("output")
        case "output-error":
            yield _Failed(str(part.get("errorText") or "The tool failed."))
        case "output-denied":
            yield _denied(answered)
        case "approval-responded" if answered.get("approved") is False:
            yield _denied(answered)
        case _:
            pass


class _Failed(Exception):
    """What a tool says instead of a result."""


def _denied(approval: JsonObject) -> _Failed:
    reason = approval.get("reason")
    return _Failed(f"{_DENIED} {reason}" if isinstance(reason, str) and reason else _DENIED)


def _block(part: JsonObject) -> JsonObject:
    match part:
        case {"type": "text", "text": str(text)}:
            return {"type": "text", "text": text}
        case {"type": "file"}:
            return file_block(part)
        case {"type": "data-compaction"}:
            return {"type": "text", "text": summary_text(part)}
        case {"type": "thinking", "thinking": str(text), "signature": str(signature)}:
            return {"type": "thinking", "thinking": text, "signature": signature}
        case {"type": "redacted_thinking", "data": str(data)}:
            return {"type": "redacted_thinking", "data": data}
        case {"type": "tool-call", "toolCallId": id, "toolName": name, "input": given}:
            return {"type": "tool_use", "id": id, "name": name, "input": given if isinstance(given, dict) else {}}
        case {"type": "tool-result", "block": dict(block)}:
            return block
        case _:
            kind = str(part.get("type"))[:50]
            raise RequestInvalid(f"a part of type {kind!r} cannot be sent to a model", path="messages")


def _is_tool(part: JsonObject) -> bool:
    kind = part.get("type")
    known = isinstance(kind, str) and (kind == "dynamic-tool" or kind.startswith("tool-"))
    return known and isinstance(part.get("toolCallId"), str)


def _name(part: JsonObject) -> str:
    return str(part.get("toolName") or str(part["type"]).removeprefix("tool-"))


def _is_passed_over(part: JsonObject) -> bool:
    """What is for the front end alone. A summary is not: it stands for what was said."""
    kind = str(part.get("type"))
    if summary_text(part):
        return False
    return kind in _PASSED_OVER or kind.startswith("data-") or (kind == "text" and not part.get("text"))


def _text(part: JsonObject) -> str:
    text = part.get("text")
    return text if part.get("type") == "text" and isinstance(text, str) else ""

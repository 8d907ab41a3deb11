"""Tool calls and their results in UI messages, in two formats.

The AI SDK has one part for a call and its result: `tool-NAME` or `dynamic-tool`, and its `state` says how far the call is.
Messages of databases and older front ends have a part for each: `tool-call` and `tool-result`. Both become `tool-call` and
`tool-result` parts of one shape here, in the order in which they are given:

    {"type": "tool-call", "toolCallId": …, "toolName": …, "input": {…}}
    {"type": "tool-result", "toolCallId": …, "block": {"type": "tool_result", …}}
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from clew.chat.messages import Output, objects_from, result_block
from clew.errors import RequestInvalid
from clew.model.json import JsonObject, JsonValue, object_of
from clew.pipeline.ui.structure import is_call, is_result, tool_id

STEP: Final = "step-start"

_DENIED: Final = "The user did not allow this call."
_FAILED: Final = "The tool failed."
_WRAPPED: Final = ("text", "json", "content", "error-text", "error-json")
"""The AI SDK's model messages wrap an output: `{"type": "json", "value": …}`."""


def parts_in(message: JsonObject) -> list[JsonObject]:
    return objects_from(message.get("parts"))


def split_tool_parts(message: JsonObject) -> JsonObject:
    """The message with calls and results as parts of their own. Raises RequestInvalid for a part without an id.

    The AI SDK's calls of a step were made at once, so their results come after the step; without marked steps, after the
    calls that stand together. Results that are parts of their own stay where they are.
    """
    given = parts_in(message)
    has_steps = any(part.get("type") == STEP for part in given)
    parts: list[JsonValue] = []
    results: list[JsonValue] = []
    for part in given:
        if part.get("type") == STEP or not (has_steps or _is_sdk_part(part)):
            parts, results = [*parts, *results], []
        if _is_sdk_part(part):
            parts.append(_call_part(part))
            results += [_result_part(part, output) for output in _outputs(part)]
        elif is_call(part):
            parts.append(_call_part(part))
        elif is_result(part):
            parts.append(_result_part(part, _given_output(part)))
        else:
            parts.append(part)
    return {**message, "parts": [*parts, *results]}


def outputs_of(message: JsonObject) -> Mapping[str, Output]:
    """The outputs of calls in a UI message, by the ids of the calls."""
    outputs: dict[str, Output] = {}
    for part in parts_in(message):
        if _is_sdk_part(part):
            outputs.update((_id_of(part), output) for output in _outputs(part))
        elif is_result(part):
            outputs[_id_of(part)] = _given_output(part)
    return outputs


class _ToolFailed(Exception):
    """The text of a tool that failed."""


def _is_sdk_part(part: JsonObject) -> bool:
    """Is this a tool part of the AI SDK? A tool of it may be named `call`: then the part has a state, but no `toolName`."""
    kind = str(part.get("type"))
    if is_call(part) or is_result(part):
        return kind.startswith("tool-") and "state" in part and "toolName" not in part
    return kind == "dynamic-tool" or (kind.startswith("tool-") and "toolCallId" in part)


def _id_of(part: JsonObject) -> str:
    id = tool_id(part)
    if not id:
        raise RequestInvalid(f"a part of type {str(part.get('type'))[:50]!r} needs a `toolCallId`", path="messages")
    return id


def _call_part(part: JsonObject) -> JsonObject:
    kind = str(part["type"])
    name = part.get("toolName") or part.get("name") or ("" if kind == "tool_use" else kind.removeprefix("tool-"))
    given = next((part[key] for key in ("input", "args") if key in part), None)
    if isinstance(given, str):
        try:
            given = msgspec.json.decode(given)
        except (ValueError, RecursionError):
            raise RequestInvalid(f"the input of the tool call {_id_of(part)[:50]!r} is not JSON", path="messages") from None
    return {"type": "tool-call", "toolCallId": _id_of(part), "toolName": str(name), "input": object_of(given)}


def _result_part(part: JsonObject, output: Output) -> JsonObject:
    call = _id_of(part)
    return {"type": "tool-result", "toolCallId": call, "block": result_block(call, output)}


def _outputs(part: JsonObject) -> Iterator[Output]:
    """The output of a call of the AI SDK, if there is one yet."""
    approval, state = object_of(part.get("approval")), part.get("state")
    if state == "output-available":
        yield part.get("output")
    elif state == "output-error":
        yield _ToolFailed(str(part.get("errorText") or _FAILED))
    elif state == "output-denied" or (state == "approval-responded" and approval.get("approved") is False):
        yield _denied(approval)


def _given_output(part: JsonObject) -> Output:
    """The output of a result that is a part of its own."""
    output = next((part[key] for key in ("output", "result", "content") if key in part), None)
    is_error = part.get("isError") is True or part.get("is_error") is True
    match output:
        case {"type": "execution-denied"}:
            return _denied(output)
        case {"type": str(kind), "value": value} if kind in _WRAPPED:
            is_error, output = is_error or kind.startswith("error-"), value
        case _:
            pass
    if not is_error:
        return output
    return _ToolFailed((output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)) or _FAILED)


def _denied(decision: JsonObject) -> _ToolFailed:
    reason = decision.get("reason")
    return _ToolFailed(f"{_DENIED} {reason}" if isinstance(reason, str) and reason else _DENIED)

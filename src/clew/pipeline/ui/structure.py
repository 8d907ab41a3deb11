"""Tool calls and their results in messages of their own, as the API wants them.

A front end keeps a call and its result in one assistant message. The API wants the call in an assistant message, its result
in the user message after it, and what came later in another. Messages are cut where the order of their parts shows it; the
ids of new messages are derived from the old one's, so that the same history is always cut into the same messages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Literal, TypeAlias

from msgspec import Struct

from clew.model.json import JsonObject, JsonValue
from clew.pipeline.ui.parts import derived_id, is_call, is_result, is_thinking_part, parts_of, role_of, tool_id, with_parts

__all__ = ["Defect", "StructureError", "ensure_tool_message_structure", "validate_tool_message_structure"]

Defect: TypeAlias = Literal["both in one message", "missing result", "result without call", "result in assistant message"]


class StructureError(Struct, frozen=True):
    """What is wrong, in which message (index and id), and for which tool calls."""

    defect: Defect
    index: int
    id: str
    tools: tuple[str, ...] = ()

    def __str__(self) -> str:
        tools = f": {', '.join(self.tools)}" if self.tools else ""
        return f"message {self.index} ({self.id}): {self.defect}{tools}"


def ensure_tool_message_structure(messages: Sequence[JsonObject]) -> list[JsonObject]:
    """The messages with every result in a user message of its own. A message without results is the same object."""
    return [new for index, message in enumerate(messages) for new in _cut(message, message.get("id") or index)]


def _cut(message: JsonObject, name: JsonValue) -> list[JsonObject]:
    parts = parts_of(message)
    if role_of(message) != "assistant" or parts is None or not any(is_result(part) for part in parts):
        return [message]
    early, pieces = _pieces(parts)
    segments = [(is_result(piece[0]), piece) for piece in ([early, *pieces] if early else pieces)]
    return _numbered(message, name, segments)


def _pieces(parts: Sequence[JsonValue]) -> tuple[list[JsonValue], list[list[JsonValue]]]:
    """Results that come before any call, which answer an earlier message; and the rest, cut at its results."""
    first = next((index for index, part in enumerate(parts) if is_call(part)), len(parts))
    early = [part for part in parts[:first] if is_result(part)]
    rest = [part for part in parts[:first] if not is_result(part)] + list(parts[first:])
    groups = [list(group) for _, group in groupby(rest, key=is_result)]
    pieces = [piece for at, group in enumerate(groups) for piece in (_apart(group) if at else [group])]
    return early, pieces


def _apart(group: list[JsonValue]) -> list[list[JsonValue]]:
    """What follows results: an answer to them, and then the next call with the thinking that led to it."""
    call = next((index for index, part in enumerate(group) if is_call(part)), len(group))
    thought = next((index for index, part in enumerate(group[:call]) if is_thinking_part(part)), call)
    if is_result(group[0]) or call == len(group) or thought == 0:
        return [group]
    return [group[:thought], group[thought:]]


def _numbered(message: JsonObject, name: JsonValue, segments: Sequence[tuple[bool, list[JsonValue]]]) -> list[JsonObject]:
    """The segments as messages: the first of the assistant's keeps the id, the others get derived ones."""
    own = next((at for at, (is_answer, _) in enumerate(segments) if not is_answer), None)
    cut: list[JsonObject] = []
    for at, (is_answer, parts) in enumerate(segments):
        new = with_parts(message, parts)
        if at != own:
            new = {**new, "id": derived_id(name, at)}
        cut.append({**new, "role": "user" if is_answer else "assistant"})
    return cut


def validate_tool_message_structure(messages: Sequence[JsonObject]) -> list[StructureError]:
    """What the API would refuse about calls and results; nothing if it is in order."""
    errors: list[StructureError] = []
    for index, message in enumerate(messages):
        if role_of(message) == "assistant":
            errors += _in_assistant(messages, index)
        else:
            errors += _in_user(messages, index)
    return errors


def _in_assistant(messages: Sequence[JsonObject], index: int) -> list[StructureError]:
    calls, results = _ids(messages[index], is_call), _ids(messages[index], is_result)
    errors: list[StructureError] = []
    if calls and results:
        errors.append(_error("both in one message", messages, index, results))
    elif results:
        errors.append(_error("result in assistant message", messages, index, results))
    missing = [call for call in calls if call not in _next_results(messages, index)]
    return [*errors, _error("missing result", messages, index, missing)] if missing else errors


def _in_user(messages: Sequence[JsonObject], index: int) -> list[StructureError]:
    known = _ids(messages[index - 1], is_call) if index and role_of(messages[index - 1]) == "assistant" else []
    strays = [result for result in _ids(messages[index], is_result) if result not in known]
    return [_error("result without call", messages, index, strays)] if strays else []


def _next_results(messages: Sequence[JsonObject], index: int) -> list[str]:
    after = messages[index + 1] if index + 1 < len(messages) else {}
    return _ids(after, is_result) if role_of(after) == "user" else []


def _ids(message: JsonObject, wanted: Callable[[JsonValue], bool]) -> list[str]:
    return [tool_id(part) for part in parts_of(message) or () if wanted(part)]


def _error(defect: Defect, messages: Sequence[JsonObject], index: int, tools: Sequence[str]) -> StructureError:
    return StructureError(defect, index, str(messages[index].get("id", "")), tuple(tools))

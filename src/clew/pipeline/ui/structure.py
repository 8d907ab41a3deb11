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
    segments = [(is_result(segment[0]), segment) for segment in _segments(parts)]
    # The first segment of the assistant's keeps the id, the others get derived ones.
    own = next((at for at, (is_answer, _) in enumerate(segments) if not is_answer), None)
    cut: list[JsonObject] = []
    for at, (is_answer, segment) in enumerate(segments):
        new = with_parts(message, segment)
        if at != own:
            new = {**new, "id": derived_id(name, at)}
        cut.append({**new, "role": "user" if is_answer else "assistant"})
    return cut


def _segments(parts: Sequence[JsonValue]) -> list[list[JsonValue]]:
    """The parts of each new message. Results before any call answer an earlier message, and come first."""
    first = next((index for index, part in enumerate(parts) if is_call(part)), len(parts))
    early = [part for part in parts[:first] if is_result(part)]
    rest = [part for part in parts[:first] if not is_result(part)] + list(parts[first:])
    groups = [list(group) for _, group in groupby(rest, key=is_result)]
    segments = [piece for at, group in enumerate(groups) for piece in (_apart(group) if at else [group])]
    return [early, *segments] if early else segments


def _apart(group: list[JsonValue]) -> list[list[JsonValue]]:
    """The parts that follow results: an answer to them, and then the next call with the thinking that led to it."""
    call = next((index for index, part in enumerate(group) if is_call(part)), len(group))
    thought = next((index for index, part in enumerate(group[:call]) if is_thinking_part(part)), call)
    if is_result(group[0]) or call == len(group) or thought == 0:
        return [group]
    return [group[:thought], group[thought:]]


def validate_tool_message_structure(messages: Sequence[JsonObject]) -> list[StructureError]:
    """The defects of calls and results that the API would refuse."""
    errors: list[StructureError] = []
    for index, message in enumerate(messages):
        if role_of(message) == "assistant":
            errors += _errors_in_assistant(messages, index)
            continue
        known = _ids(messages[index - 1], is_call) if index and role_of(messages[index - 1]) == "assistant" else []
        strays = [result for result in _ids(message, is_result) if result not in known]
        errors += [_error("result without call", messages, index, strays)] if strays else []
    return errors


def _errors_in_assistant(messages: Sequence[JsonObject], index: int) -> list[StructureError]:
    calls, results = _ids(messages[index], is_call), _ids(messages[index], is_result)
    errors: list[StructureError] = []
    if calls and results:
        errors.append(_error("both in one message", messages, index, results))
    elif results:
        errors.append(_error("result in assistant message", messages, index, results))
    after = messages[index + 1] if index + 1 < len(messages) else {}
    answered = _ids(after, is_result) if role_of(after) == "user" else []
    missing = [call for call in calls if call not in answered]
    return [*errors, _error("missing result", messages, index, missing)] if missing else errors


def _ids(message: JsonObject, wanted: Callable[[JsonValue], bool]) -> list[str]:
    return [tool_id(part) for part in parts_of(message) or () if wanted(part)]


def _error(defect: Defect, messages: Sequence[JsonObject], index: int, tools: Sequence[str]) -> StructureError:
    return StructureError(defect, index, str(messages[index].get("id", "")), tuple(tools))

"""UI-style messages: plain dictionaries with `id`, `role` and a list of `parts`, as chat front ends keep them.

One message may hold text, reasoning, tool calls and their results all together, in the order in which they were shown. The
transforms of this package make copies for an API and never touch what they are given.

A front end keeps a call and its result in one assistant message. The API wants the call in an assistant message, its result
in the user message after it, and what came later in another. Messages are cut where the order of their parts shows it; the
ids of new messages are derived from the old one's, so that the same history is always cut into the same messages.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Literal, TypeAlias

from msgspec import Struct

from clew.model.json import JsonObject, JsonValue

_CALLS = frozenset({"tool-call", "tool_use"})
_RESULTS = frozenset({"tool-result", "tool_result"})
_REASONING = frozenset({"reasoning", "reasoning-delta"})
_THINKING = frozenset({"thinking", "redacted_thinking"})

_NAMESPACE = uuid.UUID("6f9a1c1e-0b5c-5d1c-9f43-8f2b6a4d7e10")
"""Ours alone: derived ids never meet anyone else's."""


def parts_of(message: JsonObject) -> list[JsonValue] | None:
    """The message's parts; None if it has no list of them, and then no transform looks at it."""
    parts = message.get("parts")
    return parts if isinstance(parts, list) else None


def role_of(message: JsonObject) -> JsonValue:
    return message.get("role")


def with_parts(message: JsonObject, parts: Sequence[JsonValue]) -> JsonObject:
    return {**message, "parts": list(parts)}


def _kind(part: JsonValue) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    return kind if isinstance(kind, str) else ""


def is_call(part: JsonValue) -> bool:
    return _kind(part) in _CALLS


def is_result(part: JsonValue) -> bool:
    return _kind(part) in _RESULTS


def is_reasoning(part: JsonValue) -> bool:
    """Reasoning as a front end names it, before conversion."""
    return _kind(part) in _REASONING


def is_thinking_part(part: JsonValue) -> bool:
    """Thinking as the API names it, or reasoning that will become it."""
    return _kind(part) in _THINKING or is_reasoning(part)


def tool_id(part: JsonValue) -> str:
    """The id that ties a call to its result; "" if there is none."""
    fields = part if isinstance(part, dict) else {}
    ids = (fields.get(key) for key in ("toolCallId", "tool_use_id", "id"))
    return next((each for each in ids if isinstance(each, str) and each), "")


def derived_id(*names: JsonValue) -> str:
    """A UUID that depends on these names and on nothing else, so that the same history gets the same ids each time."""
    return str(uuid.uuid5(_NAMESPACE, "\x1f".join(str(name) for name in names)))


def ensure_uuid_ids(messages: Sequence[JsonObject]) -> list[JsonObject]:
    """Return the messages with UUIDs as ids. All other fields stay, and a message that already has a UUID is the same
    object.

    >>> [message] = ensure_uuid_ids([{"id": "msg_1", "role": "user", "createdAt": "then"}])
    >>> message["id"], message["createdAt"]
    ('0c84f53a-7fcf-5e9d-bd8f-c74430d8e988', 'then')
    """
    return [
        message if _is_uuid(message.get("id")) else {**message, "id": derived_id(message.get("id") or index)}
        for index, message in enumerate(messages)
    ]


def _is_uuid(value: JsonValue) -> bool:
    try:
        return isinstance(value, str) and str(uuid.UUID(value)) == value.lower()
    except ValueError:
        return False


Defect: TypeAlias = Literal["both in one message", "missing result", "result without call", "result in assistant message"]


class StructureError(Struct, frozen=True):
    """One defect: what is wrong, in which message (index and id), and for which tool calls.

    >>> print(StructureError("missing result", 1, "m2", ("c1",)))
    message 1 (m2): missing result: c1
    """

    defect: Defect
    index: int
    id: str
    tools: tuple[str, ...] = ()

    def __str__(self) -> str:
        tools = f": {', '.join(self.tools)}" if self.tools else ""
        return f"message {self.index} ({self.id}): {self.defect}{tools}"


def ensure_tool_message_structure(messages: Sequence[JsonObject]) -> list[JsonObject]:
    """Return the messages with every result in its own user message. A message without results is the same object.

    >>> call, result = {"type": "tool-call", "toolCallId": "c1"}, {"type": "tool-result", "toolCallId": "c1"}
    >>> answer = {"id": "m1", "role": "assistant", "parts": [call, result, {"type": "text", "text": "Done."}]}
    >>> [(each["role"], [part["type"] for part in each["parts"]]) for each in ensure_tool_message_structure([answer])]
    [('assistant', ['tool-call']), ('user', ['tool-result']), ('assistant', ['text'])]
    """
    cut: list[JsonObject] = []
    for index, message in enumerate(messages):
        parts = parts_of(message)
        if role_of(message) != "assistant" or parts is None or not any(is_result(part) for part in parts):
            cut.append(message)
            continue
        segments = [(is_result(segment[0]), segment) for segment in _segments(parts)]
        # The first segment of the assistant's keeps the id, the others get derived ones.
        own = next((at for at, (is_answer, _) in enumerate(segments) if not is_answer), None)
        for at, (is_answer, segment) in enumerate(segments):
            new = with_parts(message, segment)
            if at != own:
                new = {**new, "id": derived_id(message.get("id") or index, at)}
            cut.append({**new, "role": "user" if is_answer else "assistant"})
    return cut


def _segments(parts: Sequence[JsonValue]) -> list[list[JsonValue]]:
    """The parts of each new message. Results before any call answer an earlier message, and come first."""
    first = next((index for index, part in enumerate(parts) if is_call(part)), len(parts))
    early = [part for part in parts[:first] if is_result(part)]
    rest = [part for part in parts[:first] if not is_result(part)] + list(parts[first:])
    groups = [list(group) for _, group in groupby(rest, key=is_result)]
    segments = [early] if early else []
    for at, group in enumerate(groups):
        # What follows results is an answer to them, and then the next call with the thinking that led to it.
        call = next((index for index, part in enumerate(group) if is_call(part)), len(group))
        thought = next((index for index, part in enumerate(group[:call]) if is_thinking_part(part)), call)
        is_one = at == 0 or is_result(group[0]) or call == len(group) or thought == 0
        segments += [group] if is_one else [group[:thought], group[thought:]]
    return segments


def validate_tool_message_structure(messages: Sequence[JsonObject]) -> list[StructureError]:
    """Return the defects of calls and results that the API would refuse, or none for a valid list.

    >>> answer = {"id": "m1", "role": "assistant", "parts": [{"type": "tool-call", "toolCallId": "c1"}]}
    >>> [str(error) for error in validate_tool_message_structure([answer])]
    ['message 0 (m1): missing result: c1']
    """
    errors: list[StructureError] = []
    for index, message in enumerate(messages):
        if role_of(message) == "assistant":
            calls, results = _ids(message, is_call), _ids(message, is_result)
            if results:
                defect: Defect = "both in one message" if calls else "result in assistant message"
                errors.append(_error(defect, messages, index, results))
            after = messages[index + 1] if index + 1 < len(messages) else {}
            answered = _ids(after, is_result) if role_of(after) == "user" else []
            missing = [call for call in calls if call not in answered]
            errors += [_error("missing result", messages, index, missing)] if missing else []
            continue
        known = _ids(messages[index - 1], is_call) if index and role_of(messages[index - 1]) == "assistant" else []
        strays = [result for result in _ids(message, is_result) if result not in known]
        errors += [_error("result without call", messages, index, strays)] if strays else []
    return errors


def _ids(message: JsonObject, wanted: Callable[[JsonValue], bool]) -> list[str]:
    return [tool_id(part) for part in parts_of(message) or () if wanted(part)]


def _error(defect: Defect, messages: Sequence[JsonObject], index: int, tools: Sequence[str]) -> StructureError:
    return StructureError(defect, index, str(messages[index].get("id", "")), tuple(tools))

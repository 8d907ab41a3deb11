"""The input items, each by itself, and all of them as a conversation.

By itself: its type, its fields, its id, its content. As a conversation: each once, each call with its output, the trigger of
a compaction at the end. And what the request asks of the vendor's memory: an earlier answer, items by their id, a
conversation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from clew.model.json import JsonObject, JsonValue
from clew.simulator.openai_responses.judge import tools
from clew.simulator.openai_responses.judge.case import CALLS, NAME, PlacedItem, ResponsesCase, kind_of_item, quoted
from clew.simulator.rule_book import RuleBreach
from clew.simulator.values import as_dict, as_list, as_str, kind_of

ITEM_TYPES: Final = (
    "additional_tools",
    "agent_message",
    "apply_patch_call",
    "apply_patch_call_output",
    "code_interpreter_call",
    "compaction",
    "compaction_trigger",
    "computer_call",
    "computer_call_output",
    "configuration_update",
    "context_compaction",
    "custom_tool_call",
    "custom_tool_call_output",
    "file_search_call",
    "function_call",
    "function_call_output",
    "image_generation_call",
    "item_reference",
    "local_shell_call",
    "local_shell_call_output",
    "mcp_approval_request",
    "mcp_approval_response",
    "mcp_call",
    "mcp_list_tools",
    "message",
    "program",
    "program_output",
    "reasoning",
    "shell_call",
    "shell_call_output",
    "tool_search_call",
    "tool_search_output",
    "web_search_call",
)
_ROLES: Final = ("assistant", "system", "developer", "user")
_PREFIXES: Final[Mapping[str, str]] = {
    "message": "msg",
    "reasoning": "rs",
    "function_call": "fc",
    "function_call_output": "fco",
    "custom_tool_call": "ctc",
    "custom_tool_call_output": "ctco",
    "compaction": "cmp",
    "additional_tools": "at",
    "tool_search_call": "tsc",
    "tool_search_output": "tso",
    "web_search_call": "ws",
    "image_generation_call": "ig",
    "local_shell_call": "lsh",
}
"""How the id of an item begins."""
_ANYWHERE: Final = frozenset({"type", "id", "internal_chat_message_metadata_passthrough"})
_FIELDS: Final[Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "message": (("content",), ("role", "status", "phase")),
    "reasoning": (("summary",), ("content", "encrypted_content", "status")),
    "function_call": (("call_id", "name", "arguments"), ("status", "namespace")),
    "function_call_output": (("call_id", "output"), ("status", "name", "namespace")),
    "custom_tool_call": (("call_id", "name", "input"), ("status", "namespace")),
    "custom_tool_call_output": (("call_id", "output"), ("status", "name", "namespace")),
    "compaction": (("encrypted_content",), ("status",)),
    "compaction_trigger": ((), ()),
    "item_reference": (("id",), ()),
}
"""The fields that items of a type must have, and may have. Other types are not looked into."""
_PARTS: Final = (
    "input_text",
    "input_image",
    "input_audio",
    "output_text",
    "refusal",
    "input_file",
    "computer_screenshot",
    "summary_text",
    "encrypted_content",
)
_INPUT_PARTS: Final = ("input_text", "input_image", "input_audio", "input_file", "computer_screenshot")
_OUTPUT_PARTS: Final = ("output_text", "refusal")
_RESULT_PARTS: Final = ("input_text", "input_image", "input_file")
_NEEDED: Final[Mapping[str, str]] = {
    "input_text": "text",
    "output_text": "text",
    "refusal": "refusal",
    "summary_text": "text",
}
_LONGEST: Final = 64


def check_input(case: ResponsesCase, value: JsonValue) -> Iterator[RuleBreach]:
    """The field `input`."""
    if isinstance(value, str):
        return
    if not isinstance(value, list):
        names = {"expected": "one of a string or array of input items", "given": kind_of(value)}
        yield RuleBreach("responses.field-type", "input", names)
        return
    for index, item in enumerate(value):
        path = f"input.{index}"
        if not isinstance(item, dict):
            given = "an object" if item is None else kind_of(item)
            yield RuleBreach("responses.field-type", path, {"expected": "an input item", "given": given})
        else:
            yield from _check_item(case, item, path)


def _check_item(case: ResponsesCase, item: JsonObject, path: str) -> Iterator[RuleBreach]:
    kind = kind_of_item(item)
    types = case.vendor.items or ITEM_TYPES
    if kind not in types:
        yield RuleBreach("responses.item-type", path, {"given": kind, "values": quoted(types)})
        return
    if kind == "message" and item.get("role") not in _ROLES:
        yield RuleBreach("responses.field-value", path, {"given": as_str(item.get("role")), "values": quoted(_ROLES)})
        return
    needed, others = _FIELDS.get(kind, ((), ()))
    if kind in _FIELDS:
        known = _ANYWHERE.union(needed, others, case.vendor.item_fields)
        yield from (RuleBreach("responses.item-field-unknown", f"{path}.{key}") for key in item if key not in known)
    for name in needed:
        if item.get(name) is None:
            yield RuleBreach("responses.field-missing", f"{path}.{name}")
    yield from _check_id(item, kind, path)
    value, place = item.get("call_id"), f"{path}.call_id"
    if value is not None:
        if not isinstance(value, str):
            yield RuleBreach("responses.field-type", place, {"expected": "a string", "given": kind_of(value)})
        elif not value:
            yield RuleBreach("responses.text-empty", place)
        elif len(value) > _LONGEST:
            yield RuleBreach("responses.text-long", place, {"limit": _LONGEST, "length": len(value)})
    yield from _check_content(case, item, kind, path)


def _check_id(item: JsonObject, kind: str, path: str) -> Iterator[RuleBreach]:
    value, place = item.get("id"), f"{path}.id"
    if value is None:
        return
    if not isinstance(value, str):
        yield RuleBreach("responses.field-type", place, {"expected": "a string", "given": kind_of(value)})
    elif not NAME.fullmatch(value):
        yield RuleBreach("responses.id-characters", place, {"id": value})
    elif len(value) > _LONGEST:
        yield RuleBreach("responses.text-long", place, {"limit": _LONGEST, "length": len(value)})
    elif not value.startswith(_PREFIXES.get(kind, "")):
        yield RuleBreach("responses.id-prefix", place, {"id": value, "prefix": _PREFIXES[kind]})


def _check_content(case: ResponsesCase, item: JsonObject, kind: str, path: str) -> Iterator[RuleBreach]:
    match kind:
        case "message":
            role = item.get("role")
            if role != "assistant" and item.get("phase") is not None:
                yield RuleBreach("responses.item-field-unknown", f"{path}.phase")
            allowed = _OUTPUT_PARTS if role == "assistant" else _INPUT_PARTS
            yield from _check_parts(item.get("content"), f"{path}.content", allowed)
        case "reasoning":
            yield from _check_reasoning(item, path)
        case "function_call":
            yield from _check_call(case, item, path, "arguments")
        case "custom_tool_call":
            yield from _check_call(case, item, path, "input")
        case "function_call_output" | "custom_tool_call_output":
            yield from _check_parts(item.get("output"), f"{path}.output", _RESULT_PARTS)
        case "additional_tools":
            yield from tools.check_each(as_list(item.get("tools")), f"{path}.tools")
        case _:
            pass


def _check_parts(content: JsonValue, path: str, allowed: tuple[str, ...]) -> Iterator[RuleBreach]:
    if content is None or isinstance(content, str):
        return
    if not isinstance(content, list):
        names = {"expected": "one of a string or array of objects", "given": kind_of(content)}
        yield RuleBreach("responses.field-type", path, names)
        return
    for number, each in enumerate(content):
        part, place = as_dict(each), f"{path}.{number}"
        kind = as_str(part.get("type"))
        if kind not in _PARTS:
            yield RuleBreach("responses.part-type", f"{place}.type", {"given": kind, "values": quoted(_PARTS)})
        elif kind not in allowed:
            yield RuleBreach("responses.part-type", place, {"given": kind, "values": quoted(allowed)})
        elif part.get(needed := _NEEDED.get(kind, "type")) is None:
            yield RuleBreach("responses.field-missing", f"{place}.{needed}")


def _check_reasoning(item: JsonObject, path: str) -> Iterator[RuleBreach]:
    for name, kind in (("summary", "summary_text"), ("content", "reasoning_text")):
        value = item.get(name)
        if value is not None and not isinstance(value, list):
            names = {"expected": "an array of objects", "given": kind_of(value)}
            yield RuleBreach("responses.field-type", f"{path}.{name}", names)
        for number, each in enumerate(as_list(value)):
            given = as_str(as_dict(each).get("type"))
            if given != kind:
                names = {"given": given, "values": quoted((kind,))}
                yield RuleBreach("responses.part-type", f"{path}.{name}.{number}", names)
    blob = item.get("encrypted_content")
    if blob is not None and not isinstance(blob, str):
        names = {"expected": "a string", "given": kind_of(blob)}
        yield RuleBreach("responses.field-type", f"{path}.encrypted_content", names)


def _check_call(case: ResponsesCase, item: JsonObject, path: str, field: str) -> Iterator[RuleBreach]:
    """A name that the model itself gave to this call is right, whatever it is."""
    name, value, given = item.get("name"), item.get(field), case.memory.find(case.account, item)
    if given is not None and given.item.get("name") == name:
        pass
    elif isinstance(name, str) and not NAME.fullmatch(name):
        yield RuleBreach("responses.name-pattern" if name else "responses.text-empty", f"{path}.name")
    elif isinstance(name, str) and len(name) > _LONGEST:
        yield RuleBreach("responses.text-long", f"{path}.name", {"limit": _LONGEST, "length": len(name)})
    if value is not None and not isinstance(value, str):
        yield RuleBreach("responses.field-type", f"{path}.{field}", {"expected": "a string", "given": kind_of(value)})


def check_ids(case: ResponsesCase) -> Iterator[RuleBreach]:
    """No id may stand on two items."""
    seen: set[str] = set()
    for each in case.items:
        if each.id and each.id in seen:
            yield RuleBreach("responses.item-repeated", each.path, {"id": each.id})
        seen.add(each.id)


def check_trigger(case: ResponsesCase) -> Iterator[RuleBreach]:
    """Nothing may follow a compaction_trigger."""
    for each in case.items[:-1]:
        if each.kind == "compaction_trigger":
            yield RuleBreach("responses.trigger-place", each.path)


def check_pairs(case: ResponsesCase) -> Iterator[RuleBreach]:
    """Every output has a call of its kind before it, and every call an output behind it. Other items may be between."""
    open_calls: dict[tuple[str, str], PlacedItem] = {}
    called: set[tuple[str, str]] = set()
    for each in case.items:
        id_ = as_str(each.item.get("call_id"))
        if each.kind in CALLS:
            open_calls[each.kind, id_] = each
            called.add((each.kind, id_))
        elif (kind := each.kind.removesuffix("_output")) in CALLS and kind != each.kind:
            if (kind, id_) not in called:
                yield RuleBreach("responses.output-orphan", each.path, {"id": id_, "call": CALLS[kind]})
            open_calls.pop((kind, id_), None)
    for (kind, id_), each in open_calls.items():
        yield RuleBreach("responses.call-unanswered", each.path, {"id": id_, "call": CALLS[kind]})


def check_state(case: ResponsesCase) -> Iterator[RuleBreach]:
    """All that is named by an id is there, for this account."""
    body, memory = case.body, case.memory
    conversation, previous = body.get("conversation"), as_str(body.get("previous_response_id"))
    if conversation is not None and previous:
        yield RuleBreach("responses.state-both")
    if conversation is not None:
        id_ = as_str(as_dict(conversation).get("id")) or as_str(conversation)
        yield RuleBreach("responses.conversation-unknown", "conversation", {"id": id_})
    if previous and (not case.vendor.stores or memory.kept(case.account, previous) is None):
        yield RuleBreach("responses.previous-unknown", "previous_response_id", {"id": previous})
    for each in case.sent:
        if each.kind != "item_reference" or (case.vendor.stores and memory.kept_item(case.account, each.id) is not None):
            continue
        rule = "reference-lost" if memory.given(case.account, each.id) is not None else "reference-unknown"
        yield RuleBreach(f"responses.{rule}", each.path, {"id": each.id})
    if not case.items and not body.get("prompt"):
        yield RuleBreach("responses.input-empty", "input")

"""A Responses request as one of the Messages API, which scripts and the model read: what was asked, offered and answered.

Items that the model made in a row are one message of the assistant, outputs in a row one message of results. A user's text
right after results joins them, since it does not open a new turn. A custom tool becomes one with a single text field.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from clew.model.json import JsonObject, JsonValue
from clew.simulator.openai_responses.judge.case import OfferedTool, PlacedItem, ResponsesCase
from clew.simulator.values import as_dict, as_list, as_str

DEFAULT_LIMIT: Final = 4096
_CHOICES: Final[Mapping[str, str]] = {"none": "none", "auto": "auto", "required": "any"}
_FREEFORM: Final[Mapping[str, str]] = {
    "exec": "text('hello')",
    "apply_patch": "*** Begin Patch\n*** Add File: hello.txt\n+hello\n*** End Patch\n",
}
"""What the model writes for custom tools with a language of their own."""


def messages_request(case: ResponsesCase) -> JsonObject:
    """The request for the model."""
    limit = case.body.get("max_output_tokens")
    request: JsonObject = {
        "model": case.model,
        "max_tokens": limit if isinstance(limit, int) else DEFAULT_LIMIT,
        "messages": _messages(case.items),
        "tools": [{"name": name, "input_schema": _schema(tool)} for name, tool in case.tools.items()],
    }
    choice, schema = _tool_choice(case), as_dict(as_dict(case.body.get("text")).get("format")).get("schema")
    if choice:
        request["tool_choice"] = choice
    if isinstance(schema, dict):
        request["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    return request


def _messages(items: tuple[PlacedItem, ...]) -> list[JsonValue]:
    messages: list[JsonValue] = []
    last = ""
    for each in items:
        role, block = _role(each), _blocks(each)
        if messages and role == last and role in ("assistant", "results"):
            as_list(as_dict(messages[-1])["content"]).extend(block)
        elif last == "results" and role == "user":
            as_list(as_dict(messages[-1])["content"]).extend(block)
            continue
        elif role:
            messages.append({"role": "user" if role == "results" else role, "content": block})
        last = role or last
    return messages


def _role(each: PlacedItem) -> str:
    """ "" for items that say nothing to the model."""
    if each.is_models and each.kind != "compaction":
        return "assistant"
    if each.kind.endswith("_output"):
        return "results"
    if each.kind == "message":
        return "user" if each.item.get("role") == "user" else "system"
    return ""


def _blocks(each: PlacedItem) -> list[JsonValue]:
    if each.kind.endswith("_output"):
        return [{"type": "tool_result", "content": _texts(each.item.get("output"))}]
    if each.kind == "message":
        return _texts(each.item.get("content"))
    return [{"type": "tool_use", "id": each.item.get("call_id")}] if "call_id" in each.item else []


def _texts(content: JsonValue) -> list[JsonValue]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    parts = (as_dict(part) for part in as_list(content))
    return [{"type": "text", "text": part.get("text")} for part in parts if isinstance(part.get("text"), str)]


def _schema(tool: OfferedTool) -> JsonObject:
    if tool.kind == "function":
        return as_dict(tool.tool.get("parameters")) or {"type": "object"}
    written: JsonObject = {"type": "string", "default": _FREEFORM.get(tool.name, "hello")}
    return {"type": "object", "properties": {"input": written}, "required": ["input"]}


def _tool_choice(case: ResponsesCase) -> JsonObject:
    given = case.body.get("tool_choice")
    single: JsonObject = {"disable_parallel_tool_use": True} if case.body.get("parallel_tool_calls") is False else {}
    if isinstance(given, str):
        return {"type": _CHOICES.get(given, "auto"), **single}
    choice = as_dict(given)
    wanted = as_str(choice.get("name"))
    name = next((name for name, tool in case.tools.items() if tool.name == wanted), "") if wanted else ""
    if name:
        return {"type": "tool", "name": name, **single}
    if choice.get("mode") == "required":
        return {"type": "any", **single}
    return {"type": "auto", **single} if single else {}

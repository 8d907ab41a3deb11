"""A Responses request as one of the Messages API, which scripts and the model read: what was asked, offered and answered.

Items that the model made in a row are one message of the assistant, outputs in a row one message of results. A user's text
right after results joins them, since it does not open a new turn. A custom tool becomes one with a single text field.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from clew.model.json import JsonObject, JsonValue
from clew.simulator.openai_model import model_request, text_blocks
from clew.simulator.openai_responses.judge.case import OfferedTool, PlacedItem, ResponsesCase
from clew.simulator.values import as_dict, as_list, as_str

_FREEFORM: Final[Mapping[str, str]] = {
    "exec": "text('hello')",
    "apply_patch": "*** Begin Patch\n*** Add File: hello.txt\n+hello\n*** End Patch\n",
}
"""What the model writes for custom tools with a language of their own."""


def request_of(case: ResponsesCase) -> JsonObject:
    """The request in the form that the model takes."""
    body, wanted = case.body, as_str(as_dict(case.body.get("tool_choice")).get("name"))
    return model_request(
        body,
        model=case.model,
        limit=body.get("max_output_tokens"),
        messages=_messages(case.items),
        tools=[(name, _schema(tool)) for name, tool in case.tools.items()],
        chosen=next((name for name, tool in case.tools.items() if tool.name == wanted), "") if wanted else "",
        schema=as_dict(as_dict(body.get("text")).get("format")).get("schema"),
    )


def _messages(items: tuple[PlacedItem, ...]) -> list[JsonValue]:
    messages: list[JsonValue] = []
    last = ""
    for each in items:
        content: list[JsonValue] = []
        if each.kind.endswith("_output"):
            content = [{"type": "tool_result", "content": text_blocks(each.item.get("output"))}]
        elif each.kind == "message":
            content = text_blocks(each.item.get("content"))
        elif "call_id" in each.item:
            content = [{"type": "tool_use", "id": each.item.get("call_id")}]
        role = _role(each)
        if messages and role == last and role in ("assistant", "results"):
            as_list(as_dict(messages[-1])["content"]).extend(content)
        elif last == "results" and role == "user":
            as_list(as_dict(messages[-1])["content"]).extend(content)
            continue
        elif role:
            messages.append({"role": "user" if role == "results" else role, "content": content})
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


def _schema(tool: OfferedTool) -> JsonObject:
    if tool.kind == "function":
        return as_dict(tool.tool.get("parameters"))
    written: JsonObject = {"type": "string", "default": _FREEFORM.get(tool.name, "hello")}
    return {"type": "object", "properties": {"input": written}, "required": ["input"]}

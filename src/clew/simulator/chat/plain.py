"""A chat request in the words of the built-in model, which reads the Anthropic form: what was asked, offered, answered.

Only so that one script and one improviser serve both dialects; nothing here decides what is legal. Tool messages become
results in a user message, and a user's words right after them join it, for they do not open a new exchange.
"""

from __future__ import annotations

from typing import Final

from clew.model.json import JsonObject, JsonValue
from clew.simulator.chat.case import ChatCase, Place, calls_of, text_of
from clew.simulator.values import as_dict, as_list, as_str

__all__ = ["answer_cap", "plain"]

_DEFAULT_CAP: Final = 4096
_CHOICES: Final[dict[str, str]] = {"none": "none", "auto": "auto", "required": "any", "any": "any"}


def plain(case: ChatCase) -> JsonObject:
    """The request as the built-in model reads it."""
    request: JsonObject = {
        "model": case.model,
        "max_tokens": answer_cap(case.body) or _DEFAULT_CAP,
        "messages": _messages(case.messages),
        "tools": [_tool(as_dict(tool)) for tool in as_list(case.body.get("tools"))],
        "stop_sequences": _stops(case.body.get("stop")),
    }
    choice = _choice(case.body)
    schema = as_dict(as_dict(case.body.get("response_format")).get("json_schema")).get("schema")
    if choice:
        request["tool_choice"] = choice
    if isinstance(schema, dict):
        request["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    return request


def answer_cap(body: JsonObject) -> int:
    """How many tokens the answer may have; 0 if the request does not say."""
    given = body.get("max_completion_tokens") or body.get("max_tokens")
    return given if isinstance(given, int) and not isinstance(given, bool) else 0


def _messages(places: tuple[Place, ...]) -> list[JsonValue]:
    said: list[JsonValue] = []
    in_results = False
    for place in places:
        message = _message(place)
        if in_results and message["role"] == "user":
            as_list(as_dict(said[-1])["content"]).extend(as_list(message["content"]))
            continue
        in_results = place.role == "tool"
        said.append(message)
    return said


def _message(place: Place) -> JsonObject:
    content = place.message.get("content")
    match place.role:
        case "tool":
            result: JsonObject = {"type": "tool_result", "content": text_of(content)}
            return {"role": "user", "content": [result]}
        case "assistant":
            calls: list[JsonValue] = [{"type": "tool_use", "id": call.get("id")} for call in calls_of(place.message)]
            return {"role": "assistant", "content": [*_texts(content), *calls]}
        case "user":
            return {"role": "user", "content": _texts(content)}
        case _:
            return {"role": "system", "content": _texts(content)}


def _texts(content: JsonValue) -> list[JsonValue]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [{"type": "text", "text": as_dict(part).get("text")} for part in as_list(content) if "text" in as_dict(part)]


def _tool(tool: JsonObject) -> JsonObject:
    function = as_dict(tool.get("function"))
    schema = function.get("parameters")
    return {"name": function.get("name"), "input_schema": schema if isinstance(schema, dict) else {"type": "object"}}


def _choice(body: JsonObject) -> JsonObject:
    given = body.get("tool_choice")
    single: JsonObject = {"disable_parallel_tool_use": True} if body.get("parallel_tool_calls") is False else {}
    if isinstance(given, str):
        return {"type": _CHOICES.get(given, "auto"), **single}
    name = as_str(as_dict(as_dict(given).get("function")).get("name"))
    if name:
        return {"type": "tool", "name": name, **single}
    return {"type": "auto", **single} if single else {}


def _stops(stop: JsonValue) -> list[JsonValue]:
    return [stop] if isinstance(stop, str) else as_list(stop)

"""A client's request as the canonical request: parameters, tools, and the messages (`message_reader`).

The canonical document is built in the Messages API's shapes and then read like any other, so that every step works on it.
What would be answered wrongly without a field is refused with its path. A field that only tunes the answer or serves the
vendor's own bookkeeping has no canonical counterpart; `unread_fields` names each, so that nothing is dropped silently.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Raw

from clew.dialects.openai.fields import (
    BOOLEAN,
    INTEGER,
    NUMBER,
    OBJECT,
    OBJECTS,
    STRING,
    STRINGS,
    Canonical,
    RawObject,
    RequestChanges,
    invalid,
)
from clew.dialects.openai_chat.detail import ChatDetail
from clew.dialects.openai_chat.message_reader import read_messages
from clew.dialects.shape import ClientHeaders
from clew.errors import BodyTooLarge, RequestInvalid
from clew.model.change import Change
from clew.model.request import ALWAYS, NativeRequest, Request, Wanted
from clew.wire.requests import MAX_BYTES, parse
from clew.wire.strict_json import decode_json

STEP: Final = "openai_chat"
NO_WORDS: Final = "Chat Completions has no field for it"

NAME: Final = "openai-chat"
HIGHEST_TEMPERATURE: Final = 1
NO_PLACE = "the canonical request has no place for it"
CAPPED = "a temperature is at most 1"

_READ: Final = frozenset(
    {"model", "messages", "tools", "tool_choice", "parallel_tool_calls", "functions", "function_call", "max_tokens"}
    | {"max_completion_tokens", "temperature", "top_p", "top_k", "stop", "stream", "stream_options", "response_format"}
    | {"reasoning_effort", "reasoning", "user", "safety_identifier", "n"}
)
_CHOICES: Final = {"auto": "auto", "none": "none", "required": "any"}
_ANY_OBJECT: Final = Raw(b'{"type":"object","properties":{}}')


def read_request(raw: bytes, headers: ClientHeaders, wanted: Wanted = ALWAYS) -> Request:
    """Raises RequestInvalid with a JSON path, BodyTooLarge, and NotWanted."""
    parameters = _parameters(raw)
    count = parameters.value("n", INTEGER)
    if count is not None and count != 1:
        raise invalid("n", "it must be 1: there is one answer to a request")
    system, messages = read_messages(parameters)
    document: Canonical = {"model": parameters.string("model")}
    if system:
        document["system"] = system
    document["messages"] = messages
    document |= _tools(parameters) | _limits(parameters) | _thinking(parameters)
    wanted.check()
    request = parse(msgspec.json.encode(document), wanted=wanted)
    request.source.native = NativeRequest(dialect=NAME, raw=raw, detail=_detail(parameters), changes=unread_fields(raw))
    return request


def _detail(parameters: RawObject) -> ChatDetail:
    return ChatDetail(include_usage=bool(parameters.object("stream_options").value("include_usage", BOOLEAN)))


def unread_fields(raw: bytes) -> tuple[Change, ...]:
    """What of a client's request is not in the canonical one, or is altered there. Raises RequestInvalid."""
    parameters, changes = _parameters(raw), RequestChanges(STEP, NO_WORDS)
    for name, value in parameters.fields.items():
        if name not in _READ and value != Raw(b"null"):
            changes.leave_out(name, NO_PLACE)
    if (parameters.value("temperature", NUMBER) or 0) > HIGHEST_TEMPERATURE:
        changes.add("temperature", "set", CAPPED)
    for index, fields in enumerate(parameters.value("messages", OBJECTS) or []):
        if RawObject("", fields).value("name", STRING):
            changes.add_to_group("name", f"messages.{index}.name", "left out", NO_PLACE)
    return changes.all()


def _parameters(raw: bytes) -> RawObject:
    if len(raw) > MAX_BYTES:
        raise BodyTooLarge(f"the request body has {len(raw)} bytes, more than the {MAX_BYTES} allowed")
    try:
        return RawObject("", OBJECT.decode(raw))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        decode_json(raw)  # raises with line and column where the bytes are no JSON at all
        raise RequestInvalid("the request body must be a JSON object") from None


def _tools(parameters: RawObject) -> Canonical:
    tools: list[Canonical] = []
    for at, each in enumerate(parameters.value("tools", OBJECTS) or []):
        tool = RawObject(f"tools.{at}", each)
        if tool.type != "function":
            raise invalid(f"{tool.path}.type", f"a tool of type {tool.type!r} cannot be passed on: only functions can")
        tools.append(_function(tool.object("function")))
    legacy = enumerate(parameters.value("functions", OBJECTS) or [])
    tools += [_function(RawObject(f"functions.{at}", each)) for at, each in legacy]
    if not tools:
        return {}
    choice = _tool_choice(parameters)
    if parameters.value("parallel_tool_calls", BOOLEAN) is False and (choice or {}).get("type") != "none":
        choice = {**(choice or {"type": "auto"}), "disable_parallel_tool_use": True}
    found: Canonical = {"tools": tools}
    if choice:
        found["tool_choice"] = choice
    return found


def _function(function: RawObject) -> Canonical:
    name = function.string("name")
    if not name:
        raise invalid(f"{function.path}.name", "Field required")
    tool: Canonical = {"name": name}
    if description := function.string("description"):
        tool["description"] = description
    tool["input_schema"] = function.fields["parameters"] if function.value("parameters", OBJECT) else _ANY_OBJECT
    if function.value("strict", BOOLEAN):
        tool["strict"] = True
    return tool


def _tool_choice(parameters: RawObject) -> Canonical | None:
    """Of `tool_choice`, or the older `function_call`. Of allowed tools only the mode can be said."""
    name = "tool_choice" if "tool_choice" in parameters.fields else "function_call"
    raw = parameters.fields.get(name)
    if raw is None or raw == Raw(b"null"):
        return None
    if bytes(raw).startswith(b'"'):
        word = parameters.string(name)
        if word not in _CHOICES:
            raise invalid(name, f"there is no choice {word!r}: it is auto, none, required or a named function")
        return {"type": _CHOICES[word]}
    choice = parameters.object(name)
    if choice.type == "allowed_tools":
        raise invalid(name, "a choice among some of the tools cannot be passed on: send only the tools that are allowed")
    named = choice if name == "function_call" else choice.object("function")
    if not named.string("name"):
        raise invalid(f"{named.path}.name", "Field required")
    return {"type": "tool", "name": named.string("name")}


def _limits(parameters: RawObject) -> Canonical:
    """The length of the answer, sampling, stop sequences, its form, streaming, and who asks."""
    fields, found = parameters.fields, Canonical()
    for name in ("max_completion_tokens", "max_tokens"):
        if parameters.value(name, INTEGER) is not None:
            found.setdefault("max_tokens", fields[name])
    temperature = parameters.value("temperature", NUMBER)
    if temperature is not None:
        found["temperature"] = fields["temperature"] if temperature <= HIGHEST_TEMPERATURE else HIGHEST_TEMPERATURE
    found |= {name: fields[name] for name in ("top_p", "top_k") if parameters.value(name, NUMBER) is not None}
    is_one = bytes(fields.get("stop", b"")).startswith(b'"')
    if stops := [parameters.string("stop")] if is_one else parameters.value("stop", STRINGS):
        found["stop_sequences"] = stops
    if (streams := parameters.value("stream", BOOLEAN)) is not None:
        found["stream"] = streams
    if user := parameters.string("user") or parameters.string("safety_identifier"):
        found["metadata"] = {"user_id": user}
    return found


def _thinking(parameters: RawObject) -> Canonical:
    """How much to think, and the form of the answer: both may stand in `output_config`."""
    wish = parameters.object("reasoning")
    effort = parameters.string("reasoning_effort") or wish.string("effort")
    budget, enabled = wish.value("max_tokens", INTEGER), wish.value("enabled", BOOLEAN)
    config: Canonical = {}
    found: Canonical = {}
    if effort == "none" or enabled is False:
        found["thinking"] = {"type": "disabled"}
    elif budget is not None:
        found["thinking"] = {"type": "enabled", "budget_tokens": budget}
    elif effort or enabled:
        found["thinking"] = {"type": "adaptive"}
        config |= {"effort": effort} if effort else {}
    if form := _answer_format(parameters.object("response_format")):
        config["format"] = form
    return found | ({"output_config": config} if config else {})


def _answer_format(form: RawObject) -> Canonical | None:
    match form.type:
        case "" | "text":
            return None
        case "json_object":
            return {"type": "json_schema", "schema": {"type": "object"}}
        case "json_schema":
            described = form.object("json_schema")
            if "schema" not in described.fields:
                raise invalid(f"{described.path}.schema", "Field required")
            return {"type": "json_schema", "schema": described.fields["schema"]}
        case kind:
            raise invalid(
                f"{form.path}.type", f"an answer of type {kind!r} cannot be asked for: text, json_object or json_schema"
            )

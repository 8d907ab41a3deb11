"""A client's request as the canonical request: parameters, tools (`tool_reader`) and messages (`message_reader`).

The canonical document is built in the Messages API's shapes and then read like any other, so that every step works on it.
What would be answered wrongly without a field is refused with its path. A field that only tunes the answer or serves the
vendor's own bookkeeping has no canonical counterpart: it is among the changes of the native request, so that nothing is
dropped silently, and in its detail, for backends that speak this dialect too.
"""

from __future__ import annotations

from typing import Final

import msgspec

from clew.dialects.openai.fields import (
    BOOLEAN,
    INTEGER,
    NUMBER,
    OBJECT,
    STRINGS,
    Canonical,
    RawObject,
    RequestChanges,
    invalid,
    said_in,
)
from clew.dialects.openai_chat.detail import ChatDetail
from clew.dialects.openai_chat.message_reader import MessageReader
from clew.dialects.openai_chat.tool_reader import custom_names, read_tools
from clew.dialects.shape import ClientHeaders
from clew.errors import BodyTooLarge, RequestInvalid
from clew.model.request import ALWAYS, NativeRequest, Request, Wanted
from clew.wire.requests import MAX_BYTES, parse
from clew.wire.strict_json import decode_json

NAME: Final = "openai-chat"
STEP: Final = "openai_chat"
NO_WORDS: Final = "Chat Completions has no field for it"
NO_PLACE: Final = "the Messages API has no field for it"
CAPPED: Final = "the Messages API allows a temperature of at most 1"
ANY_JSON: Final = "the Messages API has JSON output only with a schema; the prompt must ask for JSON"
LENGTH_GIVEN: Final = "max_completion_tokens is used instead"
USER_GIVEN: Final = "user is used instead"
HIGHEST_TEMPERATURE: Final = 1

_READ: Final = frozenset(
    {"model", "messages", "tools", "tool_choice", "parallel_tool_calls", "functions", "function_call", "max_tokens"}
    | {"max_completion_tokens", "temperature", "top_p", "top_k", "stop", "stream", "stream_options", "response_format"}
    | {"reasoning_effort", "reasoning", "thinking", "user", "safety_identifier", "n"}
)
SCHEMA_NAMES: Final = ("name", "description")
_REASONING: Final = frozenset({"effort", "max_tokens", "enabled", "summary", "generate_summary", "exclude"})


def read_request(raw: bytes, headers: ClientHeaders, wanted: Wanted = ALWAYS) -> Request:
    """Raises RequestInvalid with a JSON path, BodyTooLarge, and NotWanted."""
    parameters, changes = _parameters(raw), RequestChanges(STEP, NO_PLACE)
    count = parameters.value("n", INTEGER)
    if count is not None and count != 1:
        raise invalid("n", "it must be 1: clew gives one answer to a request")
    unread = {name: value for name, value in said_in(parameters.fields).items() if name not in _READ}
    changes.leave_out_unknown("", unread, ())
    if parameters.object("response_format").type == "json_object":
        unread["response_format"] = parameters.fields["response_format"]
    reader = MessageReader(changes)
    reader.read(parameters)
    document: Canonical = {"model": parameters.string("model")}
    if reader.system:
        document["system"] = reader.system
    document["messages"] = reader.messages
    document |= read_tools(parameters, changes) | _limits(parameters, changes) | _thinking(parameters, changes)
    wanted.check()
    request = parse(msgspec.json.encode(document), wanted=wanted)
    options = parameters.object("stream_options")
    changes.leave_out_others(options, {"include_usage"})
    described = said_in(parameters.object("response_format").object("json_schema").fields)
    detail = ChatDetail(
        include_usage=bool(options.value("include_usage", BOOLEAN)),
        has_functions="functions" in parameters.fields and "tools" not in parameters.fields,
        custom_tools=custom_names(parameters),
        places=reader.places,
        schema_names={name: described[name] for name in SCHEMA_NAMES if name in described},
        fields=unread,
    )
    request.source.native = NativeRequest(dialect=NAME, raw=raw, detail=detail, changes=changes.all(), shows_thoughts=True)
    return request


def _parameters(raw: bytes) -> RawObject:
    if len(raw) > MAX_BYTES:
        raise BodyTooLarge(f"the request body has {len(raw)} bytes, more than the {MAX_BYTES} allowed")
    try:
        return RawObject("", OBJECT.decode(raw))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        decode_json(raw)  # raises with line and column where the bytes are no JSON at all
        raise RequestInvalid("the request body must be a JSON object") from None


def _limits(parameters: RawObject, changes: RequestChanges) -> Canonical:
    """The length of the answer, sampling, stop sequences, streaming, and who asks."""
    fields, found = parameters.fields, Canonical()
    for name in ("max_completion_tokens", "max_tokens"):
        if parameters.value(name, INTEGER) is not None and fields[name] != found.setdefault("max_tokens", fields[name]):
            changes.leave_out(name, LENGTH_GIVEN)
    temperature = parameters.value("temperature", NUMBER)
    if temperature is not None:
        found["temperature"] = fields["temperature"] if temperature <= HIGHEST_TEMPERATURE else HIGHEST_TEMPERATURE
        if temperature > HIGHEST_TEMPERATURE:
            changes.add("temperature", "set", CAPPED)
    found |= {name: fields[name] for name in ("top_p", "top_k") if parameters.value(name, NUMBER) is not None}
    is_one = bytes(fields.get("stop", b"")).startswith(b'"')
    if stops := [parameters.string("stop")] if is_one else parameters.value("stop", STRINGS):
        found["stop_sequences"] = stops
    if (streams := parameters.value("stream", BOOLEAN)) is not None:
        found["stream"] = streams
    if user := parameters.string("user") or parameters.string("safety_identifier"):
        found["metadata"] = {"user_id": user}
        if parameters.string("safety_identifier") not in ("", user):
            changes.leave_out("safety_identifier", USER_GIVEN)
    return found


def _thinking(parameters: RawObject, changes: RequestChanges) -> Canonical:
    """How much to think, and the form of the answer: both may stand in `output_config`. Where a client sends the Messages
    API's own `thinking`, as Anthropic's layer for clients of OpenAI takes it, that is what counts."""
    wish, own = parameters.object("reasoning"), parameters.object("thinking")
    changes.leave_out_others(wish, _REASONING)
    effort = parameters.string("reasoning_effort") or wish.string("effort")
    shows, hides = wish.string("summary") or wish.string("generate_summary"), wish.value("exclude", BOOLEAN)
    thinking: Canonical = {**own.fields, "type": own.type} if own.fields else _wished_thinking(wish, effort)
    if own.type == "enabled" and "budget_tokens" not in own.fields:  # as DeepSeek and others have it
        thinking["type"] = "adaptive"
    if (shows or hides) and thinking.get("type") != "disabled":
        thinking = {"type": "adaptive", **thinking, "display": "omitted" if hides else "summarized"}
    config: Canonical = {"effort": effort} if effort and thinking.get("type") == "adaptive" else {}
    if form := _answer_format(parameters.object("response_format"), changes):
        config["format"] = form
    found: Canonical = {"thinking": thinking} if thinking else {}
    return {**found, "output_config": config} if config else found


def _wished_thinking(wish: RawObject, effort: str) -> Canonical:
    budget, enabled = wish.value("max_tokens", INTEGER), wish.value("enabled", BOOLEAN)
    if effort == "none" or enabled is False:
        return {"type": "disabled"}
    if budget is not None:
        return {"type": "enabled", "budget_tokens": budget}
    return {"type": "adaptive"} if effort or enabled else {}


def _answer_format(form: RawObject, changes: RequestChanges) -> Canonical | None:
    match form.type:
        case "" | "text":
            return None
        case "json_object":  # a schema of any object is none that Claude takes
            changes.leave_out(form.path, ANY_JSON)
            return None
        case "json_schema":
            described = form.object("json_schema")
            if "schema" not in described.fields:
                raise invalid(f"{described.path}.schema", "Field required")
            changes.leave_out_others(described, {"schema", "strict"})
            return {"type": "json_schema", "schema": described.fields["schema"]}
        case kind:
            raise invalid(
                f"{form.path}.type", f"an answer of type {kind!r} is not supported: use text, json_object or json_schema"
            )

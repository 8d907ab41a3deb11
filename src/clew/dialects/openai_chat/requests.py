"""Requests of Chat Completions, written for backends: the body, and its small fields.

Writing is pure: the same request and options always give the same bytes, and a request that goes on from another has
messages that go on from its messages. What cannot be said is left out or altered with a `Change`, if the conversation can
do without; otherwise the request is refused with `Unrepresentable`, before anything is sent.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, cast

import msgspec
from msgspec import Raw

from clew.dialects.openai.effort import effort_fields, effort_wish, merged, with_thinking_off
from clew.dialects.openai.fields import BOOLEAN, INTEGER, STRINGS, RawObject, RawRequest, RequestChanges, read_raw
from clew.dialects.openai.parameters import (
    answer_schema,
    is_forced,
    is_strict,
    refuse_server_tools,
    tool_name,
    tools_to_send,
    user_field,
    write_tool_choice,
)
from clew.dialects.openai.schemas import ANY_OBJECT, schema_to_send
from clew.dialects.openai_chat.detail import chat_detail
from clew.dialects.openai_chat.options import ChatOptions, ChatRequestOptions
from clew.dialects.openai_chat.request_messages import write_messages
from clew.dialects.openai_chat.request_reader import NAME, NO_WORDS, SCHEMA_NAMES, STEP, read_request
from clew.dialects.shape import ClientHeaders, ClientSession, Operation, WrittenRequest
from clew.model.change import Change
from clew.model.json import JsonObject
from clew.model.request import NativeRequest, Request

TOO_MANY = "this backend accepts fewer stop sequences"
AT_MOST = "this backend allows at most {} tokens for an answer"
NO_TOP_K = "this backend has no top_k"


def max_tokens_of(parameters: RawObject, options: ChatRequestOptions) -> int | None:
    """As many as the client asks for, or as the backend can say."""
    given = parameters.value("max_tokens", INTEGER)
    return given if given is None or not options.most_tokens else min(given, options.most_tokens)


def sampling(parameters: RawObject, options: ChatRequestOptions, changes: RequestChanges) -> dict[str, object]:
    """Limits and sampling, each number as the client wrote it."""
    fields = parameters.fields
    sent: dict[str, object] = {options.max_tokens: fields["max_tokens"]} if "max_tokens" in fields else {}
    most = max_tokens_of(parameters, options) if options.most_tokens else None
    if most is not None and bytes(fields["max_tokens"]) != str(most).encode():
        sent[options.max_tokens] = most
        changes.add("max_tokens", "replaced", AT_MOST.format(most))
    sent |= {name: fields[name] for name in ("temperature", "top_p") if name in fields}
    if "top_k" in fields and not options.top_k:
        changes.leave_out("top_k", NO_TOP_K)
    elif "top_k" in fields:
        sent["top_k"] = fields["top_k"]
    return sent


def stop_sequences(parameters: RawObject, options: ChatRequestOptions, changes: RequestChanges) -> dict[str, object]:
    given = parameters.value("stop_sequences", STRINGS) or []
    for index in range(options.stops, len(given)):
        changes.leave_out(f"stop_sequences.{index}", TOO_MANY)
    return {"stop": given[: options.stops]} if given[: options.stops] else {}


def stream_fields(parameters: RawObject, options: ChatRequestOptions) -> dict[str, object]:
    """A stream reports its usage only if asked to."""
    if not parameters.value("stream", BOOLEAN):
        return {}
    if not options.stream_usage:
        return {"stream": True}
    return {"stream": True, "stream_options": {"include_usage": True}}


def _one_tool(name: str) -> dict[str, object]:
    return {"type": "function", "function": {"name": name}}


def answer_format(
    parameters: RawObject, options: ChatRequestOptions, changes: RequestChanges, names: Mapping[str, Raw]
) -> dict[str, object]:
    """The schema that the answer must fit, with the names that a client of this dialect gives it."""
    found = answer_schema(parameters, options, changes)
    if found is None:
        return {}
    if found == "json_object":
        return {"response_format": {"type": "json_object"}}
    return {"response_format": {"type": "json_schema", "json_schema": {**found, **names}}}


__all__ = ["read_request", "write_request"]

REFUSED = "this backend refuses the field"
BETAS = "a header of Anthropic's: "

_KNOWN: Final = frozenset(
    {"model", "system", "tools", "tool_choice", "max_tokens", "thinking", "output_config", "temperature", "top_p", "top_k"}
    | {"stop_sequences", "stream", "metadata", "mcp_servers"}
)
_UNREADABLE: Final = frozenset({"logprobs", "top_logprobs", "audio", "modalities"})
"""Fields of a client that ask for more than words, calls and thoughts."""
_CLIENT_NAMES: Final = {
    "max_completion_tokens": "max_tokens",
    "parallel_tool_calls": "tool_choice.disable_parallel_tool_use",
    "response_format": "output_config.format",
    "stop": "stop_sequences",
    "stream_options": "stream",
    "user": "metadata.user_id",
}
"""What the client calls a field that has another name here."""


def write_request(request: Request, options: ChatOptions) -> WrittenRequest:
    """The request in this backend's words. Raises Unrepresentable, or RequestInvalid with a path."""
    given, changes, wanted = read_raw(request), RequestChanges(STEP, NO_WORDS), options.request
    parameters = given.parameters
    request.source.wanted.check()
    refuse_server_tools(parameters)
    changes.leave_out_unknown("", parameters.fields, _KNOWN)
    if request.betas:
        changes.leave_out("anthropic-beta", BETAS + ", ".join(request.betas))
    messages, lost = write_messages(given, wanted, changes)
    tools = write_tools(given, wanted, changes)
    forced = bool(tools) and is_forced(parameters)
    wish = with_thinking_off(effort_wish(given, changes), lost=lost, forced=forced, options=wanted, changes=changes)
    effort = effort_fields(wish, max_tokens_of(parameters, wanted), wanted, changes)
    free = forced and wanted.forced != "as asked" and effort.thinks is not False
    fields: dict[str, object] = {"model": request.body.model, "messages": messages}
    fields |= tools | write_tool_choice(parameters, _one_tool if tools else None, free, wanted, changes)
    fields |= sampling(parameters, wanted, changes) | stop_sequences(parameters, wanted, changes)
    fields |= answer_format(parameters, wanted, changes, chat_detail(request.source.native).schema_names)
    fields |= user_field(parameters, wanted, changes)
    fields |= stream_fields(parameters, wanted)
    body = merged(cast("JsonObject", fields), merged(wanted.always, effort.fields))
    for name in body:
        if name in wanted.drop:
            changes.leave_out(_CLIENT_NAMES.get(name, name), REFUSED)
    sent = {name: value for name, value in body.items() if name not in wanted.drop}
    passed, unread = _passed_fields(request.source.native, {*sent, *wanted.drop})
    return WrittenRequest(msgspec.json.encode({**sent, **passed}), (*unread, *changes.all()))


def _passed_fields(native: NativeRequest | None, taken: Collection[str]) -> tuple[Mapping[str, Raw], tuple[Change, ...]]:
    """Of a client that speaks this dialect: the fields that have no canonical form and pass as they came; and what of its
    request went no further. What would alter the answer beyond the words of a canonical one does not pass."""
    if native is None or native.dialect != NAME:
        return {}, ()
    fields = chat_detail(native).fields
    passed = {name: value for name, value in fields.items() if name not in taken and name not in _UNREADABLE}
    told = {*passed, *[f"response_format.json_schema.{name}" for name in SCHEMA_NAMES if "response_format" in taken]}
    return passed, tuple(change for change in native.changes if change.path not in told)


# Tools.


def write_tools(given: RawRequest, options: ChatRequestOptions, changes: RequestChanges) -> dict[str, object]:
    """The `tools` of the body; no such key if there are none."""
    sent: list[dict[str, object]] = []
    for tool in tools_to_send(given, changes):
        changes.leave_out_unknown(tool.path, tool.fields, {"type", "name", "description", "input_schema", "strict"})
        function: dict[str, object] = {"name": tool_name(tool.string("name"), f"{tool.path}.name", changes)}
        if description := tool.string("description"):
            function["description"] = description
        schema, path = tool.fields.get("input_schema", ANY_OBJECT), f"{tool.path}.input_schema"
        if parameters := schema_to_send(schema, path, options.validator, changes):
            function["parameters"] = parameters
        if is_strict(tool, schema, options, changes):
            function["strict"] = True
        sent.append({"type": "function", "function": function})
    return {"tools": sent} if sent else {}


# Paths, and headers of requests: what clients ask, and what goes to backends.


ROUTES: Final[Mapping[str, Operation]] = {"/v1/chat/completions": "messages", "/chat/completions": "messages"}
"""The second for clients whose base URL is meant to end in `/v1`, and does not."""
PATHS: Final[Mapping[Operation, str]] = {"messages": "/chat/completions"}
_SESSIONS: Final = ("x-session-id", "x-session-affinity")
"""What clients call their conversation: opencode, and others after it."""


def session_of(headers: ClientHeaders) -> ClientSession:
    return ClientSession(next((value for name in _SESSIONS if (value := headers.get(name))), ""))


def request_headers(headers: ClientHeaders, request: Request, options: ChatOptions) -> tuple[tuple[bytes, bytes], ...]:
    """None of the client's own: they are about another vendor's versions and betas."""
    return ((b"user-agent", b"clew"),)

"""Requests of Chat Completions: read from clients, and written for backends.

Writing is pure: the same request and options always give the same bytes, and a request that goes on from another has
messages that go on from its messages. What cannot be said is left out or altered with a `Change`, if the conversation can
do without; otherwise the request is refused with `Unrepresentable`, before anything is sent.
"""

from __future__ import annotations

from typing import Final, cast

import msgspec

from clew.dialects.openai_chat.options import ChatOptions, ChatRequestOptions
from clew.dialects.openai_chat.request_effort import effort_fields, effort_wish, merged, with_thinking_off
from clew.dialects.openai_chat.request_fields import RawRequest, RequestChanges, read_raw
from clew.dialects.openai_chat.request_messages import write_messages
from clew.dialects.openai_chat.request_reader import read_request, unread_fields, wants_usage
from clew.dialects.openai_chat.request_sampling import (
    answer_format,
    max_tokens_of,
    sampling,
    stop_sequences,
    stream_fields,
    user_fields,
)
from clew.dialects.openai_chat.request_tools import is_forced, refuse_server_tools, tool_choice, write_tools
from clew.dialects.shape import WrittenRequest
from clew.model.json import JsonObject
from clew.model.request import Request

__all__ = ["read_request", "unread_fields", "wants_usage", "write_request"]

REFUSED = "this backend refuses the field"
BETAS = "a header of Anthropic's: "

_KNOWN: Final = frozenset(
    {"model", "system", "tools", "tool_choice", "max_tokens", "thinking", "output_config", "temperature", "top_p", "top_k"}
    | {"stop_sequences", "stream", "metadata", "mcp_servers"}
)
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
    given, changes, wanted = read_raw(request), RequestChanges(), options.request
    request.source.wanted.check()
    refuse_server_tools(given.parameters)
    changes.leave_out_unknown("", given.parameters.fields, _KNOWN)
    if request.betas:
        changes.leave_out("anthropic-beta", BETAS + ", ".join(request.betas))
    body = _body(request.body.model, given, wanted, changes)
    for name in body:
        if name in wanted.drop:
            changes.leave_out(_CLIENT_NAMES.get(name, name), REFUSED)
    sent = {name: value for name, value in body.items() if name not in wanted.drop}
    return WrittenRequest(msgspec.json.encode(sent), changes.all())


def _body(model: str, given: RawRequest, options: ChatRequestOptions, changes: RequestChanges) -> JsonObject:
    parameters = given.parameters
    messages, lost = write_messages(given, options, changes)
    tools = write_tools(given, options, changes)
    forced = bool(tools) and is_forced(parameters)
    wish = with_thinking_off(effort_wish(given, changes), lost=lost, forced=forced, options=options, changes=changes)
    effort = effort_fields(wish, max_tokens_of(parameters, options), options, changes)
    free = forced and options.forced != "as asked" and effort.thinks is not False
    body: dict[str, object] = {"model": model, "messages": messages}
    body |= tools | tool_choice(parameters, bool(tools), free, options, changes)
    body |= sampling(parameters, options, changes) | stop_sequences(parameters, options, changes)
    body |= answer_format(parameters, options, changes) | user_fields(parameters, options, changes)
    body |= stream_fields(parameters, options)
    return merged(cast("JsonObject", body), merged(options.always, effort.fields))

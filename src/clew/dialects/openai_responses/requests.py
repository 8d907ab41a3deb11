"""Requests of the Responses API, with their paths and headers: written for backends; and those of clients, read.

Writing is pure: the same request and options always give the same bytes, and a request that goes on from another has items
that go on from its items. What cannot be said is left out or altered with a `Change`, if the conversation can do without;
otherwise the request is refused with `Unrepresentable`, before anything is sent.

A client of this dialect gets its own bytes sent: its items where no step touched them, and every field that the canonical
request has no place for. Only what must change is replaced. The backend never keeps the conversation (`store`), and is asked
for what its thoughts are given back with (`include`). Reading is in `request_reader`.

Codex names its conversation by a thread. The threads of its sub-agents are of the same session.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import is_
from typing import Final, cast

import msgspec
from msgspec import Raw, structs

from clew.dialects.openai.effort import EffortFields, effort_fields, effort_wish, merged, with_thinking_off
from clew.dialects.openai.fields import (
    BOOLEAN,
    OBJECT,
    STRINGS,
    RawObject,
    RawRequest,
    RequestChanges,
    decode,
    invalid,
    read_raw,
)
from clew.dialects.openai.parameters import is_forced, refuse_server_tools, user_field, write_tool_choice
from clew.dialects.openai.parts import joined_text, prompt_blocks, schema_words
from clew.dialects.openai_responses.detail import DIALECT_NAME, SYSTEM, detail_of
from clew.dialects.openai_responses.options import ResponsesOptions
from clew.dialects.openai_responses.request_answer_items import message_item
from clew.dialects.openai_responses.request_client_items import ClientItems
from clew.dialects.openai_responses.request_items import InputItemWriter
from clew.dialects.openai_responses.request_parameters import (
    UNKNOWN_KIND,
    answer_format,
    include_field,
    length_field,
    max_tokens_of,
    may_go_as_offered,
    reasoning_field,
    sampling,
    write_tools,
)
from clew.dialects.openai_responses.request_reader import STEP, read_request, read_request_with, references_in
from clew.dialects.shape import ClientHeaders, ClientSession, Operation, WrittenRequest
from clew.model.json import JsonObject, JsonValue
from clew.model.request import Request
from clew.wire.splice import apply, edit_object

__all__ = ["read_request", "read_request_with", "references_in", "write_request"]

NO_WORDS: Final = "the Responses API has no field for it"
REFUSED: Final = "this backend refuses the field"
BETAS: Final = "a header of Anthropic's: "

_KNOWN: Final = frozenset(
    {"model", "system", "tools", "tool_choice", "max_tokens", "thinking", "output_config", "temperature", "top_p", "top_k"}
    | {"stop_sequences", "stream", "metadata", "mcp_servers"}
)
_NOT_PASSED: Final = frozenset({"background", "conversation", "include", "previous_response_id", "prompt", "store"})
"""Fields of a client that are used here."""
_WRITTEN: Final = frozenset(
    {"model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "max_output_tokens", "temperature"}
    | {"top_p", "reasoning", "text", "stream"}
)
"""Fields that are written for every request."""
_any: Final[msgspec.json.Decoder[JsonValue]] = msgspec.json.Decoder()


def write_request(request: Request, options: ResponsesOptions) -> WrittenRequest:
    """The request in this backend's words. Raises Unrepresentable, or RequestInvalid with a path."""
    writer = _RequestWriter(request, options)
    sent = writer.fields()
    for name in sent:
        if name in options.drop:
            writer.changes.leave_out(name, REFUSED)
    sent = {name: value for name, value in sent.items() if name not in options.drop}
    return WrittenRequest(writer.encoded(sent), writer.changes.all())


class _RequestWriter:
    """Writes one request."""

    def __init__(self, request: Request, options: ResponsesOptions) -> None:
        request.source.wanted.check()
        self.changes = RequestChanges(STEP, NO_WORDS)
        self._request = request
        self._options = options
        self._detail = detail_of(request.source.native)
        native = request.source.native
        self._is_own = native is not None and native.dialect == DIALECT_NAME
        self._own: Mapping[str, Raw] = self._detail.fields
        self._as_offered = self._is_own and self._is_untouched("tools") and may_go_as_offered(self._detail, options)
        self._input = InputItemWriter(options, self.changes, self._detail.tools if self._as_offered else {})
        self._client = ClientItems(request, self._detail, ids=options.ids)
        self._passed = self._passed_items() if self._is_own else {}
        """The client's items, by the identity of the message. No other messages need to be read."""
        read = tuple([each for each in request.messages if id(each) not in self._passed])
        self._given = read_raw(request.with_messages(read) if self._passed else request)

    def fields(self) -> dict[str, object]:
        """The fields of the body, in their order."""
        parameters, options, changes = self._given.parameters, self._options, self.changes
        refuse_server_tools(parameters)
        changes.leave_out_unknown("", parameters.fields, _KNOWN)
        if self._request.betas:
            changes.leave_out("anthropic-beta", BETAS + ", ".join(self._request.betas))
        as_offered = self._as_offered
        demand = self._request.source.native.demand if self._request.source.native else None
        if demand is not None and not as_offered:
            raise invalid(demand.path, demand.why)
        items, tools = self._items(), self._tools()
        has_tools = "tools" in parameters.fields
        forced = has_tools and is_forced(parameters)
        effort = self._effort(lost=items.lost, forced=forced)
        free = forced and options.forced != "as asked" and effort.thinks is not False
        if as_offered and self._is_untouched("tool_choice") and not free:
            choice = self._own_field("tool_choice") | self._own_field("parallel_tool_calls")
        else:
            choice = write_tool_choice(parameters, _one_tool if has_tools else None, free, options, changes)
        fields: dict[str, object] = {"model": self._request.body.model, **self._prompt(), "input": items.items}
        fields |= tools | choice | self._length() | self._reasoning(effort) | self._text()
        fields |= self._own_field("stream") or ({"stream": True} if parameters.value("stream", BOOLEAN) else {})
        given = RawObject("", dict(self._own)).value("include", STRINGS) or []
        include = include_field(given, options)
        if not self._is_own or not self._is_untouched("metadata"):
            others = user_field(parameters, options, changes)
        else:  # who asks, and all that the canonical request has no place for
            others = {name: value for name, value in self._own.items() if name not in _WRITTEN | _NOT_PASSED}
        fields |= {"store": False} | ({"include": include} if include else {}) | others
        return cast("dict[str, object]", merged(cast("JsonObject", fields), options.always)) if options.always else fields

    def encoded(self, sent: dict[str, object]) -> bytes:
        """The body: the client's own bytes with what differs, where the client speaks this dialect."""
        native = self._request.source.native
        if native is None or not self._is_own:
            return msgspec.json.encode(sent)
        put = {name: value for name, value in sent.items() if value is not self._own.get(name)}
        items = cast("list[object]", sent.get("input", []))
        is_same = len(items) == len(self._detail.input) and all(map(is_, items, self._detail.input))
        if is_same and self._detail.is_whole:
            put.pop("input", None)
        given = {name: decode(value, _any, name) for name, value in self._own.items() if name in put}
        put = {name: value for name, value in put.items() if name not in given or given[name] != value}
        gone = [name for name, value in self._own.items() if name not in sent and value != Raw(b"null")]
        written = {name: msgspec.json.encode(value) for name, value in put.items()}
        return apply(native.raw, edit_object(native.raw, put=written, drop=gone)) if written or gone else native.raw

    def _is_untouched(self, *names: str) -> bool:
        """Whether these fields are the client's own."""
        body, source = self._request.body, self._request.source.body
        return self._is_own and all(getattr(body, name) is getattr(source, name) for name in names)

    def _own_field(self, name: str) -> dict[str, object]:
        value = self._own.get(name, Raw(b"null"))
        return {} if value == Raw(b"null") else {name: value}

    def _passed_items(self) -> dict[int, list[Raw]]:
        """Of messages that go as they came, as most of a long history do: outputs of tools."""
        passed: dict[int, list[Raw]] = {}
        for message in self._request.messages:
            items = self._client.of_untouched(message)
            if items and all(self._input.may_pass(item.takes) for item in items):
                passed[id(message)] = [item.raw for item in items]
        return passed

    def _items(self) -> InputItemWriter:
        """The input."""
        writer = self._input
        if self._is_own and self._is_untouched("system"):
            writer.keep(self._detail.items.get(SYSTEM, ()))
        elif self._options.system != "instructions" and "system" in self._given.parameters.fields:
            writer.say_system(prompt_blocks(self._given.parameters, self.changes), self._options.system, "system")
        if words := schema_words(self._given.parameters, self._options):  # in the input: there the word JSON is looked for
            writer.items.append(message_item("developer", [{"type": "input_text", "text": words}]))
        read = iter(self._given.messages)
        for message in self._request.messages:
            self._request.source.wanted.check()
            if items := self._passed.get(id(message)):
                writer.items += items
                continue
            raw = next(read)
            self.changes.leave_out_unknown(raw.path, raw.fields, {"role", "content", "output_config"})
            writer.take(raw, self._client.of_message(message))
        return writer

    def _prompt(self) -> dict[str, object]:
        """`instructions`, where the system prompt stands there."""
        if self._is_own and self._is_untouched("system"):
            return self._own_field("instructions")
        if self._options.system != "instructions":
            return {}
        text = joined_text(prompt_blocks(self._given.parameters, self.changes), self.changes)
        return {"instructions": text} if text else {}

    def _tools(self) -> dict[str, object]:
        if self._as_offered:
            return self._own_field("tools")
        if self._is_own and self._detail.tool_kinds - {"function"}:
            self.changes.add("tools", "replaced", UNKNOWN_KIND)
        tools = write_tools(self._given, self._options, self.changes)
        return {"tools": tools} if tools else {}

    def _length(self) -> dict[str, object]:
        """How long the answer may be, and how it is drawn."""
        own = self._is_untouched("max_tokens", "temperature", "top_p")
        parameters, options, changes = self._given.parameters, self._options, self.changes
        if own and options.sampling and max_tokens_of(parameters, options) == max_tokens_of(parameters, _FREE):
            names = ("max_output_tokens", "temperature", "top_p")
            return {key: value for name in names for key, value in self._own_field(name).items()}
        return length_field(parameters, options, changes) | sampling(parameters, options, changes)

    def _effort(self, *, lost: bool, forced: bool) -> EffortFields:
        given = _without_updates(self._given) if self._is_own and self._options.own_items else self._given
        silent = RequestChanges(STEP, NO_WORDS) if self._is_own else self.changes
        wish = effort_wish(given, silent, is_shown=True)
        wish = with_thinking_off(wish, lost=lost, forced=forced, options=self._options, changes=self.changes)
        if self._is_own and not self._options.knob:
            own = self._given_reasoning().get("effort")
            return EffortFields({"reasoning": {"effort": own}} if own else {}, own != "none" if own else None)
        return effort_fields(wish, max_tokens_of(given.parameters, self._options), self._options, self.changes)

    def _given_reasoning(self) -> JsonObject:
        raw = self._own.get("reasoning", Raw(b"null"))
        return {} if raw == Raw(b"null") else cast("JsonObject", decode(raw, _any, "reasoning"))

    def _reasoning(self, effort: EffortFields) -> dict[str, object]:
        shown = self._given.parameters.object("thinking").string("display")
        options = self._options
        if self._is_own and options.summary:  # a client of this dialect says itself whether it wants one
            options = structs.replace(options, summary="as asked")
        field = reasoning_field(effort, shown, self._given_reasoning(), options, self.changes)
        others = {key: value for key, value in effort.fields.items() if key != "reasoning"}
        return {**({"reasoning": field} if field else {}), **others}

    def _text(self) -> dict[str, object]:
        if self._is_untouched("output_config") and self._options.schema == "json_schema":
            return self._own_field("text")
        form = answer_format(self._given.parameters, self._options, self.changes)
        own = RawObject("text", decode(self._own["text"], OBJECT, "text")).fields if self._own_field("text") else {}
        text = {**{key: value for key, value in own.items() if key != "format"}, **({"format": form} if form else {})}
        return {"text": text} if text else {}


_FREE: Final = ResponsesOptions()


def _without_updates(given: RawRequest) -> RawRequest:
    """The request without efforts that change on the way: they are items of their own."""
    messages = tuple(
        structs.replace(each, fields={key: value for key, value in each.fields.items() if key != "output_config"})
        for each in given.messages
    )
    return structs.replace(given, messages=messages)


def _one_tool(name: str) -> dict[str, object]:
    return {"type": "function", "name": name}


_BELOW: Final[Mapping[str, Operation]] = {
    "": "messages",
    "/input_tokens": "count_tokens",
    "/compact": "compact",
    "/*": "stored",
}
ROUTES: Final[Mapping[str, Operation]] = {
    f"{base}{path}": operation for base in ("/v1/responses", "/responses") for path, operation in _BELOW.items()
}
"""The second base is for clients whose base URL is meant to end in `/v1`, and does not."""
PATHS: Final[Mapping[Operation, str]] = {"messages": "/responses", "count_tokens": "/responses/input_tokens"}
_SESSIONS: Final = ("session-id", "x-session-id", "x-session-affinity")
"""What clients call their conversation: Codex; opencode, and others after it."""
_THREAD: Final = "thread-id"
_SUBAGENT: Final = "x-openai-subagent"


def session_of(headers: ClientHeaders) -> ClientSession:
    thread = headers.get(_THREAD, "")
    session = next((value for name in _SESSIONS if (value := headers.get(name))), thread)
    return ClientSession(session, thread if thread != session else "", headers.get(_SUBAGENT, ""))


def request_headers(headers: ClientHeaders, request: Request, options: ResponsesOptions) -> tuple[tuple[bytes, bytes], ...]:
    """None of the client's own: they are about another vendor's versions and betas."""
    return ((b"user-agent", b"clew"),)

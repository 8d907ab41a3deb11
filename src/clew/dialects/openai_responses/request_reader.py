"""A client's request as the canonical request: parameters, tools (`tools`), and the items (`item_reader`).

The canonical document is built in the Messages API's shapes and then read like any other, so that every step works on it.
What would be answered wrongly without a field is refused with its path. A field that has no canonical counterpart is kept
for backends of this dialect (`detail`), and named as a change for all others.
"""

from __future__ import annotations

import operator
import re
from typing import Final

import msgspec
from msgspec import Raw

from clew.dialects.openai.fields import (
    BOOLEAN,
    INTEGER,
    NUMBER,
    OBJECT,
    STRINGS,
    Canonical,
    RawObject,
    RequestChanges,
    check_count,
    decode,
    invalid,
)
from clew.dialects.openai_responses.detail import DIALECT_NAME, ResponsesDetail
from clew.dialects.openai_responses.item_reader import ONLY_HERE, ItemReader, is_reference
from clew.dialects.openai_responses.tools import ReadTools, hosted_choice, read_tool_choice, read_tools
from clew.dialects.optional import StoredItems, StoredReferences
from clew.dialects.shape import ClientHeaders
from clew.errors import BodyTooLarge, RequestInvalid
from clew.model.request import ALWAYS, NativeRequest, Request, Wanted
from clew.wire.requests import MAX_BYTES, parse
from clew.wire.strict_json import decode_json

STEP: Final = "openai_responses"
HIGHEST_TEMPERATURE: Final = 1
NO_PLACE: Final = "the Messages API has no field for it"
CAPPED: Final = "the Messages API allows a temperature of at most 1"
NAME_GIVEN: Final = "safety_identifier says who asks"
ANY_JSON: Final = "the Messages API can enforce a schema, but not any JSON"

_READ: Final = frozenset(
    {"model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "max_output_tokens", "temperature"}
    | {"top_p", "stream", "reasoning", "text", "user", "safety_identifier"}
)
_KEPT_HERE: Final = frozenset({"store", "include", "stream_options", "previous_response_id", "background", "conversation"})
"""What is handled by the gateway itself, or refused."""
_REFUSED: Final = {
    "background": "answers in the background are not supported here: send background false, and stream",
    "conversation": "conversations are not supported here: send the whole input, or a previous_response_id",
    "prompt": "prompts that are stored at OpenAI are not supported here: send the text as instructions",
}
_ITEMS: Final = msgspec.json.Decoder(list[Raw])
_TRIGGER: Final = "compaction_trigger"
_NAMING: Final = (b'"previous_response_id"', b'"item_reference"', b"compaction")
_ENDS_WITH_ID: Final = re.compile(rb'"id"\s*:\s*"[^"]*"\s*(?:,\s*"type"\s*:\s*null\s*)?\}')
"""An object that may be nothing but an id, which names an item too."""
_READ_OF_REASONING: Final = frozenset({"effort", "summary", "generate_summary", "max_tokens", "enabled"})
_READ_OF_FORMAT: Final = frozenset({"type", "schema", "strict"})
_ALWAYS_INCLUDED: Final = "reasoning.encrypted_content"
_SUMMARIES: Final = frozenset({"compaction", "compaction_summary", "context_compaction"})


def read_request(raw: bytes, headers: ClientHeaders, wanted: Wanted = ALWAYS) -> Request:
    """Raises RequestInvalid with a JSON path, BodyTooLarge, and NotWanted."""
    return read_request_with(raw, headers, wanted, StoredItems())


def read_request_with(raw: bytes, headers: ClientHeaders, wanted: Wanted, stored: StoredItems) -> Request:
    """The same, with what stands behind the ids that the client names."""
    parameters, changes = _parameters(raw), RequestChanges(STEP, NO_PLACE)
    _refuse(parameters, stored)
    items, is_whole = _items(parameters, stored)
    _check_size(sum([memoryview(item).nbytes for item in items]))  # a short reference may stand for a long item, many times
    read = [RawObject(path, decode(each, OBJECT, path)) for path, each in _with_paths(items, stored)]
    compacts = bool(read) and read[-1].type == _TRIGGER
    if compacts:
        items, read, is_whole = items[:-1], read[:-1], False
    _note_unread(parameters, changes)
    tools = read_tools(parameters, [each for each in read if each.type == "additional_tools"], changes)
    reader = ItemReader(tools.names, changes, stored.opened)
    reader.begin(parameters.string("instructions"))
    for item, each in zip(read, items, strict=True):
        wanted.check()
        reader.take(item, each)
    request = parse(msgspec.json.encode(_document(parameters, reader, tools, changes)), wanted=wanted)
    request.source.native = NativeRequest(
        dialect=DIALECT_NAME,
        raw=raw,
        detail=_detail(parameters, tools, reader, items, is_whole=is_whole),
        changes=changes.all(),
        compacts=compacts,
        demand=hosted_choice(parameters, tools),
    )
    return request


def references_in(raw: bytes) -> StoredReferences | None:
    """What a request names that is stored; None for nothing, and for a body that cannot be read."""
    if not any(name in raw for name in _NAMING) and _ENDS_WITH_ID.search(raw) is None:
        return None
    try:
        parameters = _parameters(raw)
        items = [RawObject("", decode(each, OBJECT, "")) for each in _items(parameters, StoredItems())[0]]
        named = tuple(item.string("id") for item in items if is_reference(item))
        sealed = tuple(item.string("encrypted_content") for item in items if item.type in _SUMMARIES)
        found = StoredReferences(parameters.string("previous_response_id"), named, tuple(filter(None, sealed)))
    except (RequestInvalid, BodyTooLarge):
        return None
    return found if any(found) else None


def _check_size(size: int) -> None:
    """Raises BodyTooLarge."""
    if size > MAX_BYTES:
        raise BodyTooLarge(f"the request body has {size} bytes, more than the {MAX_BYTES} allowed")


def _parameters(raw: bytes) -> RawObject:
    _check_size(len(raw))
    try:
        return RawObject("", OBJECT.decode(raw))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        decode_json(raw)  # raises with line and column where the bytes are no JSON at all
        raise RequestInvalid("the request body must be a JSON object") from None


def _note_unread(parameters: RawObject, changes: RequestChanges) -> None:
    """What the fields say that the canonical request does not."""
    form, name = parameters.object("text").object("format"), parameters.string("safety_identifier")
    changes.leave_out_unknown("", parameters.fields, _READ | _KEPT_HERE)
    changes.leave_out_unknown("reasoning", parameters.object("reasoning").fields, _READ_OF_REASONING)
    changes.leave_out_unknown("text", parameters.object("text").fields, {"format"})
    changes.leave_out_others(form, _READ_OF_FORMAT)
    changes.leave_out_others(parameters.object("stream_options"), {"include_obfuscation"})
    if form.type == "json_object":
        changes.leave_out("text.format", ANY_JSON)
    if (parameters.value("temperature", NUMBER) or 0) > HIGHEST_TEMPERATURE:
        changes.add("temperature", "set", CAPPED)
    if name and parameters.string("user") not in ("", name):
        changes.leave_out("user", NAME_GIVEN)
    for at, each in enumerate(parameters.value("include", STRINGS) or []):
        if each != _ALWAYS_INCLUDED:
            changes.leave_out(f"include.{at}", ONLY_HERE)


def _refuse(parameters: RawObject, stored: StoredItems) -> None:
    parameters.value("store", BOOLEAN)
    if parameters.value("background", BOOLEAN):
        raise invalid("background", _REFUSED["background"])
    for name in ("conversation", "prompt"):
        if parameters.fields.get(name, Raw(b"null")) != Raw(b"null"):
            raise invalid(name, _REFUSED[name])
    previous = parameters.string("previous_response_id")
    if previous and not stored.before:
        raise RequestInvalid(f"Previous response with id '{previous}' not found.", path="previous_response_id")


def _items(parameters: RawObject, stored: StoredItems) -> tuple[tuple[Raw, ...], bool]:
    """The whole input, and whether the client sent all of it."""
    given = parameters.fields.get("input", Raw(b"null"))
    if given == Raw(b"null"):
        if not parameters.string("previous_response_id"):
            raise invalid("input", "Field required")
        return stored.before, False
    if bytes(given).lstrip().startswith(b'"'):
        message = {"type": "message", "role": "user", "content": parameters.string("input")}
        return (*stored.before, Raw(msgspec.json.encode(message))), False
    sent = decode(given, _ITEMS, "input")
    check_count(sent, "input")
    own = [without_sdk_fields(each) for each in sent]
    if not stored.by_id:
        return (*stored.before, *own), not stored.before and all(map(operator.is_, sent, own))
    found = [stored.by_id.get(_reference(each), each) for each in own]
    return (*stored.before, *found), False


def _reference(raw: Raw) -> str:
    """The id that an item names; "" for one that is there itself."""
    item = RawObject("", decode(raw, OBJECT, "input"))
    return item.string("id") if is_reference(item) else ""


def _with_paths(items: tuple[Raw, ...], stored: StoredItems) -> list[tuple[str, Raw]]:
    """Each item with its path; those in front of the client's own have none there."""
    before = len(stored.before)
    return [(f"input.{at - before}" if at >= before else f"previous.{at}", each) for at, each in enumerate(items)]


def _detail(
    parameters: RawObject, tools: ReadTools, reader: ItemReader, items: tuple[Raw, ...], *, is_whole: bool
) -> ResponsesDetail:
    return ResponsesDetail(
        fields={name: value for name, value in parameters.fields.items() if name != "input"},
        items=reader.items(),
        tools=tools.named,
        tool_kinds=tools.kinds,
        streams=bool(parameters.value("stream", BOOLEAN)),
        include=frozenset(parameters.value("include", STRINGS) or []),
        input=items,
        is_whole=is_whole,
    )


def _document(parameters: RawObject, reader: ItemReader, tools: ReadTools, changes: RequestChanges) -> Canonical:
    document: Canonical = {"model": parameters.string("model")}
    if prompt := reader.prompt():
        document["system"] = prompt
    document["messages"] = reader.messages()
    if tools.documents:
        document["tools"] = tools.documents
    document |= read_tool_choice(parameters, tools, changes)
    # The length of the answer, sampling, streaming, and who asks
    fields = parameters.fields
    if parameters.value("max_output_tokens", INTEGER) is not None:
        document["max_tokens"] = fields["max_output_tokens"]
    temperature = parameters.value("temperature", NUMBER)
    if temperature is not None:
        document["temperature"] = fields["temperature"] if temperature <= HIGHEST_TEMPERATURE else HIGHEST_TEMPERATURE
    if parameters.value("top_p", NUMBER) is not None:
        document["top_p"] = fields["top_p"]
    if (streams := parameters.value("stream", BOOLEAN)) is not None:
        document["stream"] = streams
    if user := parameters.string("safety_identifier") or parameters.string("user"):
        document["metadata"] = {"user_id": user}
    return document | _thinking(parameters)


def _thinking(parameters: RawObject) -> Canonical:
    """How much to think, what is shown of it, and the form of the answer."""
    wish = parameters.object("reasoning")
    effort, budget, enabled = wish.string("effort"), wish.value("max_tokens", INTEGER), wish.value("enabled", BOOLEAN)
    shown = {"display": "summarized" if wish.string("summary") or wish.string("generate_summary") else "omitted"}
    config: Canonical = {}
    found: Canonical = {}
    if effort == "none" or enabled is False:
        found["thinking"] = {"type": "disabled"}
    elif budget is not None:
        found["thinking"] = {"type": "enabled", "budget_tokens": budget, **shown}
    elif wish.fields:
        found["thinking"] = {"type": "adaptive", **shown}
        config |= {"effort": effort} if effort else {}
    if form := _answer_format(parameters.object("text").object("format")):
        config["format"] = form
    return found | ({"output_config": config} if config else {})


def _answer_format(form: RawObject) -> Canonical | None:
    match form.type:
        case "" | "text" | "json_object":  # a schema of any object is none that Claude takes
            return None
        case "json_schema":
            if "schema" not in form.fields:
                raise invalid(f"{form.path}.schema", "Field required")
            return {"type": "json_schema", "schema": form.fields["schema"]}
        case kind:
            raise invalid(
                f"{form.path}.type", f"an answer of type {kind!r} is not supported: use text, json_object or json_schema"
            )


# Fields that OpenAI's SDK for JavaScript adds to what it hands to an app. They come back with the history, and no
# server knows them: `parsed_arguments` of a call, `parsed` of what was said.


_MARK: Final = b'"parsed'
_OF_ITEMS: Final = "parsed_arguments"
_OF_PARTS: Final = "parsed"
_parts = msgspec.json.Decoder(list[dict[str, Raw]])


def without_sdk_fields(item: Raw) -> Raw:
    """The item as the server gave it; the very same where nothing was added."""
    if _MARK not in bytes(item):
        return item
    try:
        fields = OBJECT.decode(item)
        parts = _parts.decode(fields["content"]) if _MARK in bytes(fields.get("content", b"")) else []
    except msgspec.MsgspecError:  # whatever it is, it is none of the SDK's items
        return item
    fields.pop(_OF_ITEMS, None)
    if parts:
        cleaned = [{name: value for name, value in part.items() if name != _OF_PARTS} for part in parts]
        fields["content"] = Raw(msgspec.json.encode(cleaned))
    return Raw(msgspec.json.encode(fields))

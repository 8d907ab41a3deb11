"""The messages of a request, one after the other.

What a message becomes depends on that message and on those before it, so a conversation that goes on is a list that goes on:
the backend's prefix cache holds, and reasoning that is bound to what came before it stays bound. A message may become none
(nothing in it can be said), or several (tool results, then what the user said with them).

A tool message has no word for failure, so a failed result says so in its text. Most backends take only text in a tool
message: then each image leaves a numbered note where it stood, and follows in the user message after the tool messages,
under the same number and the id of its call.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias, cast

import msgspec

from clew.dialects.openai.fields import RawMessage, RawObject, RawRequest, RequestChanges
from clew.dialects.openai.parameters import tool_name
from clew.dialects.openai.parts import (
    AS_USER,
    Part,
    PartForms,
    PartWriter,
    as_user_text,
    joined_text,
    media_apart,
    prompt_blocks,
    schema_words,
)
from clew.dialects.openai_chat.options import ChatRequestOptions
from clew.dialects.openai_chat.request_reasoning import ReturnedThought, fill_missing, join_fields, returned_thoughts
from clew.errors import RequestInvalid
from clew.model.blocks import THINKING_TYPES
from clew.model.json import JsonObject, JsonValue

EMPTY = "the message is empty"
RESULTS_FIRST = "tool results must come directly after their calls"
REPEATED = "this history already has an entry with this id, and the backend refuses a second one"
BEGUN = "this backend refuses an answer as the last message, unless the request asks to continue it"
APART = "this backend refuses a message of role {!r} behind one of role {!r}, so one of role {!r} stands between them"

SERVER_SIDE = "only its own vendor can read this block"
NOTHING_LEFT = "this message is empty now"
AFTER_CALLS = "in Chat Completions, text comes before tool calls"
WORDLESS = "this backend refuses an answer with thinking only"
UNSIGNED_CALL = "this backend refuses a call without a signature, and this is its placeholder for a missing one"

_KNOWN: Final = {"text": frozenset({"type", "text"}), "tool_use": frozenset({"type", "id", "name", "input"})}
_BETWEEN: Final = {"assistant": "Noted.", "user": "Go on."}
"""What is said between two messages that may not follow each other. Constant, so that a prefix with it stays stable."""
_SPOKEN: Final = frozenset({"role", "content", "tool_calls"})
_Message: TypeAlias = dict[str, object]


class WrittenMessages(NamedTuple):
    """The messages to send. `lost`: a call has no reasoning, and this backend then wants thinking off."""

    messages: list[_Message]
    lost: bool = False


def write_messages(given: RawRequest, options: ChatRequestOptions, changes: RequestChanges) -> WrittenMessages:
    prompt = joined_text(prompt_blocks(given.parameters, changes), changes)
    text = "\n\n".join(filter(None, (prompt, schema_words(given.parameters, options))))
    sent: list[_Message] = [{"role": options.system, "content": text}] if text else []
    for source in given.messages:
        changes.leave_out_unknown(source.path, source.fields, {"role", "content", "output_config"})
        if source.role not in _WRITERS:
            path = f"{source.path}.role"
            raise RequestInvalid(f"{path}: Input should be 'user' or 'assistant'", path=path)
        for message in _WRITERS[source.role](source, options, changes):
            before, role = str(sent[-1]["role"]) if sent else "", str(message["role"])
            if f"{before} {role}" in options.apart:  # it may not follow the one that was sent last
                other = "user" if role == "assistant" else "assistant"
                changes.add(source.path, "added", APART.format(role, before, other))
                sent.append({"role": other, "content": _BETWEEN[other]})
            sent.append(message)
    if options.entries_once:
        sent = _without_repeats(sent, changes)
    if options.begun and sent and sent[-1]["role"] == "assistant":
        changes.add(given.messages[-1].path, "added", BEGUN)
        sent[-1] |= options.begun
    lost = options.missing == "off" and any("tool_calls" in each and _SPOKEN.issuperset(each) for each in sent)
    return WrittenMessages(sent, lost)


def _system_messages(source: RawMessage, options: ChatRequestOptions, changes: RequestChanges) -> list[_Message]:
    """A system message inside the conversation."""
    text = joined_text(source.blocks, changes)
    if not text:
        changes.leave_out(source.path, EMPTY)
        return []
    if options.late_system == "user":
        changes.add(source.path, "replaced", AS_USER)
        return [{"role": "user", "content": as_user_text(text)}]
    return [{"role": options.system, "content": text}]


def _user_messages(source: RawMessage, options: ChatRequestOptions, changes: RequestChanges) -> list[_Message]:
    """Tool messages in order, then one user message with the rest: images of results, and what the user said."""
    is_late = False
    for block in source.blocks:
        if is_late and block.type == "tool_result":
            changes.add(block.path, "moved", RESULTS_FIRST)
        is_late = is_late or block.type != "tool_result"
    results = [tool_message(block, options, changes) for block in source.blocks if block.type == "tool_result"]
    spoken = [block for block in source.blocks if block.type != "tool_result"]
    parts = [part for result in results for part in result.after]
    parts += [part for block in spoken for part in content_parts(block, options, changes)]
    sent = [result.message for result in results]
    # A plain string if there is only text: the same message, whether the client sent it as a string or as blocks.
    parts = [part for part in parts if part.get("text") != ""]
    if parts:
        content = "\n\n".join(str(part["text"]) for part in parts) if all(map(is_text, parts)) else parts
        sent.append({"role": "user", "content": content})
    if not sent:
        changes.leave_out(source.path, EMPTY)
    return sent


def _without_repeats(sent: list[_Message], changes: RequestChanges) -> list[_Message]:
    """The messages, each entry of `reasoning_details` once: behind some backends a second one is refused by its id.

    Clients that fork, merge or repeat messages make such entries. The first one stays, so that what was sent before is not
    altered later. A list of which nothing is left goes with its key.
    """
    seen: set[tuple[str, str]] = set()
    once: list[_Message] = []
    for message in sent:
        entries = cast("list[JsonObject]", message.get("reasoning_details") or [])
        new = [entry for entry in entries if _is_new(entry, seen)]
        if len(new) < len(entries):
            rest = {name: value for name, value in message.items() if name != "reasoning_details"}
            message = {**rest, "reasoning_details": new} if new else rest
        once.append(message)
    if any(one is not other for one, other in zip(once, sent, strict=True)):
        changes.leave_out_thought("messages", REPEATED)
    return once


def _is_new(entry: JsonObject, seen: set[tuple[str, str]]) -> bool:
    """Told by what only the maker could have given the entry: its data, its signature, the id of something encrypted. The
    same words alone may have been thought twice."""
    marks = {(name, str(value)) for name in ("data", "signature") if (value := entry.get(name))}
    if entry.get("type") == "reasoning.encrypted" and entry.get("id"):
        marks.add(("id", str(entry["id"])))
    is_new = not marks & seen
    seen |= marks
    return is_new


def _assistant_messages(source: RawMessage, options: ChatRequestOptions, changes: RequestChanges) -> list[_Message]:
    """An answer; no message if nothing of it can be said."""
    _note_unsaid(source.blocks, changes)
    thoughts = returned_thoughts(source.blocks, options, changes)
    # The calls, each with what its maker keeps on it (a signature, for one)
    calls: list[dict[str, object]] = []
    extra: JsonObject = {}
    for at, block in enumerate(source.blocks):
        if at in thoughts:
            extra = thoughts[at].call or extra
        elif block.type == "tool_use":
            if not calls and not extra and options.unsigned_call:
                changes.add(block.path, "added", UNSIGNED_CALL)
                extra = options.unsigned_call
            name = tool_name(block.string("name"), f"{block.path}.name", changes)
            function = {"name": name, "arguments": _arguments(block)}
            call = {"id": call_id(block, "id", options, changes), "type": "function", "function": function}
            calls.append({**call, **extra})
            extra = {}
    content = _content(source.blocks, thoughts)
    reasoning = join_fields(thoughts.values())
    if not (calls or content or reasoning):
        changes.leave_out(source.path, NOTHING_LEFT)
        return []
    reasoning = fill_missing(reasoning, bool(calls), source.path, options, changes)
    if options.wordless and not (calls or content):
        changes.add(source.path, "added", WORDLESS)
        content = options.wordless
    spoken = content or (None if calls else "")
    return [{"role": "assistant", "content": spoken} | ({"tool_calls": calls} if calls else {}) | reasoning]


def _note_unsaid(blocks: Sequence[RawObject], changes: RequestChanges) -> None:
    calls = False
    for block in blocks:
        if block.type in _KNOWN:
            changes.leave_out_unknown(block.path, block.fields, _KNOWN[block.type])
        elif block.type not in THINKING_TYPES:
            changes.leave_out(block.path, SERVER_SIDE)
        if calls and block.type == "text":
            changes.add(block.path, "moved", AFTER_CALLS)
        calls = calls or block.type == "tool_use"


def _content(blocks: Sequence[RawObject], thoughts: Mapping[int, ReturnedThought]) -> str | list[JsonValue]:
    """The text; with thoughts in it where they stood, if that is where the backend keeps them."""
    parts: list[str | list[JsonValue]] = []
    for at, block in enumerate(blocks):
        inline = thoughts[at].inline if at in thoughts else None
        parts += [inline] if inline else [block.string("text")] if block.type == "text" else []
    if not any(isinstance(part, list) for part in parts):
        return "".join(part for part in parts if isinstance(part, str))
    content: list[JsonValue] = []
    for part in filter(None, parts):
        content.extend(part if isinstance(part, list) else [{"type": "text", "text": part}])
    return content


def _arguments(block: RawObject) -> str:
    """JSON text without white space: two spellings of one input are one text, and no number is read and written again."""
    try:
        return msgspec.json.format(bytes(block.fields.get("input", b"{}")), indent=-1).decode()
    except UnicodeDecodeError as error:
        raise RequestInvalid(f"{block.path}.input: {error}", path=f"{block.path}.input") from None


_WRITERS: Final[Mapping[str, Callable[[RawMessage, ChatRequestOptions, RequestChanges], list[_Message]]]] = {
    "assistant": _assistant_messages,
    "system": _system_messages,
    "user": _user_messages,
}
"""What writes a message, by its role."""


ONLY_TEXT = "a tool message can only have text: images and files follow in a user message"
NINE = "this backend accepts only ids of nine letters and digits"

_NINE = re.compile(r"[a-zA-Z0-9]{9}")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


class ToolMessage(NamedTuple):
    """A tool message, and the parts that have to follow it in a user message."""

    message: dict[str, object]
    after: list[Part]


def is_text(part: Part) -> bool:
    return part["type"] == "text"


FORMS: Final = PartForms(
    text=lambda text: {"type": "text", "text": text},
    image=lambda url: {"type": "image_url", "image_url": {"url": url}},
    file=lambda name, data: {"type": "file", "file": {"filename": name, "file_data": data}},
)


def content_parts(block: RawObject, options: ChatRequestOptions, changes: RequestChanges) -> list[Part]:
    """One block as the parts that say it. Raises Unrepresentable with its path."""
    return PartWriter(FORMS, options, changes).parts_of(block)


def tool_message(block: RawObject, options: ChatRequestOptions, changes: RequestChanges) -> ToolMessage:
    """One tool result."""
    changes.leave_out_unknown(block.path, block.fields, {"type", "tool_use_id", "content", "is_error"})
    call = call_id(block, "tool_use_id", options, changes)
    writer = PartWriter(FORMS, options, changes)
    parts = writer.result_parts(block)
    after: list[Part] = []
    if not options.tool_images:
        parts, after = media_apart(parts, call, FORMS)
    if after:
        changes.add(f"{block.path}.content", "moved", ONLY_TEXT)
    parts = writer.with_failure(block, parts)
    # A plain string wherever that says it all: not every server reads lists.
    content = "\n".join(str(part["text"]) for part in parts) if all(map(is_text, parts)) else parts
    return ToolMessage({"role": "tool", "tool_call_id": call, "content": content}, after)


def call_id(block: RawObject, key: str, options: ChatRequestOptions, changes: RequestChanges) -> str:
    """The id to send of a call or of a result. The same id always becomes the same one, so that the two still meet."""
    given = block.string(key)
    if options.call_ids == "kept" or _NINE.fullmatch(given):
        return given
    changes.add_to_group("call_ids", f"{block.path}.{key}", "replaced", NINE)
    number = int.from_bytes(hashlib.sha256(given.encode()).digest()[:8], "big")
    return "".join(_DIGITS[number // 62**place % 62] for place in range(9))

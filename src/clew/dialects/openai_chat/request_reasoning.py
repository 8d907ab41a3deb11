"""Puts reasoning back where its backend looks for it: in fields of the assistant message, never in its text.

A thinking block of this backend carries, where Anthropic has a signature, what the backend needs back (`payloads`): the name
under which the text came, entries that go back as they came, markup around a thought in the content, or what stood on the
call behind it or on the message itself. A block without that is another maker's, handed over: its text goes into the field
that the options name. Three states stay apart: no reasoning (the key is absent, and the backend's policy for what is missing
applies), reasoning that was empty (""), and text. Several blocks of one message join without a seam, because the backend had
sent one string.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final, cast

from msgspec import Struct, structs

from clew.dialects.openai.fields import RawObject, RequestChanges
from clew.dialects.openai_chat.options import ChatRequestOptions
from clew.dialects.openai_chat.payloads import join_entry
from clew.model.blocks import THINKING_TYPES, payload_of
from clew.model.json import JsonObject, JsonValue, object_of, objects_of

NO_FIELD = "this backend does not accept reasoning back"
NO_TEXT = "this backend accepts only its own reasoning, and another backend made this"
NO_TAGS = "it was between tags in the text, and this backend does not read it from there"
NOTHING = "it has nothing that this backend can read"
UNSIGNED = "the model behind this backend refuses reasoning without its signature"
NEEDED = "this backend refuses an assistant message of this kind without reasoning"

_FILL: Final = {"empty": "", "space": " "}
_LISTS: Final = ("reasoning_details", "thinking_blocks")
_TEXTS: Final = ("text", "summary", "thinking")
_INLINE: Final = ("content", "tags")
"""The fields of a thought that came in the content itself."""


class ReturnedThought(Struct, frozen=True):
    """What goes back for one thinking block."""

    fields: Mapping[str, JsonValue] = {}
    """Of the assistant message."""
    inline: str | list[JsonValue] | None = None
    """In its content, in place: markup with the thought in it, or chunks."""
    call: JsonObject = {}
    """On the call that follows."""


def returned_thoughts(
    blocks: Sequence[RawObject], options: ChatRequestOptions, changes: RequestChanges
) -> dict[int, ReturnedThought]:
    """What goes back for each thinking block of an answer, by its index; where that is nothing, a change says why."""
    payloads = {
        at: payload_of(block.string("signature" if block.type == "thinking" else "data"))
        for at, block in enumerate(blocks)
        if block.type in THINKING_TYPES
    }
    found: dict[int, ReturnedThought] = {}
    for at, payload in _join_late_signatures(payloads).items():
        if not options.reasoning:
            found[at], why = ReturnedThought(), NO_FIELD
        elif payload is None:
            found[at], why = _hand_over(blocks[at], options)
        else:
            found[at], why = _give_back(payload, blocks[at], options)
        if why:
            changes.leave_out_thought(blocks[at].path, why)
    return found


def join_fields(thoughts: Iterable[ReturnedThought]) -> dict[str, object]:
    """The fields of an assistant message that carry its reasoning."""
    fields: dict[str, object] = {}
    for thought in thoughts:
        for key, value in thought.fields.items():
            before = fields.get(key)
            if isinstance(before, str) and isinstance(value, str):
                fields[key] = before + value
            elif isinstance(before, list) and isinstance(value, list):
                fields[key] = [*cast("list[object]", before), *value]
            else:
                fields[key] = value  # the last counts
    return fields


def fill_missing(
    fields: dict[str, object], calls: bool, path: str, options: ChatRequestOptions, changes: RequestChanges
) -> dict[str, object]:
    """The fields with the least that the backend accepts, where it needs some and there is none."""
    word = _FILL.get(options.missing)
    if word is None or not options.reasoning or not (calls or options.missing_on == "all"):
        return fields
    if any(fields.values()) or (fields and not word):
        return fields
    changes.add(f"{path}.{options.reasoning}", "added", NEEDED)
    return {**fields, **(options.empty or {options.reasoning: word})}


def _hand_over(block: RawObject, options: ChatRequestOptions) -> tuple[ReturnedThought, str]:
    """Another maker's thought: its text alone."""
    if block.type != "thinking":
        return ReturnedThought(), NOTHING
    if not options.reasoning_text:
        return ReturnedThought(), NO_TEXT
    return _as_text(options.reasoning, block.string("thinking"), options, {}), ""


def _as_text(field: str, text: str, options: ChatRequestOptions, call: JsonObject) -> ReturnedThought:
    """A plain text: in its field, or between tags in the content."""
    if options.between:
        inline = f"{options.between[0]}{text}{options.between[-1]}" if text else None
        return ReturnedThought(inline=inline, call=call)
    return ReturnedThought({field: text} if field else {}, call=call)


def _give_back(payload: JsonObject, block: RawObject, options: ChatRequestOptions) -> tuple[ReturnedThought, str]:
    """The richest form in which the thought came, with what its message carried."""
    thought, why = _in_its_form(payload, block, options)
    carried = payload.get("message") if options.entries else None
    if isinstance(carried, dict):
        thought = structs.replace(thought, fields={**thought.fields, **carried})
    return thought, why


def _in_its_form(payload: JsonObject, block: RawObject, options: ChatRequestOptions) -> tuple[ReturnedThought, str]:
    # What stood on the call behind this block. Each such call has a block of its own before it.
    calls = object_of(payload.get("tool_calls")) if options.entries else {}
    call = object_of(next(iter(calls.values()), None))
    entries, lost = _entries(payload, options)
    if entries or lost:
        return ReturnedThought(entries, call=call), UNSIGNED if lost else ""
    field, text = str(payload.get("field", "")), block.string("thinking")
    if field in _INLINE:
        # A thought that stood in the content: in chunks, or between tags
        chunks = payload.get("content")
        if isinstance(chunks, list):
            return ReturnedThought(inline=chunks, call=call), ""
        tags = payload.get("tags")
        if not options.tags_back or not isinstance(tags, dict):
            return ReturnedThought(call=call), NO_TAGS
        return ReturnedThought(inline=f"{tags.get('open', '')}{text}{tags.get('close', '')}", call=call), ""
    if field in _LISTS or (text and not field):  # no field of its own for the text alone
        return _hand_over(block, options)
    return _as_text(field, text, options, call), ""


def _entries(payload: JsonObject, options: ChatRequestOptions) -> tuple[dict[str, JsonValue], bool]:
    """Lists that go back as they came, less what the model behind the backend refuses; and whether there was any such."""
    found: dict[str, JsonValue] = {}
    lost = False
    for name in _LISTS if options.entries else ():
        entries = payload.get(name)
        if isinstance(entries, list):
            signed = [entry for entry in entries if not _is_unsigned(entry, options)]
            lost = lost or len(signed) < len(entries)
            found |= {name: signed} if signed or not entries else {}
    return found, lost


def _is_unsigned(entry: JsonValue, options: ChatRequestOptions) -> bool:
    if not isinstance(entry, dict) or entry.get("type") != "reasoning.text" or entry.get("signature"):
        return False
    return str(entry.get("format") or "") in options.signed_formats


def _join_late_signatures(payloads: Mapping[int, JsonObject | None]) -> dict[int, JsonObject | None]:
    """The payloads, each signature that came alone put to the text that it signs.

    A stream may sign a thought after its first words of content, when the block is closed. The signature is then kept by
    itself, behind the blocks of the answer. Its maker sent one entry in pieces, and gets one entry back.
    """
    done = dict(payloads)
    for name in _LISTS:
        holders = [at for at, payload in payloads.items() if payload is not None and name in payload]
        for before, at in pairwise(holders):
            first, second = done[before] or {}, done[at] or {}
            entries, late = [dict(entry) for entry in objects_of(first.get(name))], objects_of(second.get(name))
            if not late or not late[0].get("signature") or any(late[0].get(text) for text in _TEXTS):
                continue
            count = len(entries)
            join_entry(entries, late[0])
            if len(entries) == count:
                rest = {key: value for key, value in second.items() if key != name}
                done[before] = {**first, name: list(entries)}
                done[at] = {**second, name: list(late[1:])} if late[1:] else rest
    return done

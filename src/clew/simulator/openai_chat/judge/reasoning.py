"""Which of its own reasoning the vendor wants back, and which foreign reasoning it refuses.

The traits of the model ask for each rule: `needs` says what must come with a tool call, `makes` in which form its entries
are signed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from clew.model.json import JsonObject, JsonValue
from clew.simulator.openai_chat.judge.case import BrokenChatRule, ChatCase, IndexedMessage, calls_of
from clew.simulator.openai_chat.judge.returned import DUMMY_SIGNATURES, signature_of
from clew.simulator.openai_chat.memory import is_sealed, is_signed
from clew.simulator.values import as_dict, as_list, as_str

_TYPES: Final = ("reasoning.text", "reasoning.summary", "reasoning.encrypted", "reasoning.server_tool_call")


def check_passed_back(case: ChatCase) -> Iterator[BrokenChatRule]:
    """While thinking is on, each message with tool calls has the key, or even some text. Some vendors forbid the key."""
    for each in case.assistants:
        given = [each.message.get(name) for name in case.traits.takes]
        match case.traits.needs:
            case "absence" if "reasoning_content" in each.message:
                path = f"{each.path}.reasoning_content"
                yield BrokenChatRule("chat.reasoning-forbidden", path, {"index": each.index})
                continue
            case "key":
                there = any(isinstance(value, str | list) for value in given)
            case "text":
                there = any(given)
            case _:
                continue
        if case.thinking and calls_of(each.message) and not there:
            path = f"{each.path}.{case.traits.takes[0]}"
            yield BrokenChatRule("chat.reasoning-missing", path, {"index": each.index})


# Entries of reasoning_details.


def check_details(case: ChatCase) -> Iterator[BrokenChatRule]:
    if "reasoning_details" not in case.traits.takes:
        return
    seen: set[str] = set()
    for each in case.assistants:
        given = each.message.get("reasoning_details")
        if given is not None and not isinstance(given, list):
            yield BrokenChatRule("chat.details-shape", f"{each.path}.reasoning_details")
        entries = as_list(given)
        for number, item in enumerate(entries):
            entry = as_dict(item)
            yield from _check_entry(case, each, number, entry)
            id_ = as_str(entry.get("id")) or as_str(entry.get("data"))
            if id_ and case.traits.makes in ("openai", "xai") and id_ in seen:
                yield BrokenChatRule("chat.details-repeated", _entry_path(each, number), {"id": id_})
            seen.add(id_)
        if case.traits.needs == "details" and each.index > case.loop_start and calls_of(each.message):
            yield from _check_unchanged(case, each, entries)


def _entry_path(each: IndexedMessage, number: int) -> str:
    return f"{each.path}.reasoning_details.{number}"


def _check_entry(case: ChatCase, each: IndexedMessage, number: int, entry: JsonObject) -> Iterator[BrokenChatRule]:
    path, secret = _entry_path(each, number), case.memory.secret
    names: dict[str, object] = {"message": each.index, "entry": number, "id": entry.get("id") or "rs_unknown"}
    kind = entry.get("type")
    if kind not in _TYPES:
        yield BrokenChatRule("chat.details-shape", path)
    elif kind == "reasoning.text" and case.traits.makes == "claude":
        signature = as_str(entry.get("signature"))
        if not signature:
            yield BrokenChatRule("chat.details-unsigned", path, names)
        elif not is_signed(secret, case.model, as_str(entry.get("text")), signature):
            yield BrokenChatRule("chat.details-signature", path, names)
    elif kind == "reasoning.encrypted" and not is_sealed(secret, as_str(entry.get("data"))):
        rule = "chat.signature-invalid" if case.traits.makes == "gemini" else "chat.details-data"
        yield BrokenChatRule(rule, path, names)


def _check_unchanged(case: ChatCase, each: IndexedMessage, entries: list[JsonValue]) -> Iterator[BrokenChatRule]:
    """In the open tool loop, the entries are those that the model gave: all, in order, unchanged."""
    content = each.message.get("content")
    given = case.memory.find(each.message, content if isinstance(content, str) else "", "")
    wanted = given.details if given else []
    if not wanted or entries in (wanted, _without_unsigned_text(case, wanted)):
        return
    number = next((n for n, entry in enumerate(wanted) if entries[n : n + 1] != [entry]), len(wanted))
    if case.traits.makes == "gemini" and not entries:
        yield _unsigned(each)
    else:
        names = {"message": each.index, "entry": number}
        yield BrokenChatRule("chat.details-altered", _entry_path(each, number), names)


def _without_unsigned_text(case: ChatCase, wanted: list[JsonValue]) -> list[JsonValue]:
    """Gemini's text has no signature (a separate entry has), and OpenRouter's own client leaves such text out."""
    if case.traits.makes != "gemini":
        return wanted
    entries = ((entry, as_dict(entry)) for entry in wanted)
    return [entry for entry, value in entries if value.get("type") != "reasoning.text" or value.get("signature")]


# Thought signatures on tool calls, and on text.


def check_signatures(case: ChatCase) -> Iterator[BrokenChatRule]:
    """Since the user's last message, the first call of every step has a signature of this vendor, or a dummy.

    Text needs no signature, but one that it has must be valid.
    """
    if case.traits.needs != "signature":
        return
    for each in case.assistants:
        if not _is_valid(case, signature_of(each.message)):
            yield BrokenChatRule("chat.signature-invalid", f"{each.path}.extra_content")
        for number, call in enumerate(calls_of(each.message)):
            signature = signature_of(call)
            if signature is None and number == 0 and each.index > case.loop_start:
                yield _unsigned(each)
            if not _is_valid(case, signature):
                yield BrokenChatRule("chat.signature-invalid", f"{each.path}.tool_calls.{number}.extra_content")


def _is_valid(case: ChatCase, signature: JsonValue) -> bool:
    given = as_str(signature)
    return signature is None or given in DUMMY_SIGNATURES or is_sealed(case.memory.secret, given)


def _unsigned(each: IndexedMessage) -> BrokenChatRule:
    name = as_dict(calls_of(each.message)[0].get("function")).get("name")
    path = f"{each.path}.tool_calls.0.extra_content"
    return BrokenChatRule("chat.signature-missing", path, {"name": name, "position": each.index + 1})

"""What the vendor wants back of its own reasoning, and refuses of others'.

Every rule is asked for by a trait of the model: `needs` says what must come with a tool call, `makes` in which form its
entries are signed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from clew.model.json import JsonObject, JsonValue
from clew.simulator.chat.case import ChatCase, Place, calls_of
from clew.simulator.chat.returned import DUMMIES, signature_of
from clew.simulator.chat.rules import Finding
from clew.simulator.chat.sealing import is_sealed, is_signed
from clew.simulator.values import as_dict, as_list, as_str

__all__ = ["check_passed_back"]

_TYPES: Final = ("reasoning.text", "reasoning.summary", "reasoning.encrypted", "reasoning.server_tool_call")


def check_passed_back(case: ChatCase) -> Iterator[Finding]:
    match case.traits.needs:
        case "absence":
            yield from _forbidden(case)
        case "key" | "text":
            yield from _wanted(case, with_text=case.traits.needs == "text")
        case "signature":
            yield from _signatures(case)
        case "details" | "nothing":
            pass
    if "reasoning_details" in case.traits.takes:
        yield from _details(case)


def _forbidden(case: ChatCase) -> Iterator[Finding]:
    for place in case.assistants:
        if "reasoning_content" in place.message:
            yield Finding("chat.reasoning-forbidden", f"{place.path}.reasoning_content", {"index": place.index})


def _wanted(case: ChatCase, *, with_text: bool) -> Iterator[Finding]:
    """On every message with tool calls, while thinking is on: the key, or even some text."""
    for place in case.assistants if case.thinking else ():
        brought = [place.message.get(name) for name in case.traits.takes]
        there = any(brought) if with_text else any(isinstance(value, str | list) for value in brought)
        if calls_of(place.message) and not there:
            path = f"{place.path}.{case.traits.takes[0]}"
            yield Finding("chat.reasoning-missing", path, {"index": place.index})


# Entries of reasoning_details.


def _details(case: ChatCase) -> Iterator[Finding]:
    seen: set[str] = set()
    for place in case.assistants:
        given = place.message.get("reasoning_details")
        if given is not None and not isinstance(given, list):
            yield Finding("chat.details-shape", f"{place.path}.reasoning_details")
        entries = as_list(given)
        for number, entry in enumerate(entries):
            yield from _entry(case, place, number, as_dict(entry))
            identity = as_str(as_dict(entry).get("id")) or as_str(as_dict(entry).get("data"))
            if identity and case.traits.makes in ("openai", "xai") and identity in seen:
                yield Finding("chat.details-repeated", _path(place, number), {"id": identity})
            seen.add(identity)
        if case.traits.needs == "details" and place.index > case.loop_start and calls_of(place.message):
            yield from _run(case, place, entries)


def _entry(case: ChatCase, place: Place, number: int, entry: JsonObject) -> Iterator[Finding]:
    path = _path(place, number)
    kind = entry.get("type")
    names: dict[str, object] = {"message": place.index, "entry": number, "id": entry.get("id") or "rs_unknown"}
    if kind not in _TYPES:
        yield Finding("chat.details-shape", path)
    elif kind == "reasoning.text" and case.traits.makes == "claude":
        signature = as_str(entry.get("signature"))
        if not signature:
            yield Finding("chat.details-unsigned", path, names)
        elif not is_signed(case.books.secret, case.model, as_str(entry.get("text")), signature):
            yield Finding("chat.details-signature", path, names)
    elif kind == "reasoning.encrypted" and not is_sealed(case.books.secret, as_str(entry.get("data"))):
        rule = "chat.signature-invalid" if case.traits.makes == "gemini" else "chat.details-data"
        yield Finding(rule, path, names)


def _run(case: ChatCase, place: Place, entries: list[JsonValue]) -> Iterator[Finding]:
    """In the open tool loop the entries are what the model gave: all, in order, unchanged."""
    given = case.books.find(place.message, _said(place), "")
    wanted = given.details if given else []
    if wanted and entries not in (wanted, _signed(case, wanted)):
        number = next((n for n, entry in enumerate(wanted) if entries[n : n + 1] != [entry]), len(wanted))
        if case.traits.makes == "gemini" and not entries:
            yield _unsigned(place)
        else:
            yield Finding("chat.details-altered", _path(place, number), {"message": place.index, "entry": number})


def _signed(case: ChatCase, wanted: list[JsonValue]) -> list[JsonValue]:
    """Gemini's text bears no signature (an entry of its own does), and OpenRouter's own client leaves such text out."""
    if case.traits.makes != "gemini":
        return wanted
    return [entry for entry in wanted if as_dict(entry).get("type") != "reasoning.text" or as_dict(entry).get("signature")]


def _said(place: Place) -> str:
    content = place.message.get("content")
    return content if isinstance(content, str) else ""


# Thought signatures on tool calls, and on words.


def _signatures(case: ChatCase) -> Iterator[Finding]:
    """The first call of every step since the user's last words has one that is ours, or a value that means "none".

    Words need none; but one that they have must be ours."""
    for place in case.assistants:
        if not _is_ours(case, signature_of(place.message)):
            yield Finding("chat.signature-invalid", f"{place.path}.extra_content")
        calls = calls_of(place.message)
        for number, call in enumerate(calls):
            path = f"{place.path}.tool_calls.{number}.extra_content"
            signature = signature_of(call)
            if signature is None and number == 0 and place.index > case.loop_start:
                yield _unsigned(place)
            if not _is_ours(case, signature):
                yield Finding("chat.signature-invalid", path)


def _is_ours(case: ChatCase, signature: JsonValue) -> bool:
    given = as_str(signature)
    return signature is None or given in DUMMIES or is_sealed(case.books.secret, given)


def _unsigned(place: Place) -> Finding:
    name = as_dict(calls_of(place.message)[0].get("function")).get("name")
    path = f"{place.path}.tool_calls.0.extra_content"
    return Finding("chat.signature-missing", path, {"name": name, "position": place.index + 1})


def _path(place: Place, number: int) -> str:
    return f"{place.path}.reasoning_details.{number}"

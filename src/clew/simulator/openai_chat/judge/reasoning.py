"""The reasoning in a request: piece by piece, whose it is, and which of it the vendor wants back or refuses.

A piece is *own* if it is what the simulator gave with this message, or if a proof shows it. It is a *placeholder* if it has
nothing to read, or is a value that vendors define as "nothing". Otherwise it is *foreign*. Own reasoning in another place or
with other bytes is own, but not the *same*. Some vendors read the reasoning of earlier turns only on request: else it is
*unread*. Reasoning that was given and did not come back is reported as missing, and a thought in the visible text of any
message as text.

The traits of the model ask for each rule: `needs` says what must come with a tool call, `makes` in which form its entries
are signed.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Final, Literal

from clew.model.json import JsonObject, JsonValue
from clew.simulator.openai_chat.judge.case import ChatCase, IndexedMessage, calls_of, text_of
from clew.simulator.openai_chat.memory import GivenAnswer, is_sealed, is_signed
from clew.simulator.rule_book import RuleBreach
from clew.simulator.thought_index import is_marked
from clew.simulator.values import as_dict, as_list, as_str

# What came back.

_DUMMIES: Final = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
DUMMY_SIGNATURES: Final = frozenset((*_DUMMIES, *(base64.b64encode(each.encode()).decode() for each in _DUMMIES)))
"""Values that stand for a thought signature where there is none."""
_TAGGED: Final = re.compile(r"\s*<(think|thinking|thought)>(.*?)</\1>", re.DOTALL)
_SIMILAR: Final = 0.6
_COMPARED: Final = 2000
"""Characters: of long texts only the beginning is compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnedReasoning:
    """A piece of reasoning that came back in a request."""

    path: str
    field: str
    value: JsonValue = None
    maker: str = ""
    """The model that made it; "" if another vendor did."""
    whose: Literal["own", "foreign", "placeholder"] = "foreign"
    same: bool = False
    """Byte for byte what was given, and on the message that it was given with."""
    fate: Literal["kept", "missing", "unread", "as text", "refused"] = "kept"

    def is_proven(self, case: ChatCase) -> bool:
        """Whether a seal, a signature or a mark of this simulator proves the piece, on whichever message it is."""
        secret = case.memory.secret
        if isinstance(self.value, str):
            return is_marked(secret, self.value) or is_sealed(secret, self.value)
        entry = as_dict(self.value)
        signature = as_str(entry.get("signature"))
        if signature and is_signed(secret, case.model, _entry_text(entry), signature):
            return True
        return is_sealed(secret, as_str(entry.get("data")))

    def as_json(self) -> JsonObject:
        return {
            "path": self.path,
            "field": self.field,
            "maker": self.maker,
            "whose": self.whose,
            "same": self.same,
            "fate": self.fate,
        }


def returned_reasoning(case: ChatCase) -> tuple[ReturnedReasoning, ...]:
    """All reasoning that came back in the request, in order."""
    found: list[ReturnedReasoning] = []
    for each in case.messages:
        visible = text_of(each.message.get("content"))
        if each.role == "assistant":
            inside, visible = _tagged(each.message.get("content"))
            found += _of_answer(each, case, inside, visible)
        for _ in case.memory.thoughts.found_in(visible):
            path = f"{each.path}.content"
            found.append(ReturnedReasoning(path=path, field="content", whose="own", fate="as text"))
    return tuple(found)


def signature_of(signed: JsonObject) -> JsonValue:
    """The thought signature of a call, or of a message."""
    return as_dict(as_dict(signed.get("extra_content")).get("google")).get("thought_signature")


def _tagged(content: JsonValue) -> tuple[str | None, str]:
    """Reasoning in tags at the head of a content, and the rest of the text."""
    found = _TAGGED.match(content) if isinstance(content, str) else None
    return (found[2], found.string[found.end() :]) if found else (None, text_of(content))


def _of_answer(each: IndexedMessage, case: ChatCase, inside: str | None, visible: str) -> list[ReturnedReasoning]:
    """`inside` is the reasoning in tags, if there is any; `visible` is the text without it."""
    pieces = [*_pieces(each, inside)]
    if inside is not None:
        shown = inside.strip("\n")
    else:
        texts = [piece.value for piece in pieces if isinstance(piece.value, str) and piece.field != "extra_content"]
        shown = texts[0] if texts else "".join(_entry_text(piece.value) for piece in pieces)
    given = case.memory.find(each.message, visible, shown)
    judged = [_judge(piece, given, case) for piece in pieces]
    if given and given.field and not any(piece.whose == "own" and piece.field == given.field for piece in judged):
        path = f"{each.path}.{given.field}"
        judged.append(ReturnedReasoning(path=path, field=given.field, maker=given.model, whose="own", fate="missing"))
    earlier_if = case.traits.earlier_if
    if not earlier_if or case.body.get(earlier_if) is True or each.index > case.loop_start:
        return judged
    return [replace(piece, fate="unread") if piece.fate == "kept" else piece for piece in judged]


def _pieces(each: IndexedMessage, inside: str | None) -> Iterator[ReturnedReasoning]:
    message = each.message
    for name in ("reasoning_content", "reasoning"):
        if isinstance(message.get(name), str):
            yield ReturnedReasoning(path=f"{each.path}.{name}", field=name, value=message[name])
    for number, entry in enumerate(as_list(message.get("reasoning_details"))):
        path = f"{each.path}.reasoning_details.{number}"
        yield ReturnedReasoning(path=path, field="reasoning_details", value=entry)
    for number, part in enumerate(as_list(message.get("content"))):
        if as_dict(part).get("type") == "thinking":
            yield ReturnedReasoning(path=f"{each.path}.content.{number}", field="content", value=part)
    if inside is not None:
        yield ReturnedReasoning(path=f"{each.path}.content", field="content", value=inside)
    signed = [(f"{each.path}.tool_calls.{number}", call) for number, call in enumerate(calls_of(message))]
    for path, bearer in ((each.path, message), *signed):
        if (signature := signature_of(bearer)) is not None:
            yield ReturnedReasoning(path=f"{path}.extra_content", field="extra_content", value=signature)


def _entry_text(value: JsonValue) -> str:
    entry = as_dict(value)
    text = entry.get("text") or entry.get("summary") or entry.get("thinking")
    return text_of(text) if isinstance(text, list) else as_str(text)


def _judge(piece: ReturnedReasoning, given: GivenAnswer | None, case: ChatCase) -> ReturnedReasoning:
    if piece.field == "extra_content":
        nothing = as_str(piece.value) in DUMMY_SIGNATURES
    else:
        nothing = isinstance(piece.value, str) and not any(character.isalnum() for character in piece.value)
    if nothing:
        return replace(piece, whose="placeholder", same=given is not None and given.reasoning == piece.value)
    if given and _is_same(piece, given):
        return replace(piece, whose="own", same=True, maker=given.model)
    text = (piece.value if isinstance(piece.value, str) else _entry_text(piece.value))[:_COMPARED]
    if given and given.reasoning and SequenceMatcher(None, text, given.reasoning[:_COMPARED]).ratio() > _SIMILAR:
        return replace(piece, whose="own", maker=given.model)
    return replace(piece, whose="own" if piece.is_proven(case) else "foreign")


def _is_same(piece: ReturnedReasoning, given: GivenAnswer) -> bool:
    if piece.field == "extra_content":
        return piece.value in [signature_of(bearer) for bearer in (given.message, *calls_of(given.message))]
    if isinstance(piece.value, dict):
        index = int(piece.path.rpartition(".")[2])
        entries = given.details if piece.field == "reasoning_details" else as_list(given.message.get("content"))
        return index < len(entries) and entries[index] == piece.value
    if piece.field != "content":
        return piece.value == given.reasoning
    inside, _ = _tagged(given.message.get("content"))
    return piece.value == inside if inside is not None else str(piece.value).strip("\n") == given.reasoning


# What must come back.

_TYPES: Final = ("reasoning.text", "reasoning.summary", "reasoning.encrypted", "reasoning.server_tool_call")


def check_passed_back(case: ChatCase) -> Iterator[RuleBreach]:
    """While thinking is on, each message with tool calls has the key, or even some text. Some vendors forbid the key."""
    for each in case.assistants:
        given = [each.message.get(name) for name in case.traits.takes]
        match case.traits.needs:
            case "absence" if "reasoning_content" in each.message:
                path = f"{each.path}.reasoning_content"
                yield RuleBreach("chat.reasoning-forbidden", path, {"index": each.index})
                continue
            case "key":
                there = any(isinstance(value, str | list) for value in given)
            case "text":
                there = any(given)
            case _:
                continue
        if case.thinking and calls_of(each.message) and not there:
            path = f"{each.path}.{case.traits.takes[0]}"
            yield RuleBreach("chat.reasoning-missing", path, {"index": each.index})


# Entries of reasoning_details.


def check_details(case: ChatCase) -> Iterator[RuleBreach]:
    if "reasoning_details" not in case.traits.takes:
        return
    seen: set[str] = set()
    for each in case.assistants:
        given = each.message.get("reasoning_details")
        if given is not None and not isinstance(given, list):
            yield RuleBreach("chat.details-shape", f"{each.path}.reasoning_details")
        entries = as_list(given)
        for number, item in enumerate(entries):
            entry = as_dict(item)
            yield from _check_entry(case, each, number, entry)
            id_ = as_str(entry.get("id")) or as_str(entry.get("data"))
            if id_ and case.traits.makes in ("openai", "xai") and id_ in seen:
                yield RuleBreach("chat.details-repeated", _entry_path(each, number), {"id": id_})
            seen.add(id_)
        if case.traits.needs == "details" and each.index > case.loop_start and calls_of(each.message):
            yield from _check_unchanged(case, each, entries)


def _entry_path(each: IndexedMessage, number: int) -> str:
    return f"{each.path}.reasoning_details.{number}"


def _check_entry(case: ChatCase, each: IndexedMessage, number: int, entry: JsonObject) -> Iterator[RuleBreach]:
    path, secret = _entry_path(each, number), case.memory.secret
    names: dict[str, object] = {"message": each.index, "entry": number, "id": entry.get("id") or "rs_unknown"}
    kind = entry.get("type")
    if kind not in _TYPES:
        yield RuleBreach("chat.details-shape", path)
    elif kind == "reasoning.text" and case.traits.makes == "claude":
        signature = as_str(entry.get("signature"))
        if not signature:
            yield RuleBreach("chat.details-unsigned", path, names)
        elif not is_signed(secret, case.model, as_str(entry.get("text")), signature):
            yield RuleBreach("chat.details-signature", path, names)
    elif kind == "reasoning.encrypted" and not is_sealed(secret, as_str(entry.get("data"))):
        rule = "chat.signature-invalid" if case.traits.makes == "gemini" else "chat.details-data"
        yield RuleBreach(rule, path, names)


def _check_unchanged(case: ChatCase, each: IndexedMessage, entries: list[JsonValue]) -> Iterator[RuleBreach]:
    """In the open tool loop, all entries that the model gave must come back, in order and unchanged."""
    content = each.message.get("content")
    given = case.memory.find(each.message, content if isinstance(content, str) else "", "")
    wanted = given.details if given else []
    signed = wanted
    if case.traits.makes == "gemini":
        # Its text has no signature (a separate entry has), and OpenRouter's own client leaves such text out.
        values = ((entry, as_dict(entry)) for entry in wanted)
        signed = [entry for entry, value in values if value.get("type") != "reasoning.text" or value.get("signature")]
    if not wanted or entries in (wanted, signed):
        return
    number = next((n for n, entry in enumerate(wanted) if entries[n : n + 1] != [entry]), len(wanted))
    if case.traits.makes == "gemini" and not entries:
        yield _unsigned(each)
    else:
        names = {"message": each.index, "entry": number}
        yield RuleBreach("chat.details-altered", _entry_path(each, number), names)


# Thought signatures on tool calls, and on text.


def check_signatures(case: ChatCase) -> Iterator[RuleBreach]:
    """Since the user's last message, the first call of every step has a signature of this vendor, or a dummy.

    Text needs no signature, but one that it has must be valid.
    """
    if case.traits.needs != "signature":
        return
    for each in case.assistants:
        if not _is_valid(case, signature_of(each.message)):
            yield RuleBreach("chat.signature-invalid", f"{each.path}.extra_content")
        for number, call in enumerate(calls_of(each.message)):
            signature = signature_of(call)
            if signature is None and number == 0 and each.index > case.loop_start:
                yield _unsigned(each)
            if not _is_valid(case, signature):
                yield RuleBreach("chat.signature-invalid", f"{each.path}.tool_calls.{number}.extra_content")


def _is_valid(case: ChatCase, signature: JsonValue) -> bool:
    given = as_str(signature)
    return signature is None or given in DUMMY_SIGNATURES or is_sealed(case.memory.secret, given)


def _unsigned(each: IndexedMessage) -> RuleBreach:
    name = as_dict(calls_of(each.message)[0].get("function")).get("name")
    path = f"{each.path}.tool_calls.0.extra_content"
    return RuleBreach("chat.signature-missing", path, {"name": name, "position": each.index + 1})

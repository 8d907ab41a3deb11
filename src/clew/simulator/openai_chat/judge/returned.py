"""Which reasoning came back: piece by piece, in which field, whose it is, and whether it is unchanged.

A piece is *own* if it is what the simulator gave with this message, or if a proof shows it. It is a *placeholder* if it has
nothing to read, or is a value that vendors define as "nothing". Otherwise it is *foreign*. Own reasoning in another place or
with other bytes is own, but not the *same*. Some vendors read the reasoning of earlier turns only on request: else it is
*unread*. Reasoning that was given and did not come back is reported as missing, and a thought in the visible text of any
message as text.
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
from clew.simulator.openai_chat.memory import GivenAnswer, is_marked, is_sealed, is_signed
from clew.simulator.values import as_dict, as_list, as_str

_DUMMIES: Final = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
DUMMY_SIGNATURES: Final = frozenset((*_DUMMIES, *(base64.b64encode(each.encode()).decode() for each in _DUMMIES)))
"""Values that stand for a thought signature where there is none."""
_TAGGED: Final = re.compile(r"\s*<(think|thinking|thought)>(.*?)</\1>", re.DOTALL)
_SIMILAR: Final = 0.6
_SHORT: Final = 12
_COMPARED: Final = 2000
"""Characters: of long texts only the beginning is compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnedReasoning:
    """One piece of reasoning in a request."""

    path: str
    field: str
    value: JsonValue = None
    maker: str = ""
    """The model that made it; "" if another vendor did."""
    whose: Literal["own", "foreign", "placeholder"] = "foreign"
    same: bool = False
    """Byte for byte what was given, and on the message that it was given with."""
    fate: Literal["kept", "missing", "unread", "as text", "refused"] = "kept"

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
    """All pieces, in order."""
    found: list[ReturnedReasoning] = []
    thoughts = [thought.strip() for thought in case.memory.thoughts() if len(thought) >= _SHORT]
    for each in case.messages:
        visible = text_of(each.message.get("content"))
        if each.role == "assistant":
            inside, visible = _tagged(each.message.get("content"))
            found += _of_answer(each, case, inside, visible)
        for thought in thoughts:
            if thought in visible:
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
    shown = inside.strip("\n") if inside is not None else _shown(pieces)
    given = case.memory.find(each.message, visible, shown)
    judged = [_judge(piece, given, case) for piece in pieces]
    if given and given.field and not any(piece.whose == "own" and piece.field == given.field for piece in judged):
        path = f"{each.path}.{given.field}"
        judged.append(ReturnedReasoning(path=path, field=given.field, maker=given.model, whose="own", fate="missing"))
    if case.reads_earlier or each.index > case.loop_start:
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


def _shown(pieces: list[ReturnedReasoning]) -> str:
    """The text of the reasoning, in whichever field it is."""
    for piece in pieces:
        if isinstance(piece.value, str) and piece.field != "extra_content":
            return piece.value
    return "".join(_entry_text(piece.value) for piece in pieces)


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
    return replace(piece, whose="own" if _is_proven(piece, case) else "foreign")


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


def _is_proven(piece: ReturnedReasoning, case: ChatCase) -> bool:
    """Whether a seal, a signature or a mark of this simulator proves the piece, on whichever message it is."""
    secret = case.memory.secret
    if isinstance(piece.value, str):
        return is_marked(secret, piece.value) or is_sealed(secret, piece.value)
    entry = as_dict(piece.value)
    signature = as_str(entry.get("signature"))
    if signature and is_signed(secret, case.model, _entry_text(entry), signature):
        return True
    return is_sealed(secret, as_str(entry.get("data")))

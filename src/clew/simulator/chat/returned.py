"""Which reasoning came back: piece by piece, under which field, whose it is, and whether it is as it was given.

A piece is *own* if it is what we gave with just this message, or if a seal of ours proves it; a *placeholder* if there is
nothing in it to read, or it is a value that vendors know as "nothing"; *foreign* otherwise. Own reasoning that is not where
it belongs, or has other bytes, is own and not the *same*. Some vendors read that of earlier turns only if they are told to:
else it is *unread*. What we gave and did not get back is noted as missing, and what
stands in plain sight, in any message's text, as text.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Final, Literal

from clew.model.json import JsonObject, JsonValue
from clew.simulator.chat.books import ChatBooks, Remembered
from clew.simulator.chat.case import ChatCase, Place, calls_of, text_of
from clew.simulator.chat.sealing import is_sealed, is_signed, mark_of
from clew.simulator.values import as_dict, as_list, as_str

__all__ = ["DUMMIES", "Returned", "returned", "signature_of", "tagged"]

_PLAIN: Final = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
DUMMIES: Final = frozenset((*_PLAIN, *(base64.b64encode(each.encode()).decode() for each in _PLAIN)))
"""Values that stand for a thought signature where there is none."""
_TAGGED: Final = re.compile(r"\s*<(think|thinking|thought)>(.*?)</\1>", re.DOTALL)
_ALIKE: Final = 0.6
_SHORT: Final = 12
_LONG: Final = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """One piece of reasoning in a request."""

    path: str
    field: str
    value: JsonValue = None
    maker: str = ""
    """The model that made it; "" if it is not ours."""
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


def returned(case: ChatCase) -> tuple[Returned, ...]:
    """All of it, in order."""
    found: list[Returned] = []
    thoughts = [thought for thought in case.books.thoughts() if len(thought) >= _SHORT]
    for place in case.messages:
        if place.role == "assistant":
            found += _of_message(place, case)
        found += _as_text(place, thoughts)
    return tuple(found)


def tagged(content: JsonValue) -> tuple[str | None, str]:
    """Reasoning in tags at the head of a content, and the rest of it."""
    found = _TAGGED.match(content) if isinstance(content, str) else None
    return (found[2], found.string[found.end() :]) if found else (None, text_of(content))


def _of_message(place: Place, case: ChatCase) -> list[Returned]:
    pieces = list(_pieces(place))
    inside, said = tagged(place.message.get("content"))
    shown = inside.strip("\n") if inside is not None else _shown(pieces)
    given = case.books.find(place.message, said, shown)
    judged = [_judged(piece, given, case.books, case.model) for piece in pieces]
    if given and given.field and not any(piece.whose == "own" and piece.field == given.field for piece in judged):
        judged.append(_missing(place, given))
    return judged if case.reads_earlier or place.index > case.loop_start else [_unread(piece) for piece in judged]


def _unread(piece: Returned) -> Returned:
    return replace(piece, fate="unread") if piece.fate == "kept" else piece


def _missing(place: Place, given: Remembered) -> Returned:
    return Returned(path=f"{place.path}.{given.field}", field=given.field, maker=given.model, whose="own", fate="missing")


def _pieces(place: Place) -> Iterator[Returned]:
    message = place.message
    for name in ("reasoning_content", "reasoning"):
        if isinstance(message.get(name), str):
            yield Returned(path=f"{place.path}.{name}", field=name, value=message[name])
    for number, entry in enumerate(as_list(message.get("reasoning_details"))):
        yield Returned(path=f"{place.path}.reasoning_details.{number}", field="reasoning_details", value=entry)
    for number, part in enumerate(as_list(message.get("content"))):
        if as_dict(part).get("type") == "thinking":
            yield Returned(path=f"{place.path}.content.{number}", field="content", value=part)
    inside, _ = tagged(message.get("content"))
    if inside is not None:
        yield Returned(path=f"{place.path}.content", field="content", value=inside)
    if (signature := signature_of(message)) is not None:
        yield Returned(path=f"{place.path}.extra_content", field="extra_content", value=signature)
    for number, call in enumerate(calls_of(message)):
        if (signature := signature_of(call)) is not None:
            path = f"{place.path}.tool_calls.{number}.extra_content"
            yield Returned(path=path, field="extra_content", value=signature)


def _shown(pieces: list[Returned]) -> str:
    """The reasoning's text, wherever it is."""
    for piece in pieces:
        if isinstance(piece.value, str) and piece.field != "extra_content":
            return piece.value
    return "".join(_text(piece.value) for piece in pieces)


def _text(value: JsonValue) -> str:
    entry = as_dict(value)
    words = entry.get("text") or entry.get("summary") or entry.get("thinking")
    return text_of(words) if isinstance(words, list) else as_str(words)


def _judged(piece: Returned, given: Remembered | None, books: ChatBooks, model: str) -> Returned:
    if _is_nothing(piece):
        return replace(piece, whose="placeholder", same=given is not None and given.reasoning == piece.value)
    if given and _is_given(piece, given):
        return replace(piece, whose="own", same=True, maker=given.model)
    if given and _is_like(piece, given):
        return replace(piece, whose="own", maker=given.model)
    return replace(piece, whose="own" if _proved(piece, books, model) else "foreign")


def _is_nothing(piece: Returned) -> bool:
    if piece.field == "extra_content":
        return as_str(piece.value) in DUMMIES
    return isinstance(piece.value, str) and not any(character.isalnum() for character in piece.value)


def _is_given(piece: Returned, given: Remembered) -> bool:
    if piece.field == "extra_content":
        return piece.value in [signature_of(each) for each in (given.message, *calls_of(given.message))]
    if isinstance(piece.value, dict):
        place = int(piece.path.rpartition(".")[2])
        those = given.details if piece.field == "reasoning_details" else as_list(given.message.get("content"))
        return place < len(those) and those[place] == piece.value
    if piece.field != "content":
        return piece.value == given.reasoning
    inside, _ = tagged(given.message.get("content"))
    return piece.value == inside if inside is not None else str(piece.value).strip("\n") == given.reasoning


def signature_of(signed: JsonObject) -> JsonValue:
    """Of a call, or of a message."""
    return as_dict(as_dict(signed.get("extra_content")).get("google")).get("thought_signature")


def _is_like(piece: Returned, given: Remembered) -> bool:
    """Much the same words; of long ones the beginning tells."""
    said = (piece.value if isinstance(piece.value, str) else _text(piece.value))[:_LONG]
    return bool(given.reasoning) and SequenceMatcher(None, said, given.reasoning[:_LONG]).ratio() > _ALIKE


def _proved(piece: Returned, books: ChatBooks, model: str) -> bool:
    """Does a seal, a signature or a mark of ours say so, whatever the message?"""
    if isinstance(piece.value, str):
        return mark_of(books.secret, piece.value) or is_sealed(books.secret, piece.value)
    entry = as_dict(piece.value)
    signature = as_str(entry.get("signature"))
    if signature and is_signed(books.secret, model, _text(entry), signature):
        return True
    return is_sealed(books.secret, as_str(entry.get("data")))


def _as_text(place: Place, thoughts: list[str]) -> Iterator[Returned]:
    """Thoughts of ours that stand in plain sight."""
    _, said = tagged(place.message.get("content")) if place.role == "assistant" else (None, _words(place))
    for thought in thoughts:
        if thought.strip() in said:
            yield Returned(path=f"{place.path}.content", field="content", whose="own", fate="as text")


def _words(place: Place) -> str:
    return text_of(place.message.get("content"))

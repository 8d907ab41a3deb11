"""What a delta says of the model's thinking, under any of its names, and what of it is new.

One delta may say the same under several names, so the names have an order: the richest that has text is read, the others in
the same delta mirror it. An empty string never hides another field. Entries that show nothing (encrypted ones, signatures)
are kept beside the text.

Servers also repeat themselves from delta to delta. `Mirrors` keeps one thought from being told twice under two names, and
`Snapshots` finds what is new in deltas that repeat all that came before them.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import Final

from msgspec import Struct

from clew.dialects.openai_chat.payloads import TEXT_MEMBERS
from clew.dialects.openai_chat.stream_chunks import ChunkDelta
from clew.model.json import JsonObject, JsonValue, object_of, objects_of, text_of
from clew.model.texts import LongText

FIELDS: Final = ("reasoning_content", "reasoning", "reasoning_text", "thinking")
"""Plain names, in the order in which they are believed."""

_REDACTED: Final = re.compile(r"(?:\s*\[REDACTED\])+\s*")
"""Stands in the flat field for an encrypted entry. It is no text. (A space between two has one place in it: with two, there
are more ways to read a row of them than anybody can try.)"""
_PIECE: Final = 512
"""Characters from which on a piece is not added to: a piece for each delta would take more memory than its words."""


class DeltaThought(Struct, frozen=True, gc=False):
    """What one delta says. `channels` are the names that have text, the believed one first; `empty` is a name with ""."""

    text: str
    channels: tuple[str, ...]
    entries: dict[str, list[JsonObject]]
    empty: str = ""


def thought_in(delta: ChunkDelta, details: DetailTexts, blocks: DetailTexts) -> DeltaThought:
    """`details` and `blocks` remember from delta to delta what was last shown of such entries."""
    plain = {name: value for name in FIELDS if (value := getattr(delta, name)) is not None}
    lists = {"reasoning_details": objects_of(delta.reasoning_details), "thinking_blocks": objects_of(delta.thinking_blocks)}
    texts = {
        "reasoning_details": details.text_of_all(lists["reasoning_details"]),
        **{name: shown_text(value) for name, value in plain.items()},
        "thinking_blocks": blocks.text_of_all(lists["thinking_blocks"]),
    }
    channels = tuple([name for name, text in texts.items() if text])
    return DeltaThought(
        text=texts[channels[0]] if channels else "",
        channels=channels,
        entries={name: entries for name, entries in lists.items() if entries},
        empty=next((name for name, value in plain.items() if value == ""), ""),
    )


def may_hide(text: str) -> bool:
    """Whether a piece of this text may stand for something that is not shown."""
    return "[REDACTED]" in text


def shown_text(value: JsonValue) -> str:
    """The text of a plain name."""
    text = value if isinstance(value, str) else ""
    return "" if text.endswith("]") and _REDACTED.fullmatch(text) else text


def part_text(chunk: JsonObject) -> str:
    """The text of a thinking chunk in a content list; references in it show nothing."""
    thinking = chunk.get("thinking")
    if isinstance(thinking, str):
        return thinking
    return "".join(text_of(part.get("text")) for part in objects_of(thinking) if part.get("type") == "text")


def signature_on(extra: JsonValue) -> JsonObject:
    """The signature that a whole message carries in `extra_content`, as it is to come back; other members there only say
    what a delta is."""
    found: JsonObject = {}
    for host, given in object_of(extra).items():
        if signature := object_of(given).get("thought_signature"):
            found[host] = {"thought_signature": signature}
    return {"extra_content": found} if found else {}


class DetailTexts:
    """The visible text of entries as they come. Parts of a summary come without anything between them: a blank line is."""

    __slots__ = ("_part", "_unsigned")

    def __init__(self) -> None:
        self._part: tuple[JsonValue, JsonValue] | None = None
        self._unsigned: list[str] = []

    def text_of_all(self, entries: list[JsonObject]) -> str:
        texts: list[str] = []
        for entry in entries:
            kind = text_of(entry.get("type"))
            text = text_of(entry.get(TEXT_MEMBERS.get(kind, "")))
            if not entry.get("signature"):
                self._unsigned.append(text)
            else:  # the entry that signs a text may say all of it again
                before, self._unsigned = "".join(self._unsigned), []
                if text == before:
                    continue
            if kind == "reasoning.summary" and text:
                part_before, self._part = self._part, (entry.get("index"), entry.get("id"))
                text = "\n\n" + text if part_before is not None and part_before != self._part else text
            texts.append(text)
        return "".join(texts)


def without_shown(entries: list[JsonObject], count: int) -> list[JsonObject]:
    """The entries without the first `count` characters that they show, which a snapshot has only repeated."""
    new: list[JsonObject] = []
    for entry in entries:
        member = TEXT_MEMBERS.get(text_of(entry.get("type")), "")
        text = text_of(entry.get(member))
        new.append({**entry, member: text[count:]} if text and count else entry)
        count = max(0, count - len(text))
    return new


class Mirrors:
    """Keeps one thought from being told twice.

    Servers send the same reasoning under several names: in one chunk (OpenRouter's `reasoning` and `reasoning_details`), in
    different chunks (a signed block that repeats everything at the end), or in a field and between tags at once. Each name
    is a channel with its own place in what was told. What a channel says where others have already been is a mirror if it
    is the same, white space aside; a channel that is in front says something new. One that is alone is always in front, so
    that honest repetitions stay. Only the thought that is being told, or was told last, is remembered.
    """

    __slots__ = ("_alone", "_fresh", "_pieces", "_places", "_size", "_starts", "_texts")

    def __init__(self) -> None:
        self._alone = ""  # the only channel so far: its texts are kept as they come, since nothing is compared with them
        self._texts = LongText()
        self._pieces: list[str] = []  # what was told, without white space
        self._starts: list[int] = []  # where each of them begins
        self._size = 0
        self._places: dict[str, int] = {}
        self._fresh = False

    def end_thought(self) -> None:
        """Something else was said: what is new from now on is another thought."""
        self._fresh = bool(self._alone or self._pieces)

    def is_alone(self, channel: str) -> bool:
        """Whether no other channel has said anything: all that this one says is new."""
        return channel == self._alone or not (self._alone or self._places)

    def new_text(self, channel: str, text: str, others: tuple[str, ...] = ()) -> str:
        """The part of a channel's text that nobody has told. `others` are channels that say the same in the same chunk."""
        if not others and self.is_alone(channel):
            if self._fresh and not text.isspace():
                self._texts, self._fresh = LongText(), False
            self._alone = channel
            self._texts.add(text)
            return text
        if self._alone:
            self._compare_from_now_on()
        bare = "".join(text.split())
        place = self._places.get(channel, 0)
        if place == self._size:
            new, told = text, bare
        else:  # others have been here
            new, told = text, self._told_between(place, min(place + len(bare), self._size))
            if told == bare:
                new = ""
            elif place + len(told) == self._size and bare.startswith(told):
                new = _after(text, len(told))
            told = "".join(new.split())
        self._tell(told)
        if not new and place < self._size:
            place += len(bare)
        else:
            place = self._size
        self._places.update(dict.fromkeys((channel, *others), place))
        return new

    def _compare_from_now_on(self) -> None:
        channel, self._alone = self._alone, ""
        told = "".join(self._texts.whole().split())
        self._texts = LongText()
        fresh, self._fresh = self._fresh, False
        self._tell(told)
        self._fresh = fresh
        self._places = {channel: self._size}

    def _told_between(self, start: int, end: int) -> str:
        """What was told between two places. A mirror asks with each delta, so the rest is not looked at."""
        first, last = bisect_right(self._starts, start) - 1, bisect_left(self._starts, end)
        if first < 0 or start >= end:
            return ""
        at = self._starts[first]
        return "".join(self._pieces[first:last])[start - at : end - at]

    def _tell(self, bare: str) -> None:
        if not bare:
            return
        if self._fresh:
            self._pieces, self._starts, self._size, self._places, self._fresh = [], [], 0, {}, False
        if self._pieces and len(self._pieces[-1]) < _PIECE:
            self._pieces[-1] += bare
        else:
            self._pieces.append(bare)
            self._starts.append(self._size)
        self._size += len(bare)


def _after(text: str, count: int) -> str:
    """The text without its first `count` characters that are no white space."""
    for at, character in enumerate(text):
        if count == 0:
            return text[at:]
        count -= not character.isspace()
    return ""


class Snapshots:
    """Deltas that repeat all that came before them: `new_text` is what a delta adds.

    MiniMax's own sample code reads each delta as the whole text so far; measured streams of the same vendor send only what
    is new. The second delta decides: if it begins with the first and is longer, the deltas are snapshots, otherwise they
    are pieces, to the end of the run. A text that honestly repeats itself ("ha", "ha") is not longer, so it survives. A
    piece may begin like the one before it ("h", "ha"), and another thought begins again: so the first delta that does not
    begin with all that came before is new as a whole, and the one behind it decides again.
    """

    __slots__ = ("_decided", "_so_far")

    def __init__(self) -> None:
        self._so_far = ""
        """What the deltas have said, as long as they may be snapshots."""
        self._decided: bool | None = None

    def new_text(self, text: str) -> str:
        if self._decided is None:
            if self._so_far:
                self._decided = len(text) > len(self._so_far) and text.startswith(self._so_far)
            self._so_far = "" if self._decided is False else self._so_far or text
        if not self._decided:
            return text
        if not text.startswith(self._so_far):
            self._decided, self._so_far = None, text
            return text
        added, self._so_far = text[len(self._so_far) :], text
        return added

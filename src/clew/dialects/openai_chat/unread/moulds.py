"""The bytes around the one string by which most deltas differ.

Nine chunks of ten say the same thing again but for a word. A `Mould` is such a chunk without its word: the bytes before it
and those behind it, and which member the word is. It is made from an event that was read, and only if nothing else in that
event says anything; then an event with the same bytes around another word means what the first one meant, and need not be
read. That the word stands where it seems to is not guessed from the bytes but tried, with another word in its place.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Container
from operator import itemgetter
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from clew.dialects.openai_chat.answer.thoughts import FIELDS, THOUGHTS
from clew.dialects.openai_chat.failures.bodies import error_in
from clew.dialects.openai_chat.shapes import object_of, read_object
from clew.dialects.openai_chat.unread.lines import Lines
from clew.model.json import JsonObject, JsonValue

__all__ = ["Member", "Mould", "is_silent", "mould_of"]

_PROBE: Final = "\ufffd a word that no backend says"
_NOTHING: Final[tuple[JsonValue, ...]] = (None, "", [], {})
_UNSAID: Final = (None, "")
_SILENT: Final = frozenset(("index", "delta", "content_filter_results"))
"""Members of a choice that add nothing to a delta."""
_ROLE: Final = ("role",)
_CALL: Final = frozenset(("index", "id", "type", "function"))
_PLAIN: Final = ("content", *FIELDS)
_STRINGS: Final = {
    name: re.compile(b'"%b"[ ]*+:[ ]*+"([^"\\\\]*+(?:\\\\.[^"\\\\]*+)*+)"' % name.encode())
    for name in (*_PLAIN, "arguments")
}
_string = msgspec.json.Decoder(str)
_UNSOUND = (msgspec.MsgspecError, UnicodeDecodeError)


class Member(NamedTuple):
    """Where a chunk has its word: a member of the delta, or the arguments of the call in a place."""

    name: str
    place: int = 0
    call_id: str = ""

    @property
    def key(self) -> str:
        return "arguments" if self.name == "tool_calls" else self.name


class Mould(Struct, frozen=True):
    """An event without its word. It is one line, and an empty one, which is the end of `tail`."""

    member: Member
    head: bytes
    tail: bytes
    is_plain: bool = False
    """Nothing in it has any effect but the word."""

    def end_at(self, whole: bytes, at: int) -> int:
        """Where the event that begins here ends, if it has this head, as whoever asks has seen, and this tail; else 0.

        What stands between them may be no word, or nothing.
        """
        end = whole.find(b"\n", at) + 2
        stop = end - len(self.tail)
        return end if stop >= at + len(self.head) and whole.startswith(self.tail, stop) else 0

    def word_in(self, whole: bytes, at: int, end: int) -> str:
        """What the event between these two says; "" if it has to be read."""
        try:
            return _string.decode(b'"%b"' % whole[at + len(self.head) : end - len(self.tail)])
        except _UNSOUND:
            return ""

    def words_at(self, read: Lines, at: int) -> list[bytes]:
        """What stands in the place of the word in the events that begin here, as long as they come out of this mould.

        The first does, as whoever asks has seen.
        """
        events, whole, head, tail = read.events_at(at), read.whole, self.head, self.tail[:-1]
        likely = bisect_left(events, True, key=lambda event: not (event.startswith(head) and event.endswith(tail)))
        words = list(map(itemgetter(slice(len(head), -len(tail))), events[:likely]))
        inner, start = (self.tail + head).join(words), at + len(head)
        if whole.startswith(inner, start) and whole.startswith(self.tail, start + len(inner)):
            return words
        return words[: self._proved(words, whole, at)]

    def _proved(self, words: list[bytes], whole: bytes, at: int) -> int:
        """How many of the words are what seemed likely."""
        for number, word in enumerate(words):
            if not whole.startswith(self.head + word + self.tail, at):
                return number
            at += len(word) + self.around
        return len(words)

    @property
    def around(self) -> int:
        """The bytes of an event besides its word."""
        return len(self.head) + len(self.tail)


def mould_of(raw: bytes, chunk: JsonObject) -> Mould | None:
    """The mould of an event and of the chunk that was read from it; None if the chunk says more than one word."""
    member = _member_in(chunk)
    if member is None:
        return None
    for match in _STRINGS[member.key].finditer(raw) if raw.startswith(b"data:") and raw.find(b"\n") == len(raw) - 2 else ():
        head, tail = raw[: match.start(1)], raw[match.end(1) :]
        if _is_same(chunk, member, head + _PROBE.encode() + tail):
            return Mould(member, head, tail, _is_plain(chunk, member))
    return None


def is_silent(chunk: JsonObject) -> bool:
    """Whether it says nothing but that an answer begins. A thought in it may be empty."""
    delta = _delta_in(chunk)
    if delta is None or error_in(chunk) is not None:
        return False
    return all(each in _UNSAID for name, each in delta.items() if name not in _ROLE)


def _is_plain(chunk: JsonObject, member: Member) -> bool:
    """Whether nothing else in it has any effect: even an empty thought may have one."""
    delta = object_of(_first(chunk.get("choices")).get("delta"))
    return error_in(chunk) is None and all(delta.get(name) is None for name in THOUGHTS if name != member.name)


def _is_same(chunk: JsonObject, member: Member, probe: bytes) -> bool:
    """Whether the event with a probe in it reads as this chunk with the probe as its word."""
    tried = read_object(probe.partition(b":")[2])
    if tried is None or not (holder := _holder(tried, member)) or holder.get(member.key) != _PROBE:
        return False
    holder[member.key] = _holder(chunk, member)[member.key]
    return tried == chunk


def _member_in(chunk: JsonObject) -> Member | None:
    """The only member that says something; None if there is no such."""
    delta = _delta_in(chunk)
    said = [] if delta is None else _said_in(delta, _ROLE)
    if delta is None or len(said) != 1:
        return None
    if said == ["tool_calls"]:
        return _call_in(delta["tool_calls"])
    return Member(said[0]) if said[0] in _PLAIN and isinstance(delta[said[0]], str) else None


def _delta_in(chunk: JsonObject) -> JsonObject | None:
    """The delta of a chunk, if nothing besides it says anything."""
    choices = chunk.get("choices")
    if not isinstance(choices, list) or len(choices) != 1 or chunk.get("usage") or "x_groq" in chunk:
        return None
    choice = object_of(choices[0])
    return None if choice.get("index") or _said_in(choice, _SILENT) else object_of(choice.get("delta"))


def _said_in(value: JsonObject, silent: Container[str]) -> list[str]:
    """The members that say something, besides those that add nothing."""
    return [name for name, each in value.items() if name not in silent and (each or each not in _NOTHING)]


def _call_in(calls: JsonValue) -> Member | None:
    """A call that says nothing but more of its arguments."""
    entry = object_of(calls[0]) if isinstance(calls, list) and len(calls) == 1 else {}
    function = object_of(entry.get("function"))
    said, more = _said_in(function, ()), _said_in(entry, _CALL)
    place, call_id = entry.get("index"), entry.get("id")
    if said != ["arguments"] or more or type(place) is not int or not isinstance(function["arguments"], str):
        return None
    return Member("tool_calls", place, call_id if isinstance(call_id, str) else "")


def _holder(chunk: JsonObject, member: Member) -> JsonObject:
    """The object in which the word is."""
    delta = object_of(_first(chunk.get("choices")).get("delta"))
    return delta if member.name != "tool_calls" else object_of(_first(delta.get("tool_calls")).get("function"))


def _first(value: JsonValue) -> JsonObject:
    return object_of(value[0]) if isinstance(value, list) and value else {}

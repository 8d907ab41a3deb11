"""Tool calls out of deltas that may lack, repeat or mix up everything that tells them apart.

A delta belongs to the call of its index; without one, to that of its id; without either, to the last. A new id in an old
place, or a name where the call before is already whole, begins another call. An empty id or name is none. Names are never
joined: servers repeat them. Arguments are, except when a last delta repeats what is already whole.

One call is told at a time, in the order in which they began: the first streams, the others wait until it is whole.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from clew.model.bounds import check_blocks
from clew.model.json import JsonObject, JsonValue, object_of, text_of, whole_text, whole_value
from clew.model.texts import LongText

_EXTRA: Final = ("extra_content", "provider_specific_fields")
"""What a call carries for its maker alone (the thought signature of Gemini's OpenAI endpoint)."""
_MARKS: Final = re.compile(r'[\[\]{}"]')
_STRING_MARKS: Final = re.compile(r'"|\\.?', re.DOTALL)
_DEPTH: Final = {"{": 1, "[": 1, "}": -1, "]": -1}


class PartialCall:
    """One call as far as it came."""

    __slots__ = ("_end", "_is_object", "_text", "_unseen", "extra", "is_open", "name", "size", "unsent", "wire_id")

    def __init__(self) -> None:
        self.wire_id = ""
        """The backend's id."""
        self.name = ""
        self.is_open = False
        """The client is being told of it."""
        self.unsent: list[str] = []
        """Arguments of an open call that the client was not told."""
        self.extra: JsonObject = {}
        self.size = 0
        """How many characters of arguments came so far."""
        self._text = LongText()
        self._unseen = LongText()  # by the finder of the end
        self._end = _ObjectEnd()
        self._is_object: bool | None = None

    def open(self) -> None:
        self.is_open = True
        self.unsent.append(self._text.whole())

    def is_whole(self) -> bool:
        """Whether the arguments are a finished object. They are read once, when their brackets are closed."""
        self._end.feed(self._unseen.whole())
        self._unseen = LongText()
        if not self._end.is_closed:
            return False
        if self._is_object is None:
            self._is_object = _is_object(self._text.whole())
        return self._is_object

    def grow(self, arguments: str) -> None:
        if self.repeats(arguments):
            return
        self._text.add(arguments)
        self._unseen.add(arguments)
        self.size += len(arguments)
        if self.is_open:
            self.unsent.append(arguments)

    def continues_with(self, wire_id: str, name: str, arguments: str) -> bool:
        """Whether a delta in this call's place is more of it."""
        if wire_id and self.wire_id and wire_id != self.wire_id:
            return not name and not self.is_whole()  # some servers make up a new id for each delta
        if name and self.name and self.is_whole():
            return name == self.name and (not arguments or self.repeats(arguments))
        return True

    def repeats(self, arguments: str) -> bool:
        """Whether these are all the arguments once more."""
        return len(arguments) == self.size and self._text.whole() == arguments and self.is_whole()


def _name(function: JsonObject) -> str:
    """Without the channel marks that gpt-oss leaves on names."""
    name = text_of(function.get("name"))
    return whole_text(name).split("<|")[0].strip() if name else ""


def _arguments(function: JsonObject) -> str:
    """Text as it came; some servers send the object itself."""
    value = function.get("arguments")
    if isinstance(value, str):
        return value
    return msgspec.json.encode(whole_value(value)).decode() if isinstance(value, dict) else ""


def _is_object(text: str) -> bool:
    try:
        return isinstance(msgspec.json.decode(text), dict)
    except (ValueError, RecursionError):
        return False


class PartialCalls:
    """The calls of one answer."""

    __slots__ = ("_all", "_by_id", "_by_place", "_done", "current")

    def __init__(self) -> None:
        self.current: PartialCall | None = None
        """The call that is told now, if one was begun that is not done."""
        self._all: list[PartialCall] = []
        self._by_place: dict[object, int] = {}
        self._by_id: dict[str, int] = {}
        """Where the newest call with an id stands among all."""
        self._done = 0

    @property
    def has_next(self) -> bool:
        return self._done + 1 < len(self._all)

    def finish_current(self) -> None:
        """The current call is done; what still comes for it is lost."""
        self._done += 1
        self.current = self._all[self._done] if self._done < len(self._all) else None

    def take(self, entry: JsonObject) -> None:
        """One entry of `tool_calls`."""
        function = object_of(entry.get("function"))
        wire_id, name, arguments = text_of(entry.get("id")), _name(function), _arguments(function)
        at = self._place_of(entry.get("index"), wire_id)
        if at is None or ((wire_id or name) and not self._all[at].continues_with(wire_id, name, arguments)):
            at = len(self._all)
            check_blocks(at + 1)
            self._all.append(PartialCall())
            self._by_place[_key(entry.get("index"))] = at
            self.current = self.current or self._all[at]
        call = self._all[at]
        call.name = call.name or name
        if wire_id:
            call.wire_id = call.wire_id or whole_text(wire_id)
            self._by_id[call.wire_id] = max(at, self._by_id.get(call.wire_id, 0))
        if arguments:
            call.grow(arguments)
        for member in _EXTRA:
            if entry.get(member):
                call.extra[member] = entry[member]

    def _place_of(self, index: JsonValue, wire_id: str) -> int | None:
        """Where the newest call stands that is in the place which a delta names."""
        if index is not None:
            return self._by_place.get(_key(index))
        if wire_id and wire_id in self._by_id:
            return self._by_id[wire_id]
        if not self._all or (wire_id and (self._all[-1].wire_id or self._all[-1].is_whole())):
            return None
        return len(self._all) - 1


def _key(place: JsonValue) -> object:
    """A place as the key of a dictionary. It is a number, but servers send anything."""
    if type(place) is int:
        return place
    return msgspec.json.encode(whole_value(place)) if isinstance(place, dict | list) else place


class _ObjectEnd:
    """Where a JSON object ends that comes in pieces: `is_closed` says whether the text could be one whole object by now.

    Each piece is looked at once, for its brackets and quotes, so that arguments in a thousand deltas cost as much as in one.
    Whether the text between them is JSON is checked elsewhere, once.
    """

    __slots__ = ("_depth", "_ended", "_escaped", "_in_string", "_spoiled")

    def __init__(self) -> None:
        self._depth = 0
        self._ended = False
        self._in_string = False
        self._escaped = False
        """The text ends inside an escape."""
        self._spoiled = False
        """Whatever comes now, this will never be one object."""

    @property
    def is_closed(self) -> bool:
        return self._ended and not self._spoiled

    def feed(self, text: str) -> None:
        at = 0
        while at < len(text) and not self._spoiled:
            if self._escaped:
                self._escaped, at = False, at + 1
            elif self._in_string or self._depth:
                mark = (_STRING_MARKS if self._in_string else _MARKS).search(text, at)
                if mark is None:
                    return
                at = mark.end()
                if self._in_string:
                    self._in_string = mark[0] != '"'
                    self._escaped = mark[0] == "\\"
                else:
                    self._in_string = mark[0] == '"'
                    self._depth += _DEPTH.get(mark[0], 0)
                    self._ended = self._depth == 0
            else:  # before the object and behind it only space may stand
                at = len(text) - len(text[at:].lstrip())
                if at < len(text):
                    self._spoiled = self._ended or text[at] != "{"
                    self._depth = 1
                at += 1

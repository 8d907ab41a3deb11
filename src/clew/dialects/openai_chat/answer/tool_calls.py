"""Tool calls out of deltas that may lack, repeat or mix up everything that tells them apart.

A delta belongs to the call of its index; without one, to that of its id; without either, to the last. A new id in an old
place, or a name where the call before is already whole, begins another call. An empty id or name is none. Names are never
joined: servers repeat them. Arguments are, except when a last delta repeats what is already whole.

One call is told at a time, in the order in which they began: the first streams, the others wait until it is whole.
"""

from __future__ import annotations

import msgspec

from clew.dialects.openai_chat.answer.object_ends import ObjectEnds
from clew.model.bounds import check_blocks
from clew.model.json import JsonObject, JsonValue, whole_text, whole_value
from clew.model.loose_json import object_of, text_of
from clew.model.texts import LongText

__all__ = ["Call", "Calls"]


class Call:
    """One call as far as it came."""

    __slots__ = (
        "_ends",
        "_is_object",
        "_size",
        "_text",
        "_unseen",
        "_unsent",
        "extra",
        "is_open",
        "name",
        "place",
        "wire_id",
    )

    def __init__(self, place: JsonValue, wire_id: str) -> None:
        self.place = place
        self.wire_id = wire_id
        self.name = ""
        self.is_open = False
        self.extra: JsonObject = {}
        self._text = LongText()
        self._size = 0
        self._unsent = LongText()
        self._ends = ObjectEnds()
        self._unseen = LongText()  # by the reader of brackets
        self._is_object: bool | None = None

    def unsent(self) -> str:
        """The arguments that were not taken yet."""
        more, self._unsent = self._unsent.whole(), LongText()
        return more

    def text(self) -> str:
        return self._text.whole()

    @property
    def size(self) -> int:
        """How many characters of arguments came so far."""
        return self._size

    def is_whole(self) -> bool:
        """Whether the arguments are a finished object. They are read once, when their brackets are closed."""
        self._ends.feed(self._unseen.whole())
        self._unseen = LongText()
        if not self._ends.is_closed:
            return False
        if self._is_object is None:
            self._is_object = _is_object(self.text())
        return self._is_object

    def grow(self, entry: JsonObject) -> None:
        function = object_of(entry.get("function"))
        self.wire_id = self.wire_id or whole_text(text_of(entry.get("id")))
        self.name = self.name or _name(function)
        arguments = _arguments(function)
        if arguments and not self._repeats(arguments):
            for text in (self._text, self._unsent, self._unseen):
                text.add(arguments)
            self._size += len(arguments)
        self.extra.update(_extra(entry))

    def continues_with(self, entry: JsonObject) -> bool:
        """Whether a delta in this call's place is more of it."""
        function = object_of(entry.get("function"))
        wire_id, name, arguments = text_of(entry.get("id")), _name(function), _arguments(function)
        if wire_id and self.wire_id and wire_id != self.wire_id:
            return not name and not self.is_whole()  # some servers make up a new id for each delta
        if name and self.name and self.is_whole():
            return name == self.name and (not arguments or self._repeats(arguments))
        return True

    def _repeats(self, arguments: str) -> bool:
        return len(arguments) == self._size and self.text() == arguments and self.is_whole()


class Calls:
    """The calls of one answer."""

    __slots__ = ("_all", "_by_id", "_by_place", "_told")

    def __init__(self) -> None:
        self._all: list[Call] = []
        self._by_place: dict[object, int] = {}
        self._by_id: dict[str, int] = {}
        """Where the newest call with an id stands among all."""
        self._told = 0

    def take(self, entry: JsonObject) -> None:
        """One entry of `tool_calls`."""
        at = self._at(entry)
        if at is None or not self._all[at].continues_with(entry):
            at = len(self._all)
            check_blocks(at + 1)
            self._all.append(Call(entry.get("index"), whole_text(text_of(entry.get("id")))))
            self._by_place[_key(entry.get("index"))] = at
        call = self._all[at]
        call.grow(entry)
        if call.wire_id:
            self._by_id[call.wire_id] = max(at, self._by_id.get(call.wire_id, 0))

    @property
    def current(self) -> Call | None:
        """The call to tell now, if one was begun that is not told."""
        return self._all[self._told] if self._told < len(self._all) else None

    @property
    def has_next(self) -> bool:
        return self._told + 1 < len(self._all)

    def told(self) -> None:
        """The current call is done; what still comes for it is lost."""
        self._told += 1

    def _at(self, entry: JsonObject) -> int | None:
        """Where the newest call stands that is in the place which a delta names."""
        index, wire_id = entry.get("index"), text_of(entry.get("id"))
        if index is not None:
            return self._by_place.get(_key(index))
        if wire_id and wire_id in self._by_id:
            return self._by_id[wire_id]
        if not self._all or (wire_id and (self._all[-1].wire_id or self._all[-1].is_whole())):
            return None
        return len(self._all) - 1


def _key(place: JsonValue) -> object:
    """A place as the key of a dictionary. It is a number, but servers send anything."""
    return msgspec.json.encode(whole_value(place)) if isinstance(place, dict | list) else place


def _name(function: JsonObject) -> str:
    """Without the channel marks that gpt-oss leaves on names."""
    return whole_text(text_of(function.get("name"))).split("<|")[0].strip()


def _arguments(function: JsonObject) -> str:
    """Text as it came; some servers send the object itself."""
    value = function.get("arguments")
    return msgspec.json.encode(whole_value(value)).decode() if isinstance(value, dict) else text_of(value)


def _extra(entry: JsonObject) -> JsonObject:
    """What a call carries for its maker alone (the thought signature of Gemini's OpenAI endpoint)."""
    names = ("extra_content", "provider_specific_fields")
    return {name: entry[name] for name in names if entry.get(name)}


def _is_object(text: str) -> bool:
    try:
        return isinstance(msgspec.json.decode(text), dict)
    except (ValueError, RecursionError):
        return False

"""A projected request, read key by key, and the list of what writing it in this dialect changes.

The typed views of a `Request` hold only what decisions look at. A translation has to see every key, if only to report that
it was left out. So the projected bytes are read again, one level at a time: objects as raw values by key, decoded where
they are used. Each object knows its path in the client's request.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence, Set
from typing import Final, TypeAlias, TypeVar

import msgspec
from msgspec import Raw, Struct, structs
from msgspec.json import Decoder

from clew.errors import RequestInvalid
from clew.model.change import Change, What
from clew.model.request import Request, blocks_of
from clew.wire.requests import MAX_MESSAGES, encode

Fields: TypeAlias = dict[str, Raw]
Canonical: TypeAlias = dict[str, object]
"""A piece of a canonical request that is being made: plain values, and raw ones that are passed on."""
_Content: TypeAlias = str | list[Fields] | None
_T = TypeVar("_T")

STRING = Decoder(str)
STRINGS = Decoder(list[str])
_TEXT: Decoder[str | None] = Decoder(str | None)
INTEGER = Decoder(int)
NUMBER: Decoder[int | float] = Decoder(int | float)
BOOLEAN = Decoder(bool)
OBJECT = Decoder(Fields)
OBJECTS = Decoder(list[Fields])
_CONTENT: Decoder[_Content] = Decoder(_Content)
NULL: Final = Raw(b"null")
_STEP: Final = re.compile(r"[\w-]+")
"""Of the path below `$` that msgspec tells, as in `$[0].name`."""
_EMPTY: Final = frozenset({b"null", b"[]", b"{}", b'""', b"false"})


class RawObject(Struct, frozen=True):
    """An object of the request, most often a content block: its path in the client's request, and its keys."""

    path: str
    fields: Fields

    @property
    def type(self) -> str:
        return self.string("type")

    def string(self, key: str) -> str:
        """The string under this key; "" where it is null or absent. Raises RequestInvalid for another kind of value."""
        raw = self.fields.get(key)
        if raw is None:
            return ""
        try:  # nearly every read of a request is this one
            return _TEXT.decode(raw) or ""
        except (msgspec.DecodeError, UnicodeDecodeError):
            return self.value(key, STRING) or ""  # which says what is wrong, and where

    def value(self, key: str, decoder: Decoder[_T]) -> _T | None:
        raw = self.fields.get(key)
        return None if raw is None or raw == NULL else decode(raw, decoder, f"{self.path}.{key}" if self.path else key)

    def object(self, key: str) -> RawObject:
        """The object under this key; one without keys where it is null or absent."""
        return RawObject(f"{self.path}.{key}" if self.path else key, self.value(key, OBJECT) or {})


class RawMessage(Struct, frozen=True):
    """One message: its role, its blocks (a plain string is one text block), and all of its keys."""

    path: str
    role: str
    blocks: tuple[RawObject, ...]
    fields: Fields


class RawRequest(Struct, frozen=True):
    """A request: its parameters by key, and its messages."""

    parameters: RawObject
    messages: tuple[RawMessage, ...]


class RequestChanges:
    """The changes that reading or writing a request brings, in the order of their first places (law 6).

    `step` is the name under which they are reported, `no_words` what is said of a key that the dialect does not have.

    What becomes of many places in the same way (cache marks, citations, ids of calls) is one change with the path of the
    first and a count: a history of a thousand blocks must not become a thousand changes with every request.
    """

    __slots__ = ("_changes", "_groups", "_no_words", "_step")

    def __init__(self, step: str, no_words: str) -> None:
        self._step = step
        self._no_words = no_words
        self._changes: list[Change] = []
        self._groups: dict[str, tuple[int, int]] = {}

    def all(self) -> tuple[Change, ...]:
        counted = list(self._changes)
        for place, others in self._groups.values():
            if others:
                change = counted[place]
                counted[place] = structs.replace(change, why=f"{change.why} (and {others} more like it)")
        return tuple(counted)

    def add(self, path: str, what: What, why: str, step: str = "") -> None:
        self._changes.append(Change(step or self._step, path, what, why))

    def add_to_group(self, group: str, path: str, what: What, why: str) -> None:
        """One of many: only the first of a group is a change of its own."""
        place, others = self._groups.get(group, (len(self._changes), -1))
        if others < 0:
            self.add(path, what, why)
        self._groups[group] = (place, others + 1)

    def leave_out(self, path: str, why: str = "") -> None:
        self.add(path, "left out", why or self._no_words)

    def leave_out_thought(self, path: str, why: str) -> None:
        """A thought that is not sent, counted with those that the projection left out."""
        self.add(path, "left out", why, "thinking")

    def leave_out_unknown(self, path: str, fields: Mapping[str, Raw], known: Collection[str]) -> None:
        """Every key of the object at this path that this dialect has no words for; keys of one name are one group."""
        for key, value in fields.items():
            if key not in known and value != NULL:
                self.add_to_group(key, f"{path}.{key}" if path else key, "left out", self._no_words)

    def leave_out_others(self, holder: RawObject, known: Set[str]) -> None:
        """What a client's object says beyond these keys. What says no more than its absence would is no loss."""
        if not holder.fields.keys() <= known:
            self.leave_out_unknown(holder.path, said_in(holder.fields), known)


def said_in(fields: Mapping[str, Raw]) -> dict[str, Raw]:
    """The fields that say more than their absence would."""
    return {name: value for name, value in fields.items() if bytes(value) not in _EMPTY}


def invalid(path: str, why: str) -> RequestInvalid:
    """The error that says what is wrong, and where."""
    return RequestInvalid(f"{path}: {why}", path=path)


def check_count(entries: Sequence[object], path: str) -> None:
    """Raises RequestInvalid for more messages or items than a request may have, before they are looked at."""
    if len(entries) > MAX_MESSAGES:
        raise invalid(path, f"{len(entries)} entries, more than the {MAX_MESSAGES} allowed")


def renamed_path(path: str, names: Mapping[str, str]) -> str:
    """The path in the client's words: `names` has the client's name of a field by the canonical one."""
    own = next((name for name in names if path == name or path.startswith(f"{name}.")), "")
    return f"{names[own]}{path.removeprefix(own)}" if own else path


def read_raw(request: Request) -> RawRequest:
    """What is to be sent; a parameter that is null is absent. Raises RequestInvalid for a value of the wrong kind."""
    given = decode(Raw(encode(request)), OBJECT, "")
    fields = {key: raw for key, raw in given.items() if raw != NULL}
    messages = decode(fields.pop("messages"), OBJECTS, "messages")
    read: list[RawMessage] = []
    for index, (message, members) in enumerate(zip(request.messages, messages, strict=True)):
        request.source.wanted.check()
        given_at = request.source.index_of(message)
        path = f"messages.{index if given_at is None else given_at}"
        found = list(blocks_in(members.get("content"), f"{path}.content"))
        for at, block in enumerate(blocks_of(message)):  # each with its path in the client's request where it has one
            if (place := request.source.place_of(block)) is not None:
                found[at] = RawObject(f"messages.{place[0]}.content.{place[1]}", found[at].fields)
        read.append(RawMessage(path, message.role, tuple(found), members))
    return RawRequest(RawObject("", fields), tuple(read))


def decode(raw: Raw, decoder: Decoder[_T], path: str) -> _T:
    """The value. Raises RequestInvalid with its path."""
    try:
        return decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        why, _, inner = str(error).partition(" - at `$")
        path = ".".join(filter(None, (path, *_STEP.findall(inner))))
        raise RequestInvalid(f"{path}: {why}", path=path) from None


def blocks_in(raw: Raw | None, path: str) -> tuple[RawObject, ...]:
    """The blocks of a content value: a string is one text block, null and "" are none."""
    content = None if raw is None else decode(raw, _CONTENT, path)
    if isinstance(content, list):
        return tuple(RawObject(f"{path}.{index}", fields) for index, fields in enumerate(content))
    return (RawObject(path, {"type": Raw(b'"text"'), "text": Raw(msgspec.json.encode(content))}),) if content else ()

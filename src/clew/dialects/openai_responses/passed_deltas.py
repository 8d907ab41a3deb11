"""Deltas on their way from a backend to a client that both speak this dialect: their bytes pass, with two values replaced.

Nearly every event is a delta of the open block. The client has an id of its own for the item, and numbers of its own for the
events; all else stays as the vendor wrote it: the order of members, log probabilities, padding. A delta that is spelled in
another way than those before it, or is about another item or part, is read and written like every other event.

What passed is read in few steps: all deltas since the last other event as one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from clew.dialects.openai_responses.numbered_events import ItemText
from clew.dialects.openai_responses.stream_writer import ResponsesStreamWriter
from clew.dialects.openai_responses.streams import ResponsesStreamReader
from clew.dialects.optional import PassedDeltas
from clew.dialects.shape import StreamReader, StreamWriter
from clew.model.events import BlockDelta
from clew.model.json import read_object
from clew.wire.events import marked, read_marked

_MOST: Final = 256
"""Deltas that wait to be read. They take more memory than their text."""
_LONGEST: Final = 64 * 1024
_NEXT: Final = b"\nevent: "
_PLAIN: Final = rb'"(?P<%b>[^"\\\n\x00-\x1f]*+)"'
_NUMBER: Final = rb"(?P<%b>0|[1-9]\d{0,8})"
_ESCAPED: Final = rb"\\u(?![dD][89a-fA-F])[\da-fA-F]{4}|\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}"
"""A whole character. Half of one waits for the other half, which is in the next delta."""
_VALUES: Final = {
    "delta": rb'"(?P<%b>(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|' + _ESCAPED + rb')*+)"',
    "item_id": _PLAIN,
    "obfuscation": _PLAIN,
    "output_index": _NUMBER,
    "content_index": _NUMBER,
    "summary_index": _NUMBER,
    "sequence_number": _NUMBER,
    "logprobs": rb"(?P<%b>\[[^\n\r]*?\])",
}
"""How the value of each member is written. A delta with others is not passed."""
_NEEDED: Final = frozenset({"delta", "item_id", "output_index", "sequence_number"})


@lru_cache(maxsize=64)
def _pattern(kind: str, names: tuple[str, ...]) -> re.Pattern[bytes] | None:
    """Events of this type with these members in this order; None if one of them is unknown, or one is missing."""
    if not _NEEDED <= set(names) <= set(_VALUES):
        return None
    members = b",".join(b'"%b":%b' % (name.encode(), _VALUES[name] % name.encode()) for name in names)
    name = re.escape(kind.encode())
    return re.compile(rb'event: %b\ndata: \{"type":"%b",%b\}\n\n' % (name, name, members))


class ResponsesDeltas:
    """The deltas of one answer."""

    __slots__ = (
        "_between",
        "_deltas",
        "_head",
        "_item",
        "_name",
        "_part",
        "_pattern",
        "_place",
        "_reader",
        "_text",
        "_writer",
    )

    def __init__(self, reader: ResponsesStreamReader, writer: ResponsesStreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._deltas: list[bytes] = []  # as JSON writes them, without their quotes
        self._text: ItemText | None = None  # that they belong to, in what the client gets
        self._pattern: re.Pattern[bytes] | None = None
        self._head = b""  # how such an event begins
        self._item = b""  # the backend's id of the open item, in its deltas,
        self._name = b""  # and the client's
        self._place = self._part = b"0"
        self._between = False  # the id comes before the number

    def take(self, data: bytes) -> bytes:
        if self._pattern is None or len(data) > _LONGEST or not data.endswith(b"\n\n"):
            return b""
        if not data.startswith(self._head, data.rfind(_NEXT) + 1) or not (data.isascii() or _is_text(data)):
            return b""
        out: list[bytes] = []
        deltas: list[bytes] = []
        at, match = 0, self._pattern.match
        number = self._writer.events_written
        while at < len(data):
            found = match(data, at)
            if found is None or found["item_id"] != self._item or not self._is_here(found):
                return b""
            first, last = ("item_id", "sequence_number") if self._between else ("sequence_number", "item_id")
            count = b"%d" % (number + len(out))
            values = (self._name, count) if self._between else (count, self._name)
            head, middle = data[at : found.start(first)], data[found.end(first) : found.start(last)]
            out.append(b"%b%b%b%b%b" % (head, values[0], middle, values[1], data[found.end(last) : found.end()]))
            deltas.append(found["delta"])
            at = found.end()
        self._deltas += deltas
        self._writer.count_events(len(out))
        return out[0] if len(out) == 1 else b"".join(out)

    def _is_here(self, found: re.Match[bytes]) -> bool:
        """Whether it is about the open part of the open item, and says anything."""
        groups = found.groupdict()
        part = groups.get("content_index") or groups.get("summary_index") or b"0"
        return groups["output_index"] == self._place and part == self._part and groups["delta"] != b""

    @property
    def waits(self) -> bool:
        return len(self._deltas) >= _MOST

    def settle(self) -> BlockDelta | None:
        deltas, self._deltas = self._deltas, []
        text = self._joined(deltas)
        if not text or self._text is None:
            return None
        self._text.add(text)
        return self._reader.tell_more(text)

    def _joined(self, deltas: Sequence[bytes]) -> str:
        if not deltas:
            return ""
        text = read_marked(marked(deltas), len(deltas))
        return text if text is not None else "".join([read_marked(delta, 1) or "\ufffd" for delta in deltas])

    def learn(self, data: bytes) -> None:
        """After a read that was read: whether the next deltas may pass, by one that was in it."""
        self._pattern = None
        text, place = self._writer.open_text, self._reader.place
        kind, part = self._reader.grows_by
        self._head = b"event: %b\n" % kind.encode()
        if text is None or place is None or text.kind != kind or not data.startswith(self._head):
            return
        own = text.place
        if own["output_index"] != place or own.get("content_index", own.get("summary_index", 0)) != part:
            return
        event = read_object(data[data.index(b"{") : data.index(b"\n\n")]) or {}
        self._pattern = _pattern(kind, tuple(event)[1:]) if next(iter(event), "") == "type" else None
        self._text, self._name = text, str(own["item_id"]).encode()
        self._item = str(event.get("item_id", "")).encode()
        self._place, self._part = b"%d" % place, b"%d" % part
        names = list(event)
        self._between = self._pattern is not None and names.index("item_id") < names.index("sequence_number")


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def passed_deltas(reader: StreamReader, writer: StreamWriter) -> PassedDeltas | None:
    """How deltas pass from this reader to this writer; None where something stands between the two."""
    if isinstance(reader, ResponsesStreamReader) and isinstance(writer, ResponsesStreamWriter):
        return ResponsesDeltas(reader, writer)
    return None

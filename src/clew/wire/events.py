"""Canonical events from server-sent events of the Anthropic dialect, and back.

The type inside the data counts, as for the official SDKs; the name on the `event:` line counts only where the data has no
type. An event of an unknown type is `Unknown` and keeps its bytes, `[DONE]` among them: the vendor may add event types at
any time.

`read_marked` reads the JSON strings of many deltas in one call: a delta holds a word or two, and a call of the decoder costs
as much as a dozen of them. The strings are joined as JSON writes them, without their quotes. A mark stands where two meet,
so that pieces which are no text by themselves (half a character, an escape without its letter) do not become text together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from clew.errors import StreamIllegal
from clew.model.events import (
    EVENTS,
    BlockStart,
    BlockStop,
    Event,
    MessageStop,
    Ping,
    Unknown,
    data_of,
    read_event,
    with_raw,
)
from clew.model.json import read_json
from clew.wire.sse import SseEvent, sse_bytes

_HEADS = {name: b"event: %b\ndata: " % name.encode() for name in EVENTS}
_LF, _CR = b"\n\r"
_ALIKE = (BlockStart, BlockStop, MessageStop, Ping)
"""Events that a vendor writes with the same bytes in every answer."""
_MOST, _LONGEST = 512, 160
_known: dict[bytes, Event] = {}


def decode_event(sse: SseEvent) -> Event:
    """The event that was sent. Raises StreamIllegal if a known event holds no JSON, no UTF-8, or members of a wrong shape.

    Short events that come again and again are read once: an event is a value and can be shared.
    """
    known = _known.get(sse.data)
    if known is not None:
        return known
    try:
        data = read_json(sse.data)
    except (ValueError, RecursionError) as error:
        name = _name_of(sse)
        if name in EVENTS:
            raise StreamIllegal(f"the data of {name} cannot be read: {error}", event=name) from None
        return Unknown(name, sse.data)
    if not isinstance(data, dict) or str(data.get("type")) not in EVENTS:
        return Unknown(_name_of(sse), sse.data)
    event = with_raw(read_event(data), sse.data)
    if isinstance(event, _ALIKE) and len(sse.data) <= _LONGEST:
        if len(_known) >= _MOST:
            _known.clear()
        _known[sse.data] = event
    return event


def _name_of(sse: SseEvent) -> str:
    """The name on the `event:` line. A name that is no UTF-8 is written back as it came."""
    return sse.name.decode(errors="surrogateescape")


def encode_event(event: Event) -> bytes:
    """The event as server-sent bytes; an event that was read keeps the bytes it was read from."""
    raw, head = event.raw or data_of(event), _HEADS.get(event.type)
    if head is not None and (raw is not event.raw or not (_LF in raw or _CR in raw)):
        return b"%b%b\n\n" % (head, raw)  # one line, and so is what is written here
    name = event.name if isinstance(event, Unknown) else event.type
    return sse_bytes(name.encode(errors="surrogateescape"), raw)


_MARK: Final = "\x7f"
"""DEL: JSON need not escape it, and texts do not contain it. If one does, the strings have to be read one by one."""
MARK: Final = _MARK.encode()

_string = msgspec.json.Decoder(str)


def marked(strings: Sequence[bytes]) -> bytes:
    """The strings, without their quotes, as one with marks in it."""
    return MARK.join(strings)


def read_marked(joined: bytes, count: int) -> str | None:
    """The text of `count` joined strings; None if one of them is no valid string, or contains a mark."""
    texts = read_strings(joined, count)
    return None if texts is None else "".join(texts)


def read_strings(joined: bytes, count: int) -> list[str] | None:
    """The same, each text by itself."""
    try:
        texts = _string.decode(b'"%b"' % joined).split(_MARK)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return texts if len(texts) == count else None

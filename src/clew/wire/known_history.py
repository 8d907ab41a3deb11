"""A request that tells again what another one told, read from where it goes on.

`read_on` takes a request that was read before, and the bytes of one that may continue it. Whatever stands the same in both,
byte for byte, from the bracket that opens `messages` to the end of a message, is not read again: a parser that has seen the
same bytes is at the same point. What follows is read as the rest of that list. The bytes in front of the list and behind it
are compared too, and read if they are not the same. There is no hash and nothing to forge: what is skipped is what is equal.

None is for all that has to be read as a whole, for whatever reason: among others for what cannot be read at all, so that
it is refused in the same words.

Messages keep the bytes that they were read from: those of the first request, and each newer one its own. `held` counts
them; where they become more than the history is worth, it is read as a whole again, and lets the old ones go.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from clew.errors import ClewError
from clew.model.past import Retold, retold
from clew.model.request import ALWAYS, Body, Source, Wanted
from clew.wire.arrays import Array, opening_of
from clew.wire.large_bodies import MAX_MESSAGES, check_values, read_message
from clew.wire.requests import MAX_BYTES, array_of, read_array
from clew.wire.spans import Span, elements
from clew.wire.strict_json import LARGE_BYTES

_NEAR = 8
"""Among so many messages at the end of a history clients move their cache marks: what is before is compared at once."""
_HELD = 2
"""So many times the size of a request may the bytes be that its messages keep besides."""

_body = msgspec.json.Decoder(Body)
_OPENING = b'{"messages":['
_COMMA = re.compile(rb"[ \t\n\r]*+,[ \t\n\r]*+")


class _Rest(NamedTuple):
    """What comes behind the messages that are known: new ones, and where the list ends (behind its bracket)."""

    spans: list[Span]
    end: int


def read_on(known: Source, raw: bytes, most: int = MAX_BYTES, wanted: Wanted = ALWAYS) -> Source | None:
    """`raw` as it reads, if it continues `known` and brings at most so many bytes that are new. Raises NotWanted."""
    if len(raw) > MAX_BYTES:
        return None
    try:
        return _read_on(known, raw, most, wanted)
    except (msgspec.MsgspecError, ClewError, RecursionError, UnicodeDecodeError):
        return None


def _read_on(known: Source, raw: bytes, most: int, wanted: Wanted) -> Source | None:
    array = array_of(known)
    begins_alike = raw.startswith(memoryview(known.raw)[: array.start + 1])
    start = array.start if begins_alike else opening_of(raw, "messages")
    count = _in_common(known.raw, array, raw, start)
    if not count:
        return None
    shift = start - array.start
    cut = array.spans[count - 1].end + shift
    if len(raw) - cut > LARGE_BYTES:
        check_values(raw, cut)
    rest = _rest(memoryview(known.raw)[array.end :], raw, cut, most)
    if rest is None or count + len(rest.spans) > MAX_MESSAGES:
        return None
    held = (known.held or len(known.raw)) + sum(span.end - span.start for span in rest.spans)
    if held > _HELD * len(raw):
        return None
    new = [read_message(raw[span.start : span.end], wanted.check) for span in rest.spans]
    old = array.spans[:count] if not shift else [Span(a + shift, b + shift) for a, b in array.spans[:count]]
    now = Array(start, rest.end, [*old, *rest.spans])
    body = _shell(known, array, raw, now)
    given = known.body.messages
    messages = retold((*given[:count], *new), count, given.past if isinstance(given, Retold) else None)
    source = Source(raw, msgspec.structs.replace(body, messages=messages))
    source.layout, source.held, source.untouched, source.in_order = now, held, known.untouched, known.in_order
    return source


def _in_common(known: bytes, array: Array, raw: bytes, start: int) -> int:
    """How many messages from the first on stand the same in both, with all that is between them."""
    view, spans, shift = memoryview(known), array.spans, start - array.start

    def same(after: int, upto: int) -> bool:
        """The messages from one index up to another, if those before are the same."""
        begin = spans[after - 1].end if after else array.start
        return raw.startswith(view[begin : spans[upto - 1].end], begin + shift)

    low = max(0, len(spans) - _NEAR)
    if low and not same(0, low):
        return _bisected(0, low, same)
    return _bisected(low, len(spans) + 1, same)


def _bisected(low: int, high: int, same: Callable[[int, int], bool]) -> int:
    """How many are the same, where the first `low` are, and not the first `high`."""
    while high - low > 1:
        middle = (low + high) // 2
        if same(low, middle):
            low = middle
        else:
            high = middle
    return low


def _rest(after: memoryview, raw: bytes, cut: int, most: int) -> _Rest | None:
    """The messages from `cut` on. Where the document ends as the known one does, nothing but they are read."""
    comma = _COMMA.match(raw, cut)
    at = comma.end() if comma else cut
    end = len(raw) - len(after)
    ends_alike = end >= at and raw.endswith(after)
    if (end if ends_alike else len(raw)) - at > most:
        return None
    if ends_alike:
        shift, spans = at - 1, elements(b"[" + raw[at:end])
    else:
        found = read_array(_OPENING + raw[at:])  # raises RequestInvalid where the key of the list comes again behind it
        shift = at - len(_OPENING)
        spans, end = found.spans, found.end + shift
    if bool(spans) is not bool(comma):
        return None  # a comma with nothing behind it, or something without one
    return _Rest([Span(a + shift, b + shift) for a, b in spans], end)


def _shell(known: Source, array: Array, raw: bytes, now: Array) -> Body:
    """All but the messages, which are the known ones here."""
    before, after = memoryview(known.raw)[: array.start], memoryview(known.raw)[array.end :]
    same_place = array.start == now.start and len(raw) - now.end == len(after)
    if same_place and raw.startswith(before) and raw.endswith(after):
        return known.body
    view = memoryview(raw)
    return _body.decode(b"".join((view[: now.start], b"[]", view[now.end :])))

"""Bodies in pieces: of a body that goes on from an earlier one of its conversation, only what is new is kept.

A client sends its whole history with every turn. Whatever a body has in common with the last one of its conversation, at its
beginning and at its end, is kept already; what stands between is a new piece. So a body is a list of spans over the pieces
of a *chain*. Each piece is compressed by itself.

A chain belongs to one conversation and to one day, so that the bodies of a day can be dropped without those of another. It
is given up where a body has little in common with the last one, or too many spans, and when it has much that no body needs
any more; the next body then begins another. The last body of each chain is remembered to be compared with, bounded in bytes;
the conversation that was silent for longest goes first. Belongs to one thread, but for `is_broken`.
"""

from __future__ import annotations

import secrets
import zlib
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct

from clew.errors import RecordCorrupt
from clew.model.turn import Bodies, Heads
from clew.store.rows import ZLIB_START, compress

LEAST: Final = 16 * 1024
"""Bytes of a body that is worth a chain."""
LARGEST: Final = 8 << 20
"""Bytes of a body above which it is kept whole: remembering it would leave no room for others."""
MOST: Final = 32 << 20
MOST_SPANS: Final = 256
"""Of one body: they are written again with each body."""
CHAIN_PIECES: Final = 1 << 20
"""A chain's number is the place of its first piece; so many places belong to it."""

Conversation: TypeAlias = tuple[str, ...]


class PieceSpan(NamedTuple):
    """A part of a piece: the piece's number within its chain, and the bytes from `start` to `end`."""

    piece: int
    start: int
    end: int


class _KnownBody(NamedTuple):
    """A body, its spans, and where in it each of them ends."""

    body: bytes = b""
    spans: tuple[PieceSpan, ...] = ()
    ends: tuple[int, ...] = ()

    def first(self, length: int) -> tuple[tuple[PieceSpan, ...], tuple[int, ...]]:
        """The spans of the first `length` bytes, and where each ends. Of spans that stay as they are, none is looked at: a
        long session has two hundred."""
        if not length:
            return (), ()
        at = bisect_left(self.ends, length)
        piece, start, end = self.spans[at]
        cut = PieceSpan(piece, start, end - (self.ends[at] - length))
        return (*self.spans[:at], cut), (*self.ends[:at], length)

    def last(self, length: int) -> tuple[tuple[PieceSpan, ...], tuple[int, ...]]:
        """The same of the last `length` bytes."""
        if not length:
            return (), ()
        begin = len(self.body) - length
        at = bisect_right(self.ends, begin)
        piece, _, end = self.spans[at]
        cut = PieceSpan(piece, end - (self.ends[at] - begin), end)
        return (cut, *self.spans[at + 1 :]), self.ends[at:]


class _Compared(NamedTuple):
    base: _KnownBody
    body: bytes
    common: tuple[int, int]


class BodyChain:
    """The pieces of one conversation and one day."""

    def __init__(self, day: int) -> None:
        self.id = secrets.randbits(42) * CHAIN_PIECES
        self.day = day
        self.is_broken = False
        """The store does not have all of its pieces: nothing more may refer to them. Set by the writer."""
        self._known: dict[str, _KnownBody] = {}
        self._compared: _Compared | None = None
        self._pieces: list[bytes] = []
        self._first = 0
        self._bytes = 0

    @property
    def is_new(self) -> bool:
        """Whether none of its pieces was taken yet."""
        return self._first == 0

    @property
    def weight(self) -> int:
        return sum(len(each.body) for each in self._known.values())

    def takes(self, body: bytes) -> bool:
        """Whether the next request of the conversation should be added, and not begin another chain."""
        last = self._known.get("asked")
        if last is None:
            return True
        fresh = len(body) - sum(self._common(last, body))
        return 2 * fresh <= len(body) and len(last.spans) < MOST_SPANS and self._bytes + fresh <= 4 * len(body)

    def add(self, which: str, body: bytes) -> tuple[PieceSpan, ...]:
        """The spans of a body. `which` of the bodies of an exchange it is."""
        start, end, best = 0, 0, _KnownBody()
        for base in self._known.values():
            common = self._common(base, body)
            if sum(common) > start + end:
                (start, end), best = common, base
        (spans, ends), (more, more_ends) = best.first(start), best.last(end)
        fresh = body[start : len(body) - end]
        if fresh:
            spans = (*spans, PieceSpan(self._first + len(self._pieces), 0, len(fresh)))
            ends = (*ends, start + len(fresh))
            self._pieces.append(fresh)
            self._bytes += len(fresh)
        longer = len(body) - len(best.body)
        self._known[which] = _KnownBody(body, spans + more, (*ends, *[each + longer for each in more_ends]))
        self._compared = None
        return spans + more

    def _common(self, base: _KnownBody, body: bytes) -> tuple[int, int]:
        """What they have in common, which is asked for twice: before it is added, and then."""
        if self._compared is None or self._compared.base is not base or self._compared.body is not body:
            self._compared = _Compared(base, body, _common(base.body, body))
        return self._compared.common

    def take_pieces(self) -> list[tuple[int, bytes]]:
        """The new pieces since the last call, compressed, with their places in the store."""
        pieces, self._pieces = self._pieces, []
        first, self._first = self._first, self._first + len(pieces)
        return [(self.id + first + number, compress(each)) for number, each in enumerate(pieces)]


class Chains:
    """The chains that bodies may go on from."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._chains: OrderedDict[Conversation, BodyChain] = OrderedDict()

    def find(self, conversation: Conversation, day: int, body: bytes) -> BodyChain | None:
        """The chain to add a request to, perhaps a new one; None for a body that is kept whole."""
        if not LEAST <= len(body) <= LARGEST:
            return None
        chain = self._chains.pop(conversation, None)
        if chain is None or chain.is_broken or chain.day != day or not chain.takes(body):
            chain = BodyChain(day)
        self._chains[conversation] = chain
        return chain

    def trim(self) -> None:
        """Forget what is too much."""
        while len(self._chains) > 1 and sum(each.weight for each in self._chains.values()) > self._most:
            self._chains.popitem(last=False)

    def forget(self, start: Conversation) -> None:
        """Drop the conversations that begin so."""
        for each in [each for each in self._chains if each[: len(start)] == start]:
            del self._chains[each]


def join_spans(spans: Sequence[PieceSpan], piece: Callable[[int], bytes]) -> bytes:
    """The body. `piece` gives the compressed content of a piece by its number."""
    contents: dict[int, bytes] = {}
    for number, _, _ in spans:
        if number not in contents:
            contents[number] = zlib.decompress(piece(number))
    return b"".join(contents[number][start:end] for number, start, end in spans)


def _common(one: bytes, other: bytes) -> tuple[int, int]:
    """How many bytes are the same from the first on, and, behind these, up to the last."""
    most, view = min(len(one), len(other)), memoryview(one)
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if other.startswith(view[low:middle], low):
            low = middle
        else:
            high = middle - 1
    start, low, high = low, 0, most - low
    while low < high:
        middle = (low + high + 1) // 2
        if other.endswith(view[len(one) - middle : len(one) - low], 0, len(other) - low):
            low = middle
        else:
            high = middle - 1
    return start, low


class _Packed(Struct, frozen=True, array_like=True):
    """Bodies that are kept whole: each part is compressed by itself."""

    asked: bytes
    sent: bytes | None
    rest: bytes


class PackedSpans(Struct, frozen=True, array_like=True):
    """Bodies whose requests are pieces of a chain."""

    asked: tuple[PieceSpan, ...]
    sent: tuple[PieceSpan, ...] | None
    rest: bytes


class _Rest(Struct, frozen=True, array_like=True):
    answered: bytes
    heads: Heads
    times: tuple[tuple[int, float], ...]


class _OldPacked(Struct, frozen=True, array_like=True):
    """Bodies as they were written before, all compressed at once. Fields with a default came later: older rows lack them."""

    asked: bytes
    sent: bytes | None
    answered: bytes
    heads: Heads = Heads()
    times: tuple[tuple[int, float], ...] = ()


def pack_bodies(bodies: Bodies) -> bytes:
    sent = None if bodies.sent == bodies.asked else compress(bodies.sent)
    return msgspec.msgpack.encode(_Packed(compress(bodies.asked), sent, packed_rest(bodies)))


def packed_rest(bodies: Bodies) -> bytes:
    return compress(msgspec.msgpack.encode(_Rest(bodies.answered, bodies.heads, bodies.times)))


def unpack_bodies(kept: bytes) -> Bodies:
    """Bodies that are kept whole. Raises RecordCorrupt."""
    try:
        if kept.startswith(ZLIB_START):
            rest = msgspec.msgpack.decode(zlib.decompress(kept), type=_OldPacked)
            asked, sent = rest.asked, rest.sent
        else:
            packed = msgspec.msgpack.decode(kept, type=_Packed)
            rest = msgspec.msgpack.decode(zlib.decompress(packed.rest), type=_Rest)
            asked = zlib.decompress(packed.asked)
            sent = None if packed.sent is None else zlib.decompress(packed.sent)
    except (zlib.error, msgspec.MsgspecError) as error:
        raise RecordCorrupt(f"the bodies of an exchange cannot be read: {error}") from error
    sent = asked if sent is None else sent
    return Bodies(asked=asked, sent=sent, answered=rest.answered, heads=rest.heads, times=rest.times)


def join_bodies(kept: bytes, find: Callable[[int], object]) -> Bodies:
    """Bodies whose requests are pieces of a chain; `find` gives the content of a piece by its number. Raises
    RecordCorrupt."""

    def piece(number: int) -> bytes:
        content = find(number)
        if not isinstance(content, bytes):
            raise RecordCorrupt("the bodies of an exchange cannot be read: a piece is missing")
        return content

    try:
        packed = msgspec.msgpack.decode(kept, type=PackedSpans)
        rest = msgspec.msgpack.decode(zlib.decompress(packed.rest), type=_Rest)
        asked = join_spans(packed.asked, piece)
        sent = asked if packed.sent is None else join_spans(packed.sent, piece)
    except (zlib.error, msgspec.MsgspecError) as error:
        raise RecordCorrupt(f"the bodies of an exchange cannot be read: {error}") from error
    return Bodies(asked=asked, sent=sent, answered=rest.answered, heads=rest.heads, times=rest.times)

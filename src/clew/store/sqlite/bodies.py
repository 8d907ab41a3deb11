"""Bodies: whole requests and answers, kept for the page that shows an exchange, and never in anybody's way.

They are up to a thousand times larger than the turn that they belong to. So they are taken only after the turn's commit,
compressed by a thread of their own (zlib lets go of the interpreter meanwhile; `pressing`), and written when no turn waits:
small ones together, after they have lingered for a moment, a large one in a transaction by itself. What waits for that is
bounded: a body too many is not kept, and counted. A client's request that went out as it came, which is what most of them
do, is kept once. One that cannot be compressed is missing and said to be; the next ones are kept. One that cannot be written
is counted, too: the writer says why.
"""

from __future__ import annotations

import logging
import threading
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Final, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct

from clew.errors import RecordCorrupt
from clew.store.sqlite.database import Database
from clew.store.sqlite.lingering import Lingering
from clew.store.sqlite.pressing import Presser, pressed
from clew.store.sqlite.writer import Writer
from clew.store.values import Bodies, Exchange, Heads, Turn

__all__ = ["Keeper", "press", "read", "unpress"]

_log = logging.getLogger("clew.store")

WAITING_BYTES: Final = 64 << 20

_ADD = """
INSERT INTO bodies (principal, exchange, at, kept)
SELECT :principal, :exchange, :at, :kept
WHERE EXISTS (SELECT 1 FROM exchanges WHERE principal = :principal AND id = :exchange AND kind <> 'forgotten')
ON CONFLICT (principal, exchange) DO NOTHING
"""
_PRUNE = """
DELETE FROM bodies WHERE principal = :principal AND seq <= (
    SELECT seq FROM bodies WHERE principal = :principal ORDER BY seq DESC LIMIT 1 OFFSET :limit
)
"""
_READ = "SELECT kept FROM bodies WHERE principal = ? AND exchange = ?"

_Row: TypeAlias = dict[str, str | float | bytes]


class _Pressed(Struct, frozen=True, array_like=True):
    """As it is written: each part is compressed by itself."""

    asked: bytes
    sent: bytes | None
    rest: bytes


class _Rest(Struct, frozen=True, array_like=True):
    answered: bytes
    heads: Heads
    times: tuple[tuple[int, float], ...]


class _Kept(Struct, frozen=True, array_like=True):
    """As it was written before, all compressed at once. What has a default came later, and older rows have none of it."""

    asked: bytes
    sent: bytes | None
    answered: bytes
    heads: Heads = Heads()
    times: tuple[tuple[int, float], ...] = ()


_kept = msgspec.msgpack.Decoder(_Kept)
_pressed = msgspec.msgpack.Decoder(_Pressed)
_rest = msgspec.msgpack.Decoder(_Rest)
_ZLIB: Final = b"\x78"  # what it was written as before begins so, and no array of three does


def _alone(which: str, body: bytes) -> bytes:
    return pressed(body)


def press(bodies: Bodies, by: Callable[[str, bytes], bytes] = _alone) -> bytes:
    """`by` compresses a request; it is told which of the two it is."""
    asked = by("asked", bodies.asked)
    sent = None if bodies.sent == bodies.asked else by("sent", bodies.sent)
    rest = msgspec.msgpack.encode(_Rest(bodies.answered, bodies.heads, bodies.times))
    return msgspec.msgpack.encode(_Pressed(asked, sent, pressed(rest)))


def unpress(kept: bytes) -> Bodies:
    try:
        read = _kept.decode(zlib.decompress(kept)) if kept.startswith(_ZLIB) else _unpressed(_pressed.decode(kept))
    except (zlib.error, msgspec.MsgspecError) as error:
        raise RecordCorrupt(f"the bodies of an exchange cannot be read: {error}") from error
    sent = read.asked if read.sent is None else read.sent
    return Bodies(asked=read.asked, sent=sent, answered=read.answered, heads=read.heads, times=read.times)


def _unpressed(kept: _Pressed) -> _Kept:
    rest = _rest.decode(zlib.decompress(kept.rest))
    sent = None if kept.sent is None else zlib.decompress(kept.sent)
    return _Kept(zlib.decompress(kept.asked), sent, rest.answered, rest.heads, rest.times)


def read(connection: Database, principal: str, exchange: str) -> Bodies | None:
    kept = connection.execute(_READ, (principal, exchange)).get
    assert kept is None or isinstance(kept, bytes)
    return None if kept is None else unpress(kept)


class _Waiting(NamedTuple):
    """What is to be kept of one exchange."""

    exchange: Exchange
    bodies: Bodies
    weight: int


class _Gone(NamedTuple):
    """A thread that was deleted; without a name, one of all."""

    start: tuple[str, ...]
    """Of the keys by which it is known."""


class Keeper:
    """Keeps the bodies of turns that are committed, the last `limit` of each principal."""

    def __init__(self, writer: Writer, limit: int | None, most: int = WAITING_BYTES) -> None:
        self._writer = writer
        self.limit = limit
        """Holds for what is committed from now on, if somebody changes it."""
        self._most = most
        self._waiting = 0
        self._lingering: Lingering[_Waiting | _Gone] = Lingering()
        self._closing = False
        self._lock = threading.Lock()
        self._bell: SimpleQueue[None] = SimpleQueue()
        self._presser = Presser()
        self._thread: threading.Thread | None = None
        self.skipped = 0

    def follow(self, recorded: Future[bool], turn: Turn) -> None:
        """Keep what this turn brings, once it is recorded."""
        bodies = turn.bodies
        if bodies is None or self.limit == 0 or not self._reserve(weight := _weight(bodies)):
            return
        waiting = _Waiting(turn.exchange, bodies, weight)

        def go_on(done: Future[bool]) -> None:
            if done.cancelled() or done.exception() or not done.result() or not self._put(waiting):
                self._release(weight)

        recorded.add_done_callback(go_on)

    def forget(self, *thread: str) -> None:
        """Remember nothing of a thread that was deleted, once what came before is compressed: by its principal and its name,
        or nothing of any."""
        with self._lock:
            if self._thread is not None and self._lingering.add(_Gone(thread), 0):
                self._bell.put(None)

    def close(self) -> None:
        """Compress what waits. The writer, which must be closed after this, then writes it."""
        with self._lock:
            self._closing = True
        self._bell.put(None)
        if self._thread is not None:
            self._thread.join()

    def _put(self, waiting: _Waiting) -> bool:
        """False once all is closing: the turn is kept, its bodies are not."""
        with self._lock:
            if self._closing:
                self.skipped += 1
                return False
            if self._lingering.add(waiting, waiting.weight):
                self._bell.put(None)
            self._thread = self._thread or self._started()
            return True

    def _started(self) -> threading.Thread:
        """Not before there is work: many a process only looks."""
        thread = threading.Thread(target=self._work, name="clew store bodies", daemon=True)
        thread.start()
        return thread

    def _work(self) -> None:
        while batch := self._next_batch():
            self._keep(batch)
            del batch  # the next one may not come for hours, and these are large

    def _next_batch(self) -> list[_Waiting | _Gone]:
        """Nothing once all is closing and done."""
        while True:
            with self._lock:
                if self._closing or self._lingering.is_due():
                    return self._lingering.taken()
                seconds = self._lingering.left()
            with suppress(Empty):
                self._bell.get(timeout=seconds)

    def _keep(self, batch: Sequence[_Waiting | _Gone]) -> None:
        """In their order: what is compressed after a thread was deleted is not of that thread."""
        rows, weight, limit = list[_Row](), 0, self.limit
        for each in batch:
            if isinstance(each, _Gone):
                self._presser.forget(each.start)
            else:
                rows += self._rows(each) if limit != 0 else []
                weight += each.weight
        if weight:
            written = self._writer.submit(lambda connection: _add(connection, rows, limit), later=True)
            written.add_done_callback(lambda done: self._release(weight, lost=len(rows) if done.exception() else 0))

    def _rows(self, waiting: _Waiting) -> list[_Row]:
        """One, or none if it cannot be compressed: nobody else's bodies are lost for that."""
        try:
            return [self._row(waiting)]
        except Exception:
            _log.exception("the bodies of exchange %s cannot be compressed, and are not kept", waiting.exchange.id)
            self._release(0, lost=1)
            return []

    def _row(self, waiting: _Waiting) -> _Row:
        exchange = waiting.exchange
        conversation = exchange.principal, exchange.thread, exchange.kind
        return {
            "principal": exchange.principal,
            "exchange": exchange.id,
            "at": exchange.ended,
            "kept": press(waiting.bodies, lambda which, body: self._presser.press((*conversation, which), body)),
        }

    def _reserve(self, weight: int) -> bool:
        with self._lock:
            fits = self._waiting + weight <= self._most
            self._waiting += weight if fits else 0
            self.skipped += not fits
            return fits

    def _release(self, weight: int, *, lost: int = 0) -> None:
        """So much does not wait any more; `lost`: how many were not kept."""
        with self._lock:
            self._waiting -= weight
            self.skipped += lost


def _weight(bodies: Bodies) -> int:
    return len(bodies.asked) + len(bodies.sent) + len(bodies.answered)


def _add(connection: Database, rows: Sequence[_Row], limit: int | None) -> None:
    for row in rows:
        connection.execute(_ADD, row)
    for principal in {row["principal"] for row in rows} if limit is not None else ():
        connection.execute(_PRUNE, {"principal": principal, "limit": limit})

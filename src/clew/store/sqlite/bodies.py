"""Bodies: whole requests and answers, kept for the page that shows an exchange, without delaying any turn.

They are up to a thousand times larger than the turn that they belong to. So they are taken only after the turn's commit,
compressed by a thread of their own (zlib releases the interpreter meanwhile; `compression`), and written when no turn waits:
small ones together, after a short delay, a large one in a transaction by itself. What waits for that is bounded: a body too
many is not kept, and counted. Most requests of clients go out as they came, and are kept once. A body that cannot be
compressed is missing and logged; the next ones are kept. A body that cannot be written is counted, too: the writer says why.
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
from clew.model.turn import Bodies, Exchange, Heads, TurnRecord
from clew.store.sqlite.batches import DelayedQueue
from clew.store.sqlite.compression import ZLIB_START, HistoryCompressor, compress
from clew.store.sqlite.database import Database
from clew.store.sqlite.writer import Writer

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


class _Packed(Struct, frozen=True, array_like=True):
    """Bodies as they are written: each part is compressed by itself."""

    asked: bytes
    sent: bytes | None
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


def pack_bodies(
    bodies: Bodies, compress_request: Callable[[str, bytes], bytes] = lambda which, body: compress(body)
) -> bytes:
    """`compress_request` is told which of the two requests it compresses."""
    asked = compress_request("asked", bodies.asked)
    sent = None if bodies.sent == bodies.asked else compress_request("sent", bodies.sent)
    rest = msgspec.msgpack.encode(_Rest(bodies.answered, bodies.heads, bodies.times))
    return msgspec.msgpack.encode(_Packed(asked, sent, compress(rest)))


def unpack_bodies(kept: bytes) -> Bodies:
    """Raises RecordCorrupt."""
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


def read_bodies(connection: Database, principal: str, exchange: str) -> Bodies | None:
    kept = connection.execute(_READ, (principal, exchange)).get
    assert kept is None or isinstance(kept, bytes)
    return None if kept is None else unpack_bodies(kept)


class _Waiting(NamedTuple):
    """The bodies of one exchange, to be kept."""

    exchange: Exchange
    bodies: Bodies
    weight: int


class _DeletedThread(NamedTuple):
    """A thread that was deleted: its principal and its name, with which its keys begin; empty for all threads."""

    start: tuple[str, ...]


class BodyWriter:
    """Keeps the bodies of turns that are committed, the last `limit` of each principal; None is all of them."""

    def __init__(self, writer: Writer, limit: int | None, most: int = WAITING_BYTES) -> None:
        self._writer = writer
        self.limit = limit
        """May be changed; holds for turns that are committed from then on."""
        self._most = most
        self._waiting = 0
        self._queue: DelayedQueue[_Waiting | _DeletedThread] = DelayedQueue()
        self._closing = False
        self._lock = threading.Lock()
        self._bell: SimpleQueue[None] = SimpleQueue()
        self._compressor = HistoryCompressor()
        self._thread: threading.Thread | None = None
        self.skipped = 0

    def follow(self, recorded: Future[bool], turn: TurnRecord) -> None:
        """Keep the bodies of this turn once it is recorded."""
        bodies = turn.bodies
        if bodies is None or self.limit == 0:
            return
        weight = len(bodies.asked) + len(bodies.sent) + len(bodies.answered)
        with self._lock:
            if self._waiting + weight > self._most:
                self.skipped += 1
                return
            self._waiting += weight
        waiting = _Waiting(turn.exchange, bodies, weight)

        def go_on(done: Future[bool]) -> None:
            if done.cancelled() or done.exception() or not done.result() or not self._put(waiting):
                self._release(weight)

        recorded.add_done_callback(go_on)

    def forget(self, *thread: str) -> None:
        """Remember nothing of a deleted thread, named by its principal and its id, once earlier bodies are compressed.
        Without a name: of all threads."""
        with self._lock:
            if self._thread is not None and self._queue.add(_DeletedThread(thread), 0):
                self._bell.put(None)

    def close(self) -> None:
        """Compress what waits. The writer, which must be closed after this, then writes it."""
        with self._lock:
            self._closing = True
        self._bell.put(None)
        if self._thread is not None:
            self._thread.join()

    def _put(self, waiting: _Waiting) -> bool:
        """False while the store closes: the turn is kept, its bodies are not."""
        with self._lock:
            if self._closing:
                self.skipped += 1
                return False
            if self._queue.add(waiting, waiting.weight):
                self._bell.put(None)
            if self._thread is None:  # started when there is work: many processes only read
                self._thread = threading.Thread(target=self._work, name="clew store bodies", daemon=True)
                self._thread.start()
            return True

    def _release(self, weight: int, *, lost: int = 0) -> None:
        """So many bytes do not wait any more; `lost`: how many exchanges' bodies were not kept."""
        with self._lock:
            self._waiting -= weight
            self.skipped += lost

    def _work(self) -> None:
        while batch := self._next_batch():
            self._keep(batch)
            del batch  # the next batch may not come for hours, and this one is large

    def _next_batch(self) -> list[_Waiting | _DeletedThread]:
        """Empty once the store closes and all is done."""
        while True:
            with self._lock:
                if self._closing or self._queue.is_due():
                    return self._queue.take()
                seconds = self._queue.seconds_left()
            with suppress(Empty):
                self._bell.get(timeout=seconds)

    def _keep(self, batch: Sequence[_Waiting | _DeletedThread]) -> None:
        """In their order: a body that is compressed after a thread was deleted is not of that thread."""
        rows, weight, limit = list[_Row](), 0, self.limit
        for each in batch:
            if isinstance(each, _DeletedThread):
                self._compressor.forget(each.start)
                continue
            weight += each.weight
            try:
                rows += [self._row(each)] if limit != 0 else []
            except Exception:  # the bodies of other exchanges are kept all the same
                _log.exception("the bodies of exchange %s cannot be compressed, and are not kept", each.exchange.id)
                self._release(0, lost=1)
        if weight:
            written = self._writer.submit(lambda connection: _add(connection, rows, limit), later=True)
            written.add_done_callback(lambda done: self._release(weight, lost=len(rows) if done.exception() else 0))

    def _row(self, waiting: _Waiting) -> _Row:
        exchange = waiting.exchange
        conversation = exchange.principal, exchange.thread, exchange.kind
        kept = pack_bodies(waiting.bodies, lambda which, body: self._compressor.compress((*conversation, which), body))
        return {"principal": exchange.principal, "exchange": exchange.id, "at": exchange.ended, "kept": kept}


def _add(connection: Database, rows: Sequence[_Row], limit: int | None) -> None:
    for row in rows:
        connection.execute(_ADD, row)
    for principal in {row["principal"] for row in rows} if limit is not None else ():
        connection.execute(_PRUNE, {"principal": principal, "limit": limit})

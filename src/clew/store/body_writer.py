"""Bodies: whole requests and answers, kept for the page that shows an exchange, without delaying any turn.

They are up to a thousand times larger than the turn that they belong to, and few of them are ever looked at. So they are
taken only after the turn's commit, and wait in memory for some seconds. Whatever is not among the last `limit` by then is
never written. The rest is compressed by a thread of its own (zlib releases the interpreter meanwhile), as far as it is new
(`pieces`), and written when no turn waits, many in one transaction. This process finds bodies that wait; others find them
when they are written, and a process that is killed loses them. Closing the store writes them.

What waits is bounded in bytes: where there is much it is written earlier, and a body too many is not kept, and counted. Most
requests go out as they came, and are kept once. A body that cannot be compressed is missing and logged; the next ones are
kept. A body that cannot be written is counted, too: the writer says why.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from time import monotonic
from typing import Final, NamedTuple, TypeAlias

import msgspec

from clew.model.turn import Bodies, Exchange, TurnRecord
from clew.store.pieces import BodyChain, Chains, PackedSpans, pack_bodies, packed_rest
from clew.store.values import DAY

_log = logging.getLogger("clew.store")

WAITING_BYTES: Final = 64 << 20
ENOUGH_BYTES: Final = 24 << 20
"""Of bodies that wait: they are written though their time is not over."""
_WRITTEN_BYTES: Final = 256 << 10
"""Of rows in one transaction, which a turn may have to wait for."""


class BodyRow(NamedTuple):
    """What is written of an exchange's bodies; `pieces` are the new ones of its chain, which begins here if `is_first`."""

    exchange: Exchange
    bodies: Bodies
    kept: bytes
    chain: BodyChain | None = None
    is_first: bool = False
    pieces: Sequence[tuple[int, bytes]] = ()

    @property
    def weight(self) -> int:
        return len(self.kept) + sum(len(content) for _, content in self.pieces)


WriteBodies: TypeAlias = Callable[[Sequence[BodyRow], int | None], Future[None]]


class WaitingBodies(NamedTuple):
    """The bodies of one exchange, to be kept."""

    exchange: Exchange
    bodies: Bodies
    weight: int


class BodyWriter:
    """Keeps the bodies of turns that are committed, the last `limit` of each principal; None is all of them."""

    def __init__(self, write: WriteBodies, limit: int | None, delay: float, most: int = WAITING_BYTES) -> None:
        """`write` keeps rows, and no more than the limit of each principal, when no turn waits. `delay` is how many seconds
        bodies may wait in memory."""
        self._write_rows = write
        self.limit = limit
        """May be changed; holds for turns that are committed from then on."""
        self._delay = delay
        self._most = most
        self._bytes = 0
        """Of all that waits, also for its turn's commit."""
        self._waiting: dict[str, dict[str, WaitingBodies]] = {}
        """By principal and exchange, the oldest first."""
        self._writing: dict[tuple[str, str], WaitingBodies] = {}
        self._due = 0.0
        self._clears = False
        """Nothing is to be remembered of what waits, once it is written."""
        self._closing = False
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._chains = Chains()
        self._thread: threading.Thread | None = None
        self.skipped = 0

    def expect(self, turn: TurnRecord) -> WaitingBodies | None:
        """The bodies of a turn that is being recorded, with room for them; `settle` has to follow. None if it has none, or
        if too much waits."""
        bodies = turn.bodies
        if bodies is None or self.limit == 0:
            return None
        sent = 0 if bodies.sent is bodies.asked else len(bodies.sent)
        waiting = WaitingBodies(turn.exchange, bodies, len(bodies.asked) + sent + len(bodies.answered))
        with self._lock:
            if self._bytes + waiting.weight > self._most:
                self.skipped += 1
                return None
            self._bytes += waiting.weight
        return waiting

    def settle(self, waiting: WaitingBodies, *, is_kept: bool) -> None:
        """The turn is recorded, or is not: then its bodies are dropped."""
        with self._lock:
            if is_kept:
                self._add(waiting)
            else:
                self._bytes -= waiting.weight

    def find(self, principal: str, exchange: str) -> Bodies | None:
        """Bodies that are not written yet."""
        with self._changed:
            found = self._waiting.get(principal, {}).get(exchange) or self._writing.get((principal, exchange))
        return found.bodies if found else None

    def forget(self, *thread: str) -> None:
        """Remember nothing of a deleted thread, named by its principal and its id. Without a name, of all threads: what
        waits is written, if its exchange is still there."""
        with self._changed:
            self._chains.forget(thread)
            if not thread:
                self._due, self._clears = 0.0, True
            for each in [*self._waiting.get(thread[0], {}).values()] if thread else ():
                if each.exchange.thread == thread[1]:
                    self._drop(each)
            self._changed.notify()

    def close(self) -> None:
        """Compress what waits. The writer, which must be closed after this, then writes it."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def _add(self, waiting: WaitingBodies) -> None:
        if self._closing:  # the turn is kept, its bodies are not
            self.skipped += 1
            self._bytes -= waiting.weight
            return
        if not self._waiting:
            self._due = monotonic() + self._delay
            self._changed.notify()
        own = self._waiting.setdefault(waiting.exchange.principal, {})
        own[waiting.exchange.id] = waiting
        if self.limit is not None and len(own) > self.limit:
            self._drop(next(iter(own.values())))
        if self._bytes > ENOUGH_BYTES and self._due:
            self._due = 0.0
            self._changed.notify()
        if self._thread is None:  # started when there is work: many processes only read
            self._thread = threading.Thread(target=self._work, name="clew store bodies", daemon=True)
            self._thread.start()

    def _drop(self, waiting: WaitingBodies) -> None:
        del self._waiting[waiting.exchange.principal][waiting.exchange.id]
        self._bytes -= waiting.weight

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._closing and (not self._waiting or monotonic() < self._due):
                    self._changed.wait(self._due - monotonic() if self._waiting else None)
                batch = [each for own in self._waiting.values() for each in own.values()]
                self._writing |= {(each.exchange.principal, each.exchange.id): each for each in batch}
                self._waiting = {}
            if not batch:  # the store closes
                return
            self._keep(batch)
            del batch  # the next batch may not come for hours, and this one is large

    def _keep(self, batch: Sequence[WaitingBodies]) -> None:
        rows, size = list[BodyRow](), 0
        for each in batch:
            try:
                rows.append(self._row(each.exchange, each.bodies))
                size += rows[-1].weight
            except Exception:  # the bodies of other exchanges are kept all the same
                _log.exception("the bodies of exchange %s cannot be compressed, and are not kept", each.exchange.id)
                self._end([(each.exchange.principal, each.exchange.id)], is_lost=True)
            if size > _WRITTEN_BYTES:
                self._write(rows)
                rows, size = [], 0
        if rows:
            self._write(rows)
        with self._changed:
            self._chains.trim()
            if self._clears:
                self._chains.forget(())
                self._clears = False

    def _row(self, exchange: Exchange, bodies: Bodies) -> BodyRow:
        conversation = exchange.principal, exchange.thread, exchange.kind
        with self._changed:
            chain = self._chains.find(conversation, int(exchange.ended // DAY), bodies.asked)
        if chain is None:
            return BodyRow(exchange, bodies, pack_bodies(bodies))
        is_first, asked = chain.is_new, chain.add("asked", bodies.asked)
        sent = None if bodies.sent == bodies.asked else chain.add("sent", bodies.sent)
        kept = msgspec.msgpack.encode(PackedSpans(asked, sent, packed_rest(bodies)))
        return BodyRow(exchange, bodies, kept, chain, is_first, chain.take_pieces())

    def _write(self, rows: Sequence[BodyRow]) -> None:
        limit, names = self.limit, [(each.exchange.principal, each.exchange.id) for each in rows]
        chains = [each.chain for each in rows if each.chain]

        def end(done: Future[None]) -> None:
            for chain in chains if done.exception() else ():
                chain.is_broken = True
            self._end(names, is_lost=done.exception() is not None)

        self._write_rows(rows, limit).add_done_callback(end)

    def _end(self, names: Sequence[tuple[str, str]], *, is_lost: bool) -> None:
        """These do not wait any more."""
        with self._changed:
            for name in names:
                self._bytes -= self._writing.pop(name).weight
            self.skipped += len(names) if is_lost else 0

"""The store in the gateway's bench: filled beforehand with what the large request brings back, and measured against a bare
SQLite commit of the turn that is streamed: the store's share of a stream, and its commit by itself."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from msgspec import structs

import traffic
from clew.model.recording import Recording
from clew.store import SqliteStore
from clew.store.values import Exchange, Turn
from history import Talk
from store import Block, Turns, bare

__all__ = ["Commits", "fill"]

BATCH = 200
PAUSE = 0.002
"""Seconds between two turns of a client that asks one question after the other, about."""


class Taken:
    """Microseconds of CPU for a turn, batch by batch: of a bare commit, and of the store's."""

    def __init__(self) -> None:
        self.bare: list[float] = []
        self.store: list[float] = []


class Timed:
    """A function, and the seconds of CPU that its thread spent in it."""

    def __init__(self, does: Callable[..., Any]) -> None:
        self._does = does
        self.spent = 0.0

    def __call__(self, *given: Any) -> Any:
        began = time.thread_time()
        try:
            return self._does(*given)
        finally:
            self.spent += time.thread_time() - began


@contextmanager
def timed(owner: Any, name: str) -> Generator[Timed]:
    """A method, timed for a while."""
    does = getattr(owner, name)
    setattr(owner, name, clock := Timed(does))
    yield clock
    setattr(owner, name, does)


class Commits:
    """Commits in batches, to be taken between other cases: one at once after the other, and with a pause before each."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "kept" / "store.sqlite"
        self._commit: Callable[[Turn], object] = bare(folder / "bare.sqlite")
        self._turns = Turns("bare", _streamed)
        self.at_once = Taken()
        self.paused = Taken()
        """After a pause the processor has to fetch the program again, as it has in a gateway."""

    def batch(self) -> None:
        """One of ours and a bare one in turns: what a commit costs changes from moment to moment, for both alike."""
        with SqliteStore(self._file) as store:
            for turn in self._made():  # to begin with what is prepared once
                store.record(turn).result()
            for taken, pause in ((self.at_once, 0.0), (self.paused, PAUSE)):
                self._take_turns(store, taken, pause)

    def _take_turns(self, store: SqliteStore, taken: Taken, pause: float) -> None:
        """Of the store: the transactions of its writing thread, and its checkpoints, which the bare commits have in them.
        Not what is done to hand a turn over and to hear of it: that is in the store's share."""
        bare, pairs, writer = Timed(self._commit), zip(self._made(), self._made(), strict=True), cast(Any, store._writer)
        with timed(writer, "_transact") as transact, timed(writer, "_checkpoint") as checkpoint:
            for mine, theirs in pairs:
                time.sleep(pause)
                bare(theirs)
                time.sleep(pause)
                store.record(mine).result()
        taken.bare.append(bare.spent / BATCH * 1e6)
        taken.store.append((transact.spent + checkpoint.spent) / BATCH * 1e6)

    def _made(self) -> list[Turn]:
        """Before the clock starts: to make up the words of a turn takes four times as long as to commit it."""
        return [next(self._turns) for _ in range(BATCH)]


def fill(path: Path, talk: Talk, prefix: str) -> None:
    """Let a store know every answer of this conversation. `prefix` stands before its ids, which are the same in all."""
    with SqliteStore(path) as store:
        for number, recording in enumerate(talk.recordings):
            exchange = Exchange(
                id=f"{prefix}x{number}",
                principal=recording.principal,
                thread=prefix + recording.thread,
                started=1.8e9,
                ended=1.8e9,
                asked_model=recording.origin.model,
                backend=recording.origin.backend,
                model=recording.origin.model,
            )
            store.record(Turn(exchange=exchange, recording=_renamed(recording, prefix))).result()


def _renamed(recording: Recording, prefix: str) -> Recording:
    after = recording.strand.after
    return structs.replace(
        recording,
        id=prefix + recording.id,
        followed=prefix + recording.followed if recording.followed else None,
        strand=structs.replace(recording.strand, after=prefix + after) if after else recording.strand,
        thread=prefix + recording.thread,
    )


def _streamed(id: str, signature: str, chance: random.Random) -> tuple[Block, ...]:
    """The blocks of `stream.sse`."""
    thoughts, texts = traffic.said(traffic.EVENTS)
    thinking = {"type": "thinking", "thinking": "".join(thoughts), "signature": signature}
    return thinking, {"type": "text", "text": "".join(texts)}

"""The store in the gateway's bench: filled beforehand with what the large request brings back, and measured against a bare
SQLite commit of the turn that is streamed."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import structs

import traffic
from clew.model.recording import Recording
from clew.store import SqliteStore
from clew.store.values import Exchange, Turn
from history import Talk
from store import Block, Turns, bare

__all__ = ["Commits", "fill"]

BATCH = 50
PAUSE = 0.002
"""Seconds between two turns of a client that asks one question after the other, about."""


class Commits:
    """Commits in batches, to be taken between other cases: one at once after the other, and with a pause before each."""

    def __init__(self, folder: Path) -> None:
        self._commit: Callable[[Turn], object] = bare(folder / "bare.sqlite")
        self._turns = Turns("bare", _streamed)
        self.taken: list[float] = []
        self.paused: list[float] = []

    def batch(self) -> None:
        """Note the microseconds of CPU for one commit. The clock is this process's: nothing else runs in it."""
        self.taken.append(self._each(0.0))
        self.paused.append(self._each(PAUSE))

    def _each(self, pause: float) -> float:
        """The turns are made before the clock starts: to make up the words of one takes four times as long as to commit it.

        After a pause the processor has to fetch the program again, as it has in a gateway.
        """
        turns, spent = [next(self._turns) for _ in range(BATCH)], 0.0
        for turn in turns:
            if pause:
                time.sleep(pause)
            began = time.process_time()
            self._commit(turn)
            spent += time.process_time() - began
        return spent / BATCH * 1e6


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

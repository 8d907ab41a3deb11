"""A bare SQLite commit of the turn that the gateway's bench streams: the measure for what its store costs."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

import traffic
from store import Block, bare

__all__ = ["Commits"]

BATCH = 50


class Commits:
    """Commits in batches, to be taken between other cases."""

    def __init__(self, folder: Path) -> None:
        self._commit: Callable[[], object] = bare(folder / "bare.sqlite", _streamed)
        self.taken: list[float] = []

    def batch(self) -> None:
        """Note the microseconds of CPU for one commit. The clock is this process's: nothing else runs in it."""
        began = time.process_time()
        for _ in range(BATCH):
            self._commit()
        self.taken.append((time.process_time() - began) / BATCH * 1e6)


def _streamed(id: str, signature: str, chance: random.Random) -> tuple[Block, ...]:
    """The blocks of `stream.sse`."""
    thoughts, texts = traffic.said(traffic.EVENTS)
    thinking = {"type": "thinking", "thinking": "".join(thoughts), "signature": signature}
    return thinking, {"type": "text", "text": "".join(texts)}

"""A store in memory, as far as an exchange needs one: it keeps what it is given, and may be slow or unwilling."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from concurrent.futures import Future
from typing import Literal

from clew.errors import StoreError
from clew.model.recording import Shelf
from clew.store.values import Turn

__all__ = ["KeptByHand"]


class KeptByHand:
    """Turns as they were recorded."""

    def __init__(self, mood: Literal["willing", "slow", "unwilling"] = "willing") -> None:
        self.mood = mood
        self.turns: list[Turn] = []
        self.came = asyncio.Event()
        self.touched: list[tuple[bytes, ...]] = []
        self._shelf = Shelf()
        self._threads: dict[tuple[str, str], str] = {}

    def record(self, turn: Turn) -> Future[bool]:
        done: Future[bool] = Future()
        self.turns.append(turn)
        self.came.set()
        if self.mood == "unwilling":
            done.set_exception(StoreError("no room", file="x"))
        elif self.mood == "willing":
            if turn.recording is not None:
                self._shelf.add(turn.recording)
            self._threads.setdefault((turn.exchange.session, turn.exchange.agent), turn.exchange.thread)
            done.set_result(True)
        return done

    def record_open(self, turn: Turn) -> Future[bool]:
        return Future()

    def recordings(self, principal: str) -> Shelf:
        return self._shelf

    def thread_of(self, principal: str, session: str, agent: str) -> str | None:
        return self._threads.get((session, agent))

    def pin_of(self, principal: str, thread: str) -> str:
        return ""

    def touch(
        self, principal: str, *, keys: Iterable[bytes] = (), recordings: Iterable[str] = (), at: float, lazily: bool = False
    ) -> Future[None]:
        self.touched.append(tuple(keys))
        return Future()

"""A store in memory, as far as an exchange needs one: it keeps what it is given, and may be slow or unwilling."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Final, Literal, TypeAlias

from clew.errors import StoreError
from clew.model.recording import Shelf
from clew.model.turn import TurnRecord
from clew.store.values import Lookup, LookupResult

__all__ = ["KeptByHand", "Mood"]

Mood: TypeAlias = Literal["willing", "slow", "unwilling"]


class KeptByHand:
    """Turns as they were recorded."""

    place: Final = "local"

    def __init__(self, mood: Mood = "willing") -> None:
        self.mood = mood
        self.turns: list[TurnRecord] = []
        self.came = asyncio.Event()
        self.touched: list[tuple[bytes, ...]] = []
        self._shelf = Shelf()
        self._threads: dict[tuple[str, str], str] = {}

    def record(self, turn: TurnRecord) -> Future[bool]:
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

    def record_open(self, turn: TurnRecord) -> Future[bool]:
        return Future()

    def recall(self, wanted: Lookup) -> LookupResult | None:
        return self.gather(wanted)

    def gather(self, wanted: Lookup, check: Callable[[], None] = lambda: None) -> LookupResult:
        """All that there is: a request takes what it points at."""
        recordings = self._shelf.all
        thread = self._threads.get((wanted.session, wanted.agent), "")
        pins = {name: "" for name in (thread, wanted.thread, *(each.thread for each in recordings)) if name}
        return LookupResult(recordings=tuple(recordings), thread=thread, pins=pins)

    def touch(
        self, principal: str, *, keys: Iterable[bytes] = (), recordings: Iterable[str] = (), at: float, lazily: bool = False
    ) -> Future[None]:
        self.touched.append(tuple(keys))
        return Future()

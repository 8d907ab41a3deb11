"""The queue in front of a writer's thread: what waits for the next transaction, in three classes.

Most commands run in the next transaction, together with whatever else waits. A command for *later* runs when nothing else
waits, in a transaction of its own; its sender bounds how many there are. A *lazy* one runs then too, after a delay, together
with others like it. The queue is bounded in number and in bytes, and a full one refuses at once: a database that is stuck
for seconds must cost neither memory nor time.

Between two batches the thread sleeps in C, and is woken once: every answer waits for it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from clew.store.batches import DELAY, DelayedQueue

Connection = TypeVar("Connection")

Erases: TypeAlias = Literal["", "now", "soon"]
"""Whether a command deletes text: nothing of it may be left when the command ends, or as soon as no reader prevents it."""


class QueueLimits(NamedTuple):
    """How many commands may wait, how many bytes they may have, and how many go together."""

    waiting: int = 1000
    waiting_bytes: int = 64 << 20
    batch: int = 200
    delay: float = DELAY
    """Seconds that a lazy command waits for others."""


class WriteCommand(NamedTuple, Generic[Connection]):
    """Something to run on the writer's connection, and the future that its sender waits for."""

    run: Callable[[Connection], Any]
    future: Future[Any]
    weight: int = 0
    erases: Erases = ""
    tells: bool = False
    """Running gateways have to take over what it changes."""


class WriteQueue(Generic[Connection]):
    """Commands may be added by any thread, and are taken by one."""

    def __init__(self, limits: QueueLimits) -> None:
        self._limits = limits
        self._waiting: deque[WriteCommand[Connection]] = deque()
        self._later: deque[WriteCommand[Connection]] = deque()
        self._lazy: DelayedQueue[WriteCommand[Connection]] = DelayedQueue(limits.delay)
        self._bytes = 0
        self._lock = threading.Lock()
        self._bell: SimpleQueue[None] = SimpleQueue()
        self._asleep = False
        self._closing = False

    def __len__(self) -> int:
        """How many commands wait for the next transaction."""
        return len(self._waiting)

    def add(self, command: WriteCommand[Connection], *, later: bool, lazily: bool, delay: float | None) -> str:
        """Why the command is refused; "" if it waits now."""
        with self._lock:
            count, size = (len(self._lazy), self._lazy.bytes) if lazily else (len(self._waiting), self._bytes)
            if self._closing:
                return "is closed"
            if not later and (count >= self._limits.waiting or size + command.weight > self._limits.waiting_bytes):
                return f"is too slow: {count} writes of {size} bytes wait already"
            if not lazily:
                (self._later if later else self._waiting).append(command)
                self._bytes += command.weight
                self._wake()
            elif self._lazy.add(command, command.weight, delay):
                self._wake()
        return ""

    def take(self) -> list[WriteCommand[Connection]]:
        """Wait for the commands that go together next; none once the queue is closed and all is done."""
        while True:
            with self._lock:
                self._asleep = False
                source, most = (self._waiting, self._limits.batch) if self._waiting else (self._later, 1)
                batch = [source.popleft() for _ in range(min(most, len(source)))]
                self._bytes -= sum(each.weight for each in batch)
                if not batch and (self._closing or self._lazy.is_due()):
                    batch = self._lazy.take()
                if batch or self._closing:
                    return batch
                self._asleep = True
                seconds = self._lazy.seconds_left()
            with suppress(Empty):
                self._bell.get(timeout=seconds)

    def close(self) -> None:
        """Take no more commands. Those that wait are still given out."""
        with self._lock:
            self._closing = True
            self._wake()

    def _wake(self) -> None:
        if self._asleep:
            self._asleep = False
            self._bell.put(None)

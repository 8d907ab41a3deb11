"""Where the log goes: a thread of its own writes the lines.

The thread keeps a slow disk or a blocked pipe away from the event loop. What may wait is bounded; what does not fit is
counted, and the count is told as soon as there is room.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

from clew.engine.log.files import LogOutput
from clew.engine.log.lines import as_json

WAITING: Final = 10_000
WAITING_BYTES: Final = 64 << 20
LINGER_SECONDS: Final = 0.05
FLUSH_SECONDS: Final = 5.0


class Sink(logging.Handler):
    """Where records go: `line` makes the text, `out` gets it, in a thread. `close` writes what waits.

    An `owned` output is closed then.
    """

    def __init__(self, out: LogOutput, line: Callable[[logging.LogRecord], str], *, owned: bool = False) -> None:
        super().__init__()
        self._out = out
        self._owned = owned
        self._line = line
        self._waiting: deque[logging.LogRecord] = deque()
        self._bytes = 0
        self._lost = 0
        self._closing = False
        self._writing = False
        self._hurry = False
        self._asleep = False
        self._lock = threading.Lock()
        self._arrived = threading.Condition(self._lock)
        self._thread = threading.Thread(target=self._write, name="clew log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        if getattr(record, "is_light", False) and len(self._waiting) < WAITING and not self._closing:
            self._waiting.append(record)  # no lock: a deque takes one at a time, and one thread takes them out again
            if self._asleep:
                with self._lock:
                    self._arrived.notify_all()
            return
        raw = getattr(record, "raw", b"")
        weight = len(raw) if isinstance(raw, bytes) else 0
        with self._lock:
            if self._closing or len(self._waiting) >= WAITING or self._bytes + weight > WAITING_BYTES:
                self._lost += 1
                return
            self._waiting.append(record)
            self._bytes += weight
            if len(self._waiting) == 1:
                self._arrived.notify_all()

    def flush(self) -> None:
        """Wait until what came so far is written, but not for ever."""
        with self._arrived:
            self._hurry = True
            self._arrived.notify_all()
            self._arrived.wait_for(lambda: not self._waiting and not self._writing, FLUSH_SECONDS)
            self._hurry = False

    def close(self) -> None:
        with self._arrived:
            self._closing = True
            self._arrived.notify_all()
        self._thread.join(FLUSH_SECONDS)
        if self._owned and not self._thread.is_alive():
            self._out.close()
        super().close()

    def _write(self) -> None:
        for batch in self._batches():
            text = "".join(f"{self._safe(record)}\n" for record in batch)
            try:
                self._out.write(text)
                self._out.flush()
            except (OSError, ValueError):
                continue  # a log that cannot be written has nobody to tell

    def _batches(self) -> Iterator[list[logging.LogRecord]]:
        """All that waits, a moment after something does: a thread that wakes for each line would cost more than the line."""
        while True:
            with self._arrived:
                self._writing = False
                self._arrived.notify_all()
                self._asleep = True  # before the look: a record that comes after it wakes this thread
                self._arrived.wait_for(lambda: self._waiting or self._closing)
                self._asleep = False
                self._arrived.wait_for(lambda: self._hurry or self._closing, LINGER_SECONDS)
                batch, lost = [self._waiting.popleft() for _ in range(len(self._waiting))], self._lost
                if not batch and not lost:
                    return
                self._writing = True
                self._bytes = self._lost = 0
            if lost:
                told = "lines of the log were lost: it could not be written fast enough"
                batch.append(logging.LogRecord("clew", logging.WARNING, "", 0, told, None, None))
                batch[-1].fields = {"lost": lost}
            yield batch

    def _safe(self, record: logging.LogRecord) -> str:
        """A record that cannot be written is said to be so: the log must not end because of one line."""
        try:
            return self._line(record)
        except Exception as error:
            return as_json({"level": "error", "event": "log", "why": f"a record cannot be written: {type(error).__name__}"})

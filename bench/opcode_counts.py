"""Instructions of the interpreter in a gateway that runs: `python opcode_counts.py PLACE serve …` is `clew serve …`,
counted.

PLACE is a socket in the file system. To each that connects it says what was counted since the last time, as JSON: for
each thread and function its calls and its instructions. Without a PLACE ("-") nothing is counted here, but by
whatever the gateway runs in.

Counting makes a gateway slower by twenty times or more. So nothing is kept of answers while they come, as nothing is
of those that are as quick as the ones of the bench; and where nothing is counted here, bodies are not written before
the end.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
from types import CodeType, FrameType
from typing import Any

__all__ = ["Counter"]


class Counter:
    """Of one thread. `found` has calls and instructions by function."""

    def __init__(self) -> None:
        self.thread = threading.current_thread().name
        self.found: dict[CodeType, list[int]] = {}

    def called(self, frame: FrameType, event: str, argument: Any) -> Any:
        """A trace function for calls, which makes one for the instructions of this function."""
        count = self.found.setdefault(frame.f_code, [0, 0])
        count[0] += 1
        frame.f_trace_opcodes, frame.f_trace_lines = True, False

        def step(frame: FrameType, event: str, argument: Any) -> Any:
            if event == "opcode":
                count[1] += 1
            return step

        return step


NEVER = 3600.0
_COUNTERS: list[Counter] = []


def _trace_new_thread(frame: FrameType, event: str, argument: Any) -> Any:
    """Give a thread that begins a counter of its own."""
    _COUNTERS.append(Counter())
    sys.settrace(_COUNTERS[-1].called)
    return _COUNTERS[-1].called(frame, event, argument)


def _taken() -> list[tuple[str, str, str, int, int]]:
    found: list[tuple[str, str, str, int, int]] = []
    for counter in tuple(_COUNTERS):
        counted, counter.found = counter.found, {}
        for code, (calls, instructions) in counted.items():
            file = code.co_filename.rpartition("/src/")[2].rpartition("/site-packages/")[2]
            found.append((counter.thread, file, code.co_qualname, calls, instructions))
    return found


def _answer(listener: socket.socket) -> None:
    sys.settrace(None)
    while True:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(json.dumps(_taken()).encode())


def _ignore_slowness(*, keeps_bodies: bool) -> None:
    """Called before anything else of clew is imported."""
    from clew.store import batches

    if not keeps_bodies:
        batches.LONG_DELAY = NEVER  # pyright: ignore[reportAttributeAccessIssue]
    from clew.engine import open_turns

    open_turns.FIRST_FLUSH = NEVER


def main() -> None:
    place = sys.argv.pop(1)
    _ignore_slowness(keeps_bodies=place != "-")
    from clew.cli import main as clew

    if place != "-":
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(place)
        listener.listen()
        threading.Thread(target=_answer, args=(listener,), daemon=True, name="counts").start()
        threading.settrace(_trace_new_thread)
        _COUNTERS.append(Counter())
        sys.settrace(_COUNTERS[-1].called)
    clew(prog_name="clew")


if __name__ == "__main__":
    main()

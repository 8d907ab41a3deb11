"""Clocks in a gateway that runs: `python part_clocks.py PLACE serve …` is `clew serve …` with a clock in some functions.

Each clock is the CPU time of its thread, and stands still while a function of another part runs inside. A function is
replaced where it is defined (its code calls a clock, which calls the old code), so every reference to it has the clock. Only
functions without variables of an outer function can have one. A clock takes about a microsecond of its own, which is
measured at the start and taken off.

PLACE is a socket in the file system. To each that connects it says what was counted since the last time, as JSON: by thread,
then by part, how many nanoseconds it took; and for each thread what it took in all since its start, as the part "all".
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable
from importlib import import_module
from types import CodeType, FunctionType
from typing import Any

from parts import PARTS, STATEMENTS

__all__ = ["Clocks", "function_named"]

_TRIES = 2000


class Clocks:
    """Of all threads."""

    def __init__(self) -> None:
        self._local = threading.local()
        self._threads: list[tuple[str, dict[str, float]]] = []
        self._own = 0.0
        """Nanoseconds that a clock takes of what it measures."""

    def put(self, part: str, function: FunctionType) -> None:
        """Put a clock of this part into the function."""
        inner = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__)
        inner.__kwdefaults__ = function.__kwdefaults__
        slot = f"_clock_{id(inner)}"
        function.__globals__[slot] = self.timed(part, inner)
        function.__code__ = _calling(slot)

    def timed(self, part: str, inner: Callable[..., Any]) -> Callable[..., Any]:
        clock, counters = time.thread_time_ns, self._counters

        def run(*given: Any, **named: Any) -> Any:
            stack, counted = counters()
            now = clock()
            stack[-1][1] += now - stack[-1][0]
            stack.append([now, 0.0])
            try:
                return inner(*given, **named)
            finally:
                now = clock()
                began, spent = stack.pop()
                counted[part] = counted.get(part, 0.0) + spent + now - began - self._own
                stack[-1][0] = now

        return run

    def _counters(self) -> tuple[list[list[float]], dict[str, float]]:
        found = self._local.__dict__
        if "stack" not in found:
            counted: dict[str, float] = {}
            found["stack"], found["counted"] = [[0.0, 0.0]], counted
            self._threads.append((_pool_of(threading.current_thread()), counted))
        return found["stack"], found["counted"]

    def calibrate(self) -> None:
        """Find out what a clock takes."""
        empty = self.timed("nothing", lambda: None)
        for _ in range(_TRIES):
            empty()
        self._own = self.taken()["MainThread"]["nothing"] / _TRIES

    def taken(self) -> dict[str, dict[str, float]]:
        """What was counted since the last time, without what threads took in all."""
        found: dict[str, dict[str, float]] = {}
        for name, counted in self._threads:
            told = found.setdefault(name, {})
            for part in tuple(counted):
                told[part] = told.get(part, 0.0) + counted.pop(part)
        return found


def _pool_of(thread: threading.Thread) -> str:
    """Its name, without the number that it has in a pool."""
    name, _, number = thread.name.rpartition("_")
    return name if number.isdigit() else thread.name


def _with_all(taken: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """With what each thread that lives took in all; those of a pool are added up."""
    for thread in threading.enumerate():
        if thread.ident is not None:
            told, clock = taken.setdefault(_pool_of(thread), {}), time.pthread_getcpuclockid(thread.ident)
            told["all"] = told.get("all", 0.0) + time.clock_gettime_ns(clock)
    return taken


def _calling(slot: str) -> CodeType:
    made: dict[str, Any] = {}
    exec(f"def call(*given, **named):\n return {slot}(*given, **named)", made)
    return made["call"].__code__


def function_named(name: str) -> FunctionType:
    """By its module and its name there: `clew.http.connection:Connection.data_received`."""
    module, _, path = name.partition(":")
    found: Any = import_module(module)
    for word in path.split("."):
        found = found.__dict__[word] if isinstance(found, type) else getattr(found, word)
    assert isinstance(found, FunctionType), f"{name} is no function of Python"
    assert not found.__code__.co_freevars, f"{name} has variables of an outer function"
    return found


def put_all(clocks: Clocks, parts: Iterable[tuple[str, tuple[str, ...]]]) -> None:
    for part, names in parts:
        for name in names:
            clocks.put(part, function_named(name))


def main() -> None:
    clocks = Clocks()
    clocks.calibrate()
    put_all(clocks, (*PARTS.items(), *STATEMENTS.items()))

    listener = socket.socket(socket.AF_UNIX)
    listener.bind(sys.argv.pop(1))
    listener.listen()

    def answer() -> None:
        while True:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(json.dumps(_with_all(clocks.taken())).encode())

    threading.Thread(target=answer, daemon=True, name="clocks").start()
    from clew.cli import main as clew

    clew(prog_name="clew")


if __name__ == "__main__":
    main()

"""Threads that stay with a backend, whatever is active: which there are, and the command that lets each go."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from clew.cli.pages import Line, printable
from clew.store import Store

__all__ = ["Pin", "pin_lines", "pins_in"]

_SHOWN: Final = 10
_TITLE: Final = 40


class Pin(Struct, frozen=True, kw_only=True):
    """A thread, and the backend that it stays with."""

    thread: str
    title: str
    backend: str


def pins_in(store: Store | None, principal: str) -> tuple[Pin, ...]:
    threads = store.pinned(principal) if store else ()
    return tuple(Pin(thread=each.id, title=each.title, backend=each.pin) for each in threads)


def pin_lines(pins: tuple[Pin, ...]) -> list[Line]:
    lines = [Line(printable(_said_of(pin))) for pin in pins[:_SHOWN]]
    more = len(pins) - _SHOWN
    return lines if more <= 0 else [*lines, Line(f"and {more} more threads: --json lists them all", "quiet")]


def _said_of(pin: Pin) -> str:
    title = pin.title if len(pin.title) <= _TITLE else pin.title[: _TITLE - 1] + "…"
    named = f" ({title})" if title else ""
    return f"thread {pin.thread}{named} stays with {pin.backend}: `clew use --reset --thread {pin.thread}` lets it go."

"""Types that msgspec can read, prepared before any thread reads them.

msgspec works out how to read a `Struct` when the first value of it is read, and keeps that with the class from the moment
that it begins. Two threads that read the first values of one class at once can then see it half done, and the process dies
of a segmentation fault. So code that starts threads calls `prepare_types` first, when all modules are imported.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress

import msgspec
from msgspec import Struct

_OWN = "clew."
_lock = threading.Lock()
_seen: set[type[Struct]] = set()


def prepare_types() -> int:
    """Prepare all of clew's types that were imported since the last call. Returns how many."""
    with _lock:
        new = [each for each in _own_types(Struct) if each not in _seen]
        for each in new:
            # A type with a function in it is made by clew alone, and never read.
            with suppress(TypeError, NameError):
                msgspec.json.Decoder(each)
        _seen.update(new)
        return len(new)


def _own_types(kind: type[Struct]) -> Iterator[type[Struct]]:
    for each in kind.__subclasses__():
        if each.__module__.startswith(_OWN):
            yield each
        yield from _own_types(each)

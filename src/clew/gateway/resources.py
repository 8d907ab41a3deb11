"""What this process may use: open files and memory, as the system allows, and the limits for clients that follow from
them."""

from __future__ import annotations

import gc
import os
import resource
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from clew.http.message import ServerLimits
from clew.settings.values import GatewaySettings

_FILES: Final = 16_384
_SPARE_FILES: Final = 128
"""Files that are neither a client's nor a backend's connection: logs, pipes, the store."""
_KILOBYTE: Final = 1024
_MEGABYTE: Final = 1024 * 1024
_SHARE_OF_MEMORY: Final = 8
"""For bodies: the values that are read from one take several times as much."""
_CGROUP_LIMITS: Final = ("memory.max", "memory/memory.limit_in_bytes")
"""Of version 2 and of version 1, where a container sees them."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # malloc.h
_KEPT_BYTES: Final = 32 * _MEGABYTE
_LARGEST_BYTES: Final = 12 * _MEGABYTE
_GIVING_SECONDS: Final = 5.0
_GIVING_WORK: Final = 2.0
"""Memory is given back so often at most, and after so many seconds of CPU: it takes 0.4 % of them."""
_RESTING_WORK: Final = 0.2
"""Seconds of CPU after which it is given back at once when the process rests."""
_RESTING_SHARE: Final = 0.02
"""Of a core, between two looks: a process that takes less rests."""

_YOUNG_OBJECTS: Final = 5000
"""That are made before the garbage collector looks at them. With Python's 700 it took 4 % of a small request."""


def client_limits(gateway: GatewaySettings, files: int, memory: int) -> ServerLimits:
    """What clients may do at most. `files` and `memory` (bytes) are what this process may use."""
    body_bytes = gateway.max_body_megabytes * _MEGABYTE
    bodies_bytes = gateway.bodies_megabytes * _MEGABYTE or memory // _SHARE_OF_MEMORY
    return ServerLimits(
        # Half of the files are for clients: each of them may need a connection to a backend.
        connections=max(1, (files - min(_SPARE_FILES, files // 2)) // 2),
        head_bytes=gateway.max_head_kilobytes * _KILOBYTE,
        head_count=gateway.max_headers,
        body_bytes=body_bytes,
        bodies_bytes=max(bodies_bytes, body_bytes),
        head_seconds=gateway.head_seconds,
        body_seconds=gateway.body_seconds,
        body_rate=gateway.body_rate,
        write_seconds=gateway.write_seconds,
        idle_seconds=gateway.idle_seconds,
    )


def raise_file_limit(streams: int) -> int:
    """Let this process open as many files as so many streams need, or as the system allows. Returns how many that are."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = max(_FILES, 2 * streams + _SPARE_FILES)
    wanted = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return max(soft, wanted)


def usable_memory(cgroup: Path = Path("/sys/fs/cgroup")) -> int:
    """The bytes that this process may use: the machine's memory, a container's, or the rest of a limit of its own."""
    page = os.sysconf("SC_PAGE_SIZE")
    found = [page * os.sysconf("SC_PHYS_PAGES")]
    address_space, _ = resource.getrlimit(resource.RLIMIT_AS)
    if address_space != resource.RLIM_INFINITY:
        in_use = 0  # most of it by libraries and by the stacks of threads
        with suppress(OSError):
            in_use = int(Path("/proc/self/statm").read_text().split()[0]) * page
        found.append(max(0, address_space - in_use))
    for name in _CGROUP_LIMITS:
        with suppress(OSError, ValueError):  # no such file, or the word "max"
            found.append(int((cgroup / name).read_text()))
    return min(found)


def keep_freed_memory() -> None:
    """Let the allocator keep 32 MB of freed memory for large bodies; a piece of more than 12 MB is given back at once.

    A request of a megabyte needs that much memory for a moment, several times. glibc gives pieces of that size back to the
    system at once, and every page that is asked for again is a fault and has to be cleared: 150 of them for each such
    request, which took longer than to read it. The bound is what eight requests need at a time, each of four megabytes.
    Larger pieces are not kept: kept memory can be given back only from its end, and one small value that outlives a burst
    of such bodies would hold all of it until the process ends. Without glibc, this does nothing.

    Where the address space is limited (`ulimit -v`), all threads share one arena: otherwise glibc reserves 64 MB of
    addresses for each thread.
    """
    import ctypes  # late: the listener does not wait for it

    with suppress(AttributeError, OSError, TypeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_MMAP_THRESHOLD, _LARGEST_BYTES)
        mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
        if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
            mallopt(_ARENA_MAX, 1)


class FreedMemory:
    """Gives memory that was freed back to the system. Call `look` now and then, in a thread that no request waits for.

    Bodies of all sizes come and go, and what is remembered of a turn lies between them. glibc gives memory back by itself
    only from its end, so a third of what a process held after some thousand turns was free pages. To give them back takes
    some milliseconds, without the interpreter's lock. It is done now and then while there is much to do, and when that is
    over: a gateway at rest holds what it remembers. Without glibc, this does nothing.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic, worked: Callable[[], float] = time.process_time) -> None:
        """`worked` is how many seconds of CPU this process has taken."""
        self._now, self._worked = now, worked
        self._looked_at, self._looked_after = now(), worked()
        self._given_at, self._given_after = self._looked_at, self._looked_after

    def look(self) -> None:
        """Give it back, if much was done since the last time, or if something was done and the process rests now."""
        now, worked = self._now(), self._worked()
        rests = worked - self._looked_after < _RESTING_SHARE * (now - self._looked_at)
        self._looked_at, self._looked_after = now, worked
        done = worked - self._given_after
        if not (rests and done >= _RESTING_WORK) and not (now >= self._given_at + _GIVING_SECONDS and done >= _GIVING_WORK):
            return
        import ctypes  # late, as above

        with suppress(AttributeError, OSError):
            ctypes.CDLL(None).malloc_trim(0)
        self._given_at, self._given_after = now, self._worked()


@contextmanager
def rare_collections() -> Generator[None]:
    """The garbage collector looks seldom, and never at what is loaded by now. No body waits for it: none is in a cycle."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()

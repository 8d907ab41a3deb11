"""Memory for large bodies: kept by the process, instead of asked for and given back with every one.

A request of a megabyte needs as much memory for a moment, several times. glibc gives pieces of that size back to the system
at once, and every page that is asked for again is a fault, and has to be cleared: 150 of them for each such request, which
took longer than to read it. So it is told to keep what was freed, up to a bound: as much as eight requests have that are
answered at a time, each of four megabytes. Where there is no glibc, nothing happens.

Not what is larger than the bodies of a long session: what is kept can be given back only from its end, and one small thing
that outlives a burst of such bodies would hold all of them until the process ends.
"""

from __future__ import annotations

import ctypes
import resource
from contextlib import suppress

__all__ = ["keep_memory"]

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # malloc.h
_KEPT = 32 * 1024 * 1024
_LARGEST = 12 * 1024 * 1024


def keep_memory() -> None:
    """From now on 32 MB of what was freed are kept; a piece of more than 12 MB is given back at once.

    Where the address space is limited (`ulimit -v`), threads share one place to take memory from: glibc reserves 64 MB of
    addresses for each thread otherwise.
    """
    with suppress(AttributeError, OSError, TypeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_MMAP_THRESHOLD, _LARGEST)
        mallopt(_TRIM_THRESHOLD, _KEPT)
        if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
            mallopt(_ARENA_MAX, 1)

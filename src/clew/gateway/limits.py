"""What a gateway allows its clients: what the settings say, within what the system allows the gateway itself."""

from __future__ import annotations

import os
import resource
from contextlib import suppress
from pathlib import Path
from typing import Final

from clew.http.message import Limits
from clew.settings.values import GatewaySettings

__all__ = ["limits_of", "memory_of_process", "raise_descriptors"]

_DESCRIPTORS: Final = 16_384
_SPARE: Final = 128
"""Descriptors that are neither a client's nor a backend's: files, pipes, the store."""
_KILOBYTE: Final = 1024
_MEGABYTE: Final = 1024 * 1024
_SHARE_OF_MEMORY: Final = 8
"""For bodies: what is made of one takes several times as much."""
_CGROUP_LIMITS: Final = ("memory.max", "memory/memory.limit_in_bytes")
"""Of version 2 and of version 1, where a container sees them."""


def limits_of(gateway: GatewaySettings, descriptors: int, memory: int) -> Limits:
    """`memory` is what this process may use of it, in bytes."""
    body_bytes = gateway.max_body_megabytes * _MEGABYTE
    bodies_bytes = gateway.bodies_megabytes * _MEGABYTE or memory // _SHARE_OF_MEMORY
    return Limits(
        connections=_connections(descriptors),
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


def _connections(descriptors: int) -> int:
    """Half of what may be open is for clients: each of them may need a backend."""
    return max(1, (descriptors - min(_SPARE, descriptors // 2)) // 2)


def raise_descriptors(streams: int) -> int:
    """As many open files as so many streams need, or as the system lets us have. How many that are."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = max(_DESCRIPTORS, 2 * streams + _SPARE)
    wanted = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return max(soft, wanted)


def memory_of_process(cgroup: Path = Path("/sys/fs/cgroup")) -> int:
    """The bytes that this process may use: the machine's memory, a container's, or what is left of a limit of its own."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    address_space, _ = resource.getrlimit(resource.RLIMIT_AS)
    if address_space != resource.RLIM_INFINITY:
        found.append(max(0, address_space - _address_space_in_use()))
    for name in _CGROUP_LIMITS:
        with suppress(OSError, ValueError):  # no such file, or the word "max"
            found.append(int((cgroup / name).read_text()))
    return min(found)


def _address_space_in_use() -> int:
    """Most of it by libraries and by the stacks of threads. 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0

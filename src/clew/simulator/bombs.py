"""Bodies that unpack to much more than they are: a gigabyte of zeros in a megabyte of gzip or some kilobytes of zstd.

Also the form that unpacks to nothing and costs time: gzip members without content, one after the other.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final

from clew.simulator.faults import Fault
from clew.simulator.steps import End, Head, Send, Step, Steps

__all__ = ["bomb", "packed"]

_BLOCK: Final = bytes(8 * 1024 * 1024)
_ZSTD_BLOCK: Final = 128 * 1024
_ZSTD_HEAD: Final = b"\x28\xb5\x2f\xfd\x00\x38"
"""Magic number; no checksum, no length, no dictionary; a window of one block."""


def bomb(fault: Fault, steps: Steps) -> Iterator[Step]:
    """The answer's head, and a packed body that has nothing to do with it."""
    for step in steps:
        if isinstance(step, Head):
            coding = "zstd" if fault.coding == "zstd" else "gzip"
            yield Head(step.status, (*step.headers, ("content-encoding", coding)))
    yield Send(packed(fault.coding, fault.size))
    yield End()


@lru_cache(maxsize=4)
def packed(coding: str, size: int) -> bytes:
    """So many zeros packed; for `members`, so many empty gzip members."""
    return _PACKERS[coding](size)


def _gzip(size: int) -> bytes:
    """One member. A block of zeros is packed once and repeated: the packer forgets its window after each."""
    count, rest = divmod(size, len(_BLOCK))
    body = _deflated(_BLOCK) * count + _deflated(_BLOCK[:rest]) + b"\x03\x00"
    check = 0
    for length in (*[len(_BLOCK)] * count, rest):
        check = zlib.crc32(memoryview(_BLOCK)[:length], check)
    head = b"\x1f\x8b\x08" + bytes(6) + b"\xff"
    return head + body + check.to_bytes(4, "little") + (size % 2**32).to_bytes(4, "little")


def _deflated(zeros: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(zeros) + packer.flush(zlib.Z_FULL_FLUSH)


def _zstd(size: int) -> bytes:
    """Blocks that say: this byte, so many times."""
    count, rest = divmod(size, _ZSTD_BLOCK)
    return _ZSTD_HEAD + _same(_ZSTD_BLOCK, last=False) * count + _same(rest, last=True)


def _same(length: int, *, last: bool) -> bytes:
    return (last | 1 << 1 | length << 3).to_bytes(3, "little") + b"\0"


_PACKERS: Final[dict[str, Callable[[int], bytes]]] = {
    "gzip": _gzip,
    "zstd": _zstd,
    "members": lambda count: gzip.compress(b"", mtime=0) * count,
}

"""A body that comes in several reads, collected in the very bytes that it will be.

The event loop copies what it reads twice before anybody sees it, and to join the pieces would copy it once more. So they go
into one buffer, and the kernel may write into it: `fill` lends what is free of it. In the end the buffer itself is the body.
It grows with what has come, so that to announce a long body reserves no memory; and all bodies of a process together reserve
so much ahead and no more, beyond which each takes no more than twice of what has come.

The buffer is not cleared, since all of it is written to before anybody reads it: to clear it takes as long as to fill it.
Bytes are made so inside of Python only (`os.read` does), so its C interface is called; and a `BytesIO` that alone has
them lets them be written to.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from io import BytesIO

_AHEAD = 16
"""So many times what has come may be reserved,"""
_MOST_AHEAD = 256 * 1024 * 1024
"""as long as all together have not reserved more than that ahead of what has come."""

_MOST_AT_ONCE = 1024 * 1024
"""Bytes that one call may read: the kernel may hold all of a body, and to copy that takes tens of milliseconds."""

_uncleared = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t)(
    ("PyBytes_FromStringAndSize", ctypes.pythonapi)
)


class LongBody:
    """Of `length` bytes, of which `size` are here. No more than are due may be added."""

    __slots__ = ("_ahead", "_into", "_room", "length", "size")

    reserved = 0
    """Ahead of what has come, by all that are not whole yet."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.size = 0
        self._into = BytesIO()
        self._room = self._ahead = 0

    @property
    def due(self) -> int:
        return self.length - self.size

    def add(self, data: bytes | memoryview) -> None:
        self._reserve(self.size + len(data))
        self._into.seek(self.size)
        self.size += self._into.write(data)

    def fill(self, read: Callable[[memoryview], int]) -> int:
        """`read` puts what it has into a view, and says how much that was. There is none before something has come."""
        self._reserve(self.size)
        if self.size == self._room:
            return 0
        end = min(self._room, self.size + _MOST_AT_ONCE)
        with self._into.getbuffer() as buffer, buffer[self.size : end] as free:
            came = read(free)
        self.size += came
        return came

    def whole(self) -> bytes:
        """All of it, once nothing is due. There is no copy: nobody else has the buffer."""
        if self.due:  # what was never written to is nobody's to read
            raise ValueError(f"{self.due} bytes of the body have not come")
        self._reserves(0)
        return self._into.getvalue()

    def __del__(self) -> None:
        self._reserves(0)

    def _reserves(self, ahead: int) -> None:
        LongBody.reserved += ahead - self._ahead
        self._ahead = ahead

    def _reserve(self, come: int) -> None:
        """Room for what has come by now, and for more. Where others have reserved much, only once there is none."""
        wanted = min(_AHEAD * come, self.length)
        if wanted <= self._room:
            return
        spare = _MOST_AHEAD - LongBody.reserved + self._ahead
        room = min(wanted, come + max(come, spare))
        if room == wanted or come >= self._room:
            before, self._into, self._room = self._into, BytesIO(_uncleared(None, room)), room
            with before.getbuffer() as buffer, buffer[: self.size] as came:
                self._into.write(came)
            self._reserves(room - come)

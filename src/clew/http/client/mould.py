"""A mould: a plain head that was read before, for answers whose heads have the same names in the same order.

A backend says the same of each of its answers, but for a few values. So the names of a head that was read (`whole`)
are made into one expression, in which values are open, but for that of the content's type; and what is wanted of the next
head is read by one match. Nothing passes here that would not be read there: the names are the same, and each value is as
plain. A test holds it to that.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from clew.http.client.whole import FIELD, LONGEST, VALUE

__all__ = ["Mould"]


class Mould:
    """Made of a plain head, status line and all. `wanted` are names, in lower case; `told` is that of the backend's own
    name for the call."""

    __slots__ = ("_length_at", "_lines", "_match", "_told_at")

    def __init__(self, head: bytes, wanted: Collection[bytes], told: bytes) -> None:
        fields = FIELD.findall(head, head.index(b"\r\n") + 2)
        open_names = [name.lower() for name, _ in fields if name.lower() in wanted or name.lower() == b"content-length"]
        self._lines = b"".join([b"%b: %%b\r\n" % name if name in wanted else b"%.0b" for name in open_names])
        """The lines of what is wanted, for the values to be put in; of that which is not, nothing is shown."""
        self._told_at = open_names.index(told) if told in wanted and told in open_names else None
        self._length_at = open_names.index(b"content-length")
        parts = [b"%b: %b\r\n" % (re.escape(name), _value(name.lower(), value, wanted)) for name, value in fields]
        self._match = re.compile(rb"HTTP/1\.1 200 [ -~]*+\r\n%b\r\n" % b"".join(parts)).match

    def read(self, data: bytes) -> tuple[bytes, str, bytes] | None:
        """The lines of what is wanted, what is told, "" if that is not wanted, and the body; None if the head is another, or
        the body not all here."""
        found = self._match(data, 0, LONGEST)
        if found is None:
            return None
        values, body, told = found.groups(), data[found.end() :], self._told_at
        if values[self._length_at] != b"%d" % len(body):
            return None
        return self._lines % values, "" if told is None else values[told].decode("latin-1"), body


def _value(name: bytes, value: bytes, wanted: Collection[bytes]) -> bytes:
    if name == b"content-length" or name in wanted:
        return b"(%b)" % VALUE
    return re.escape(value) if name in (b"content-type", b"content-encoding") else VALUE

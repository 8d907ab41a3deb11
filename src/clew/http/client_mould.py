"""A mould: a plain head that was read before, for answers whose heads have the same names in the same order.

A backend says the same of each of its answers, but for a few values. So the names of a head that was read (`client_whole`)
are made into one expression, in which values are open, but for that of the content's type; and what is wanted of the next
head is read by one match. Nothing passes here that would not be read there: the names are the same, and each value is as
plain. A test holds it to that.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from clew.http.client_whole import FIELD, LONGEST, VALUE

__all__ = ["Mould"]


class Mould:
    """Made of a plain head, status line and all. `wanted` are names, in lower case."""

    __slots__ = ("_length_at", "_match", "_places", "lines")

    def __init__(self, head: bytes, wanted: Collection[bytes]) -> None:
        fields = FIELD.findall(head, head.index(b"\r\n") + 2)
        open_names = [name.lower() for name, _ in fields if name.lower() in wanted or name.lower() == b"content-length"]
        self.lines = b"".join([b"%b: %%b\r\n" % name if name in wanted else b"%.0b" for name in open_names])
        """The lines of what is wanted, for the values to be put in; of that which is not, nothing is shown."""
        self._places = {name: at for at, name in enumerate(open_names) if name in wanted}
        self._length_at = open_names.index(b"content-length")
        parts = [b"%b: %b\r\n" % (re.escape(name), _value(name.lower(), value, wanted)) for name, value in fields]
        self._match = re.compile(rb"HTTP/1\.1 200 [ -~]*+\r\n%b\r\n" % b"".join(parts)).match

    def read(self, data: bytes) -> tuple[tuple[bytes, ...], bytes] | None:
        """The values of what is wanted and of the length, and the body; None if the head is another, or the body not all
        here."""
        found = self._match(data, 0, LONGEST)
        if found is None:
            return None
        values, body = found.groups(), data[found.end() :]
        return (values, body) if values[self._length_at] == b"%d" % len(body) else None

    def value_of(self, name: bytes, values: tuple[bytes, ...]) -> str:
        """One of them; "" if it is not among what is wanted."""
        at = self._places.get(name)
        return "" if at is None else values[at].decode("latin-1")


def _value(name: bytes, value: bytes, wanted: Collection[bytes]) -> bytes:
    if name == b"content-length" or name in wanted:
        return b"(%b)" % VALUE
    return re.escape(value) if name in (b"content-type", b"content-encoding") else VALUE

"""A plain answer that came whole, in one read: its head and its body, at a glance.

Most answers that are no streams are short, and come so. A head of nothing but ordinary lines, with a length that is just
what follows, can be read in one way only, so one expression reads it. Whatever is less plain (another status, chunks, a word
about the connection, a field with odd white space, anything that is not ASCII) is left to the parser. A test holds that this
finds what the parser finds.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from clew.http.client.message import ResponseHead, ResponseLimits

__all__ = ["FIELD", "LONGEST", "VALUE", "WholeResponse", "read_at_once"]

VALUE = rb"[!-~]++(?: [!-~]++)*+"
_HEAD = re.compile(rb"HTTP/1\.1 200 [ -~]*+\r\n((?:[0-9A-Za-z_-]++: %b\r\n)++)\r\n" % VALUE)
FIELD = re.compile(rb"([^:]++): ([^\r]++)\r\n")
_NOT_PLAIN = frozenset({b"connection", b"transfer-encoding", b"upgrade", b"proxy-connection"})
LONGEST = 8192
"""Bytes of a head that is looked at."""


class WholeResponse(NamedTuple):
    """A status of 200, on a connection that may be used again."""

    head: ResponseHead
    body: bytes


def read_at_once(data: bytes, limits: ResponseLimits) -> WholeResponse | None:
    """None if it is less plain, or not all of it."""
    found = _HEAD.match(data, 0, LONGEST)
    if found is None:
        return None
    end = found.end()
    head, body = ResponseHead(200, tuple([(name.lower(), value) for name, value in FIELD.findall(found[1])])), data[end:]
    first, count, most = head.first, len(head.headers), limits.body_bytes
    if first.get(b"content-length") != b"%d" % len(body) or count != len(first) or not _NOT_PLAIN.isdisjoint(first):
        return None
    if end > limits.head_bytes or count > limits.head_count or (most is not None and len(body) > most):
        return None
    return WholeResponse(head, body)

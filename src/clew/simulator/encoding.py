"""Compressed request bodies: read, within the same bound as plain ones (R62)."""

from __future__ import annotations

import zlib
from typing import Final

from clew.http.message import HttpRequest
from clew.simulator.accounts import refusal
from clew.simulator.interfaces import Violation

__all__ = ["MAX_DECODED", "decoded"]

MAX_DECODED: Final = 32 * 1024 * 1024
_EITHER: Final = zlib.MAX_WBITS | 32  # gzip or zlib, by its header
_KNOWN: Final = ("gzip", "x-gzip", "deflate")


def decoded(request: HttpRequest) -> HttpRequest | Violation:
    """The request with its plain body, or why it cannot be read."""
    coding = (request.header("content-encoding") or "identity").strip().lower()
    if coding == "identity":
        return request
    if coding not in _KNOWN:
        return _unreadable(415, f"content-encoding {coding!r} is not understood here; send gzip, deflate or none")
    inflate = zlib.decompressobj(_EITHER)
    try:
        body = inflate.decompress(request.body, MAX_DECODED + 1)
    except zlib.error as error:
        return _unreadable(400, f"the body is not {coding}: {error}")
    if len(body) > MAX_DECODED:
        return refusal("R62.too-large-decoded")
    if not inflate.eof:
        return _unreadable(400, f"the body is not whole {coding}")
    return request.with_body(body)


def _unreadable(status: int, message: str) -> Violation:
    return Violation(rule="sim.encoding", grade="A", status=status, error_type="invalid_request_error", message=message)

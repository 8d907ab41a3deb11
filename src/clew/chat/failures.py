"""A failure as the engine tells it to a client, as the exception that it was."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from clew.dialects.anthropic.errors import ERROR_TYPES
from clew.errors import BackendBroken, BackendError, BackendOverloaded, BackendRejected, BackendTimedOut
from clew.model.json import JsonObject

__all__ = ["broken_off", "refused"]

_BUSY = (429, 503, 529)
_LATE = 504
_STATUSES = {kind: status for status, kind in ERROR_TYPES.items()}


class _Error(Struct):
    message: str = ""


class _Body(Struct):
    error: _Error


def refused(status: int, body: bytes, retry_after: float | None = None) -> BackendError:
    """No answer at all: this status, and these words."""
    return _error(status, _words(body), body, retry_after)


def broken_off(error: JsonObject) -> BackendError:
    """An error in a stream: what came before it was part of an answer."""
    status = _STATUSES.get(str(error.get("type")), 0)
    words = str(error.get("message") or "the answer broke off")
    return _error(status, words, b"") if status in (*_BUSY, _LATE) else BackendBroken(words)


def _error(status: int, words: str, body: bytes, retry_after: float | None = None) -> BackendError:
    if status in _BUSY:
        return BackendOverloaded(words, status=status, retry_after=retry_after, body=body)
    if status == _LATE:
        return BackendTimedOut(words, phase="")
    return BackendRejected(words, status=status, body=body) if status < 500 else BackendBroken(words)


def _words(body: bytes) -> str:
    try:
        return msgspec.json.decode(body, type=_Body).error.message or "the backend refused"
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return "the backend refused"

"""What went wrong with an answer, as an app hears it: the engine's own exception, in the vendor's words where it has any."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from clew.errors import (
    BackendBroken,
    BackendError,
    BackendOverloaded,
    BackendRejected,
    BackendTimedOut,
    ClewError,
)
from clew.model.failure import ERROR_TYPES
from clew.model.json import JsonObject

_BUSY = (429, 503, 529)
_LATE = 504
_STATUSES = {kind: status for status, kind in ERROR_TYPES.items()}


class _Error(Struct):
    message: str = ""


class _Body(Struct):
    error: _Error


def in_their_words(failure: ClewError) -> ClewError:
    """The same exception; one that a backend gave reasons for says those."""
    words = _words(failure.body) if isinstance(failure, BackendRejected | BackendOverloaded) else ""
    if isinstance(failure, BackendRejected) and failure.status >= 500:
        return BackendBroken(words or str(failure))
    if words:
        failure.args = (words,)
    return failure


def broken_off(error: JsonObject) -> BackendError:
    """An error in a stream: what came before it was part of an answer."""
    status = _STATUSES.get(str(error.get("type")), 0)
    words = str(error.get("message") or "the answer broke off")
    if status in _BUSY:
        return BackendOverloaded(words, status=status)
    return BackendTimedOut(words, phase="") if status == _LATE else BackendBroken(words)


def _words(body: bytes) -> str:
    try:
        return msgspec.json.decode(body, type=_Body).error.message
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""

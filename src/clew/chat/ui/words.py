"""What a front end is told of an answer that failed: what happened, in the backend's words, and what to do next."""

from __future__ import annotations

from typing import Final

from clew.errors import (
    BackendError,
    BackendOverloaded,
    BackendRejected,
    BackendTimedOut,
    BackendUnreachable,
    ClewError,
    CredentialsExhausted,
)

__all__ = ["words_of"]

_KEPT: Final = "What you said is kept."
_AUTH: Final = (401, 403)


def words_of(error: BaseException) -> str:
    """For a person to read. Nothing of an error that is a fault in clew is shown."""
    if not isinstance(error, ClewError):
        return f"The chat server failed; its log has the details. {_KEPT} Try again."
    said = str(error).strip().rstrip(".") or "The answer failed"
    return f"{said}. {_KEPT} {_next(error)}"


def _next(error: ClewError) -> str:
    if isinstance(error, CredentialsExhausted):
        return "Ask again when the key is right, or choose another backend."
    if isinstance(error, BackendRejected) and error.status in _AUTH:
        return "The backend does not take the credential that came with the question: check it, or choose another backend."
    if isinstance(error, BackendRejected):
        return "Asking again in the same way will not help: choose another model or backend."
    if isinstance(error, BackendOverloaded):
        return "Try again in a moment, or choose another backend."
    if isinstance(error, BackendTimedOut | BackendUnreachable):
        return "Try again, or choose another backend."
    return "Try again." if isinstance(error, BackendError) else "See `clew doctor`."

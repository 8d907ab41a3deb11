"""Every error that clew raises on purpose.

    ClewError
    ├─ RequestInvalid         the client's fault; rule, JSON path                → 400 invalid_request_error
    │  └─ AnswerUnknown       no stored answer has the id that was asked for     → 404 invalid_request_error
    ├─ Unrepresentable        what a dialect cannot say                          → 400 invalid_request_error
    ├─ BodyTooLarge           over a stated limit                                → 413 request_too_large
    ├─ UsageLimitReached           the caller may use no more for now                 → 429 rate_limit_error
    ├─ KeyForbidden           the caller's key may not have this model or backend → 403 permission_error
    ├─ StreamIllegal          a stream broke its own grammar; state and event    → 502 api_error
    │  ├─ BlockMismatch       a delta that does not fit its block
    │  ├─ SseTooLarge         a line or an event over its bound
    │  └─ AnswerTooLarge      too many blocks, or too much before the first content
    ├─ BackendError           what a backend, or the way to it, did to us        → 502 api_error
    │  ├─ BackendUnreachable  no connection: name, address, certificate, proxy
    │  ├─ BackendTimedOut     silent for too long; in which phase                → 504 timeout_error
    │  ├─ BackendBroken       an answer that broke off, or is no answer
    │  ├─ BackendOverloaded   it asks us to wait; for how long                   → 429 rate_limit_error, 529 overloaded_error
    │  ├─ BackendRejected     it refused; its own status and words               → its own status
    │  └─ CredentialsExhausted   every key that we hold for it was refused
    ├─ SealInvalid            a seal that is not ours, or not whole: treat its block as absent
    ├─ SettingsInvalid        file, key, what is allowed
    │  ├─ BackendDisabled     a variable that the backend needs is not set         → 503 api_error
    │  └─ BackendUnknown      a backend was chosen that is not in the settings     → 503 api_error
    │     └─ PinUnreadable    the store cannot say which backend a thread has      → 503 api_error
    └─ StoreError             the store cannot be read or written; file           → 500 api_error
       ├─ SchemaTooNew        the file was written by a newer clew
       └─ RecordCorrupt       the file, or a record in it, is not what was written

Each class answers the two questions a server has: which status, and which wire type. Messages say what was wrong, where,
and how to fix it. Broken invariants of our own are `assert`s, not exceptions.
"""

from __future__ import annotations

__all__ = [
    "AnswerTooLarge",
    "AnswerUnknown",
    "BackendBroken",
    "BackendDisabled",
    "BackendError",
    "BackendOverloaded",
    "BackendRejected",
    "BackendTimedOut",
    "BackendUnknown",
    "BackendUnreachable",
    "BlockMismatch",
    "BodyTooLarge",
    "ClewError",
    "CredentialsExhausted",
    "KeyForbidden",
    "PinUnreadable",
    "RecordCorrupt",
    "RequestInvalid",
    "SchemaTooNew",
    "SealInvalid",
    "SettingsInvalid",
    "SseTooLarge",
    "StoreError",
    "StreamIllegal",
    "Unrepresentable",
    "UsageLimitReached",
]


class ClewError(Exception):
    """The base class of all errors that clew raises on purpose: `except ClewError` catches them, and no others.

    >>> from clew import image
    >>> try:
    ...     image("notes.txt")
    ... except ClewError as error:
    ...     print(f"{error.status} {error.error_type}")
    400 invalid_request_error
    """

    status: int = 500
    error_type: str = "api_error"


class RequestInvalid(ClewError):
    """The request cannot be read or edited. `path` is a JSON path (`messages.3.content.0.signature`), "" for the whole.
    `code` is the vendor's own word for it, for clients whose dialect has one."""

    status: int = 400
    error_type: str = "invalid_request_error"

    def __init__(
        self, message: str, *, path: str = "", line: int | None = None, column: int | None = None, code: str = ""
    ) -> None:
        super().__init__(message)
        self.path = path
        self.line = line
        self.column = column
        self.code = code


class AnswerUnknown(RequestInvalid):
    """No stored answer of this principal has the id that was asked for."""

    status: int = 404


class Unrepresentable(ClewError):
    """A value that the target's dialect has no words for, and no policy that says what to do with it. `path` is where the
    client has it, if that is known."""

    status: int = 400
    error_type: str = "invalid_request_error"
    path: str = ""


class BodyTooLarge(ClewError):
    """More bytes, levels or entries than the stated limit."""

    status: int = 413
    error_type: str = "request_too_large"


class UsageLimitReached(ClewError):
    """A limit of the key, the principal or the team has no room for this request. `retry_after`: seconds until it has."""

    status: int = 429
    error_type: str = "rate_limit_error"

    def __init__(self, message: str, *, retry_after: float | None = None, status: int = 429) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.status = status
        self.error_type = "permission_error" if status == 403 else "rate_limit_error"


class KeyForbidden(ClewError):
    """The client's key is valid, and may not be used for this model or this backend. `key`: the backend, if it is one."""

    status: int = 403
    error_type: str = "permission_error"

    def __init__(self, message: str, *, key: str = "") -> None:
        super().__init__(message)
        self.key = key


class StreamIllegal(ClewError):
    """An event that may not follow what came before it."""

    status: int = 502
    error_type: str = "api_error"

    def __init__(self, message: str, *, state: str = "", event: str = "") -> None:
        super().__init__(message)
        self.state = state
        self.event = event


class BlockMismatch(StreamIllegal):
    """A delta for a block of another type. Clients log it as `tengu_streaming_error`, with these `fields`."""

    def __init__(self, message: str, *, name: str, expected: str, actual: str) -> None:
        super().__init__(message, state=actual, event=expected)
        self.name = name
        self.expected = expected
        self.actual = actual

    @property
    def fields(self) -> dict[str, str]:
        """What clients log of it, by their names."""
        return {"error_type": self.name, "expected_type": self.expected, "actual_type": self.actual}


class SseTooLarge(StreamIllegal):
    """A line or an event longer than its bound: the peer is broken or hostile."""


class AnswerTooLarge(StreamIllegal):
    """An answer with more blocks than its bound, or too much before its first content."""


class BackendError(ClewError):
    """A backend did not give what was asked of it. The message names the backend, and never a credential."""

    status: int = 502


class BackendUnreachable(BackendError):
    """There is no connection: refused, unknown name, wrong certificate, no room in the pool, a proxy that said no."""


class BackendTimedOut(BackendError):
    """Nothing happened for longer than the phase may last. `phase` is one of `clew.http.client.message.Phase`."""

    status: int = 504
    error_type: str = "timeout_error"

    def __init__(self, message: str, *, phase: str) -> None:
        super().__init__(message)
        self.phase = phase


class BackendBroken(BackendError):
    """The connection broke before the answer was whole, or what came is not what was asked for: no HTTP, a redirect."""


class BackendOverloaded(BackendError):
    """It cannot serve now. `retry_after` is the seconds it asked for, if it did; the client should hear of them."""

    def __init__(self, message: str, *, status: int = 529, retry_after: float | None = None, body: bytes = b"") -> None:
        super().__init__(message)
        self.status = status
        self.error_type = "rate_limit_error" if status == 429 else "overloaded_error"
        self.retry_after = retry_after
        self.body = body


class BackendRejected(BackendError):
    """It refused this request for good. `status` and `body` are its own: they are what the client should read."""

    def __init__(self, message: str, *, status: int, body: bytes = b"") -> None:
        super().__init__(message)
        self.status = status
        self.body = body


class CredentialsExhausted(BackendError):
    """Every key of the operator's was refused. Not a 401: the client would blame its own key."""


class SealInvalid(ClewError):
    """Not our seal, a changed byte, an unknown version or key, or another principal's."""

    status: int = 400
    error_type: str = "invalid_request_error"


class SettingsInvalid(ClewError):
    """A setting or a fact that cannot be used: which file, which key, what is allowed."""

    def __init__(self, message: str, *, file: str = "", key: str = "") -> None:
        super().__init__(message)
        self.file = file
        self.key = key


class BackendDisabled(SettingsInvalid):
    """The backend that was chosen lacks a variable that its settings name. No other one answers in its place."""

    status: int = 503


class BackendUnknown(SettingsInvalid):
    """The backend that was chosen is not in the settings that hold here. No other one answers in its place."""

    status: int = 503


class PinUnreadable(BackendUnknown):
    """The store cannot say which backend a thread stays with. No other one answers in its place."""


class StoreError(ClewError):
    """The store cannot be opened, read or written: which file, why, and what helps. Answers go on without it."""

    def __init__(self, message: str, *, file: str = "") -> None:
        super().__init__(message)
        self.file = file


class SchemaTooNew(StoreError):
    """A newer clew wrote this file. An older one would misread it, so it does not try."""


class RecordCorrupt(StoreError):
    """The file is no store of ours, is damaged, or holds a record that cannot be read."""

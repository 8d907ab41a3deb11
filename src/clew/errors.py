"""Every error that clew raises on purpose.

    ClewError
    ├─ RequestInvalid         the client's fault; rule, JSON path                → 400 invalid_request_error
    ├─ Unrepresentable        what a dialect cannot say                          → 400 invalid_request_error
    ├─ BodyTooLarge           over a stated limit                                → 413 request_too_large
    ├─ StreamIllegal          a stream broke its own grammar; state and event    → 502 api_error
    │  ├─ BlockMismatch       a delta that does not fit its block
    │  └─ SseTooLarge         a line or an event over its bound
    ├─ SealInvalid            a seal that is not ours, or not whole: treat its block as absent
    └─ SettingsInvalid        file, key, what is allowed

Each class answers the two questions a server has: which status, and which wire type. Messages say what was wrong, where,
and how to mend it. Broken invariants of our own are `assert`s, not exceptions.
"""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "BlockMismatch",
    "BodyTooLarge",
    "ClewError",
    "RequestInvalid",
    "SealInvalid",
    "SettingsInvalid",
    "SseTooLarge",
    "StreamIllegal",
    "Unrepresentable",
]


class ClewError(Exception):
    """The base: `except ClewError` catches all that clew raises on purpose, and nothing else."""

    status: ClassVar[int] = 500
    error_type: ClassVar[str] = "api_error"


class RequestInvalid(ClewError):
    """The request cannot be read or edited. `path` is a JSON path (`messages.3.content.0.signature`), "" for the whole."""

    status: ClassVar[int] = 400
    error_type: ClassVar[str] = "invalid_request_error"

    def __init__(self, message: str, *, path: str = "", line: int | None = None, column: int | None = None) -> None:
        super().__init__(message)
        self.path = path
        self.line = line
        self.column = column


class Unrepresentable(ClewError):
    """A value that the target's dialect has no words for, and no policy that says what to do with it."""

    status: ClassVar[int] = 400
    error_type: ClassVar[str] = "invalid_request_error"


class BodyTooLarge(ClewError):
    """More bytes, levels or entries than the stated limit."""

    status: ClassVar[int] = 413
    error_type: ClassVar[str] = "request_too_large"


class StreamIllegal(ClewError):
    """An event that may not follow what came before it."""

    status: ClassVar[int] = 502
    error_type: ClassVar[str] = "api_error"

    def __init__(self, message: str, *, state: str = "", event: str = "") -> None:
        super().__init__(message)
        self.state = state
        self.event = event


class BlockMismatch(StreamIllegal):
    """A delta for a block of another type. `name` is the name that clients log for it."""

    def __init__(self, message: str, *, name: str, expected: str, actual: str) -> None:
        super().__init__(message, state=actual, event=expected)
        self.name = name
        self.expected = expected
        self.actual = actual


class SseTooLarge(StreamIllegal):
    """A line or an event longer than its bound: the peer is broken or hostile."""


class SealInvalid(ClewError):
    """Not our seal, a changed byte, an unknown version or key, or another principal's."""

    status: ClassVar[int] = 400
    error_type: ClassVar[str] = "invalid_request_error"


class SettingsInvalid(ClewError):
    """A setting or a fact that cannot be used: which file, which key, what is allowed."""

    def __init__(self, message: str, *, file: str = "", key: str = "") -> None:
        super().__init__(message)
        self.file = file
        self.key = key

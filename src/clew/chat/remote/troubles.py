"""Exceptions over a wire: told by their class and what they hold, and raised as the same on the other side."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import msgspec
from msgspec import Struct

from clew import errors
from clew.errors import BackendBroken, BackendOverloaded, BodyTooLarge, ClewError, RequestInvalid, SettingsInvalid

__all__ = ["Trouble", "raised", "refused", "trouble_of"]

_KINDS: Final = {name: kind for name in errors.__all__ if issubclass(kind := getattr(errors, name), ClewError)}

_WHERE: Final = "is this its address, and not the one for clients? `clew status --json` has both"
_BUSY: Final = (429, 503)
_BY_STATUS: Final[dict[int, type[ClewError]]] = {400: RequestInvalid, 404: RequestInvalid, 413: BodyTooLarge}
"""What a gateway means that tells no exception; anything else is that it does not let us in."""


class Trouble(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One exception of clew's. `holds` are its attributes (a status, a phase, a JSON path); `body` a backend's own words."""

    kind: str
    message: str
    holds: dict[str, str | int | float | None] = {}
    body: bytes | None = None


class _Troubled(Struct):
    error: Trouble


class _Problem(Struct):
    what: str
    why: str = ""
    next: str = ""


class _Refused(Struct):
    error: _Problem


def trouble_of(error: BaseException) -> Trouble:
    """What is not clew's own is a fault of ours, and is not told in detail."""
    if not isinstance(error, ClewError):
        return Trouble(kind=ClewError.__name__, message=f"the gateway failed: {type(error).__name__}")
    held = {name: value for name, value in vars(error).items() if isinstance(value, str | int | float | None)}
    return Trouble(kind=type(error).__name__, message=str(error), holds=held, body=vars(error).get("body"))


def raised(trouble: Trouble) -> ClewError:
    """The same exception again. One of a class that is not known here is a ClewError."""
    kind = _KINDS.get(trouble.kind, ClewError)
    error = kind.__new__(kind, trouble.message)  # each class has an `__init__` of its own
    vars(error).update(trouble.holds)
    if trouble.body is not None:
        vars(error)["body"] = trouble.body
    return error


def refused(status: int, body: bytes, retry_after: str = "") -> ClewError:
    """What a gateway says in place of an answer: an exception of the conversation's, that it has no room now, or that it
    does not let us in."""
    with suppress(msgspec.MsgspecError, UnicodeDecodeError):
        return raised(msgspec.json.decode(body, type=_Troubled).error)
    with suppress(msgspec.MsgspecError, UnicodeDecodeError):
        said = msgspec.json.decode(body, type=_Refused).error
        words = ": ".join(filter(None, ("the gateway", said.what, said.why)))
        if status in _BUSY:
            wait = float(retry_after) if retry_after.isdecimal() else None
            return BackendOverloaded(words, status=status, retry_after=wait)
        return _BY_STATUS.get(status, SettingsInvalid)(words)
    return BackendBroken(f"no gateway's admin answers so ({status}); {_WHERE}")

"""Sessions of browsers. They outlive the gateway: whoever starts it again need not let every tab in anew.

Only a hash of each secret is kept, in a private file of the home, with the time at which it ends; the value that a change
needs besides is made from the secret, so it is nowhere. The hash is taken with the place of the admin (its port), so that a
session opens no other admin of the same home, from which it could not be ended. A file that cannot be used costs nothing but
the memory of it: the sessions are then those of this process.
"""

from __future__ import annotations

import hmac
import logging
import secrets
import time
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from clew.errors import SettingsInvalid
from clew.settings.home import locked, read_private, write_private

__all__ = ["MOST", "SESSION_SECONDS", "Session", "Sessions"]

SESSION_SECONDS: Final = 12 * 3600.0
MOST: Final = 32
"""Sessions that are valid at a time. The oldest goes first."""

_log = logging.getLogger("clew.admin")


class Session(Struct, frozen=True):
    """A browser that came in. `csrf` must stand in a header of whatever it changes."""

    csrf: str
    until: float


class _File(Struct, frozen=True, kw_only=True):
    until: dict[str, float] = {}
    """When each session ends, by the hash of its secret."""


class Sessions:
    """Of one admin at its place. Without a path they end with the process."""

    def __init__(self, path: Path | None = None, place: str = "", clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._place = place
        self._clock = clock
        self._until: Mapping[str, float] = self._kept({})

    def begin(self) -> str:
        """The secret of a new session."""
        secret = secrets.token_urlsafe(32)
        self._change(lambda until: {**until, self._hash(secret): self._clock() + SESSION_SECONDS})
        return secret

    def find(self, secret: str) -> Session | None:
        until = self._until.get(self._hash(secret), 0.0)
        return Session(_csrf(secret), until) if until > self._clock() else None

    def end(self, secret: str) -> None:
        gone = self._hash(secret)
        self._change(lambda until: {name: end for name, end in until.items() if name != gone})

    def _change(self, change: Callable[[Mapping[str, float]], Mapping[str, float]]) -> None:
        """In memory first: that holds whatever becomes of the file."""
        self._until = self._valid(change(self._until))
        if self._path is None:
            return
        try:
            with locked(self._path):
                self._until = self._valid(change(self._kept(self._until)))
                write_private(self._path, msgspec.json.encode(_File(until=dict(self._until))))
        except SettingsInvalid as error:
            _log.warning("browsers have to log in again after the next start: %s", error)

    def _valid(self, until: Mapping[str, float]) -> Mapping[str, float]:
        now = self._clock()
        left = sorted(((name, end) for name, end in until.items() if end > now), key=lambda each: each[1])
        return dict(left[-MOST:])

    def _kept(self, otherwise: Mapping[str, float]) -> Mapping[str, float]:
        """What the file says; `otherwise` where it says nothing."""
        try:
            raw = read_private(self._path) if self._path else None
            return msgspec.json.decode(raw, type=_File).until if raw else otherwise
        except (SettingsInvalid, msgspec.MsgspecError) as error:
            _log.warning("sessions of browsers from before are not taken over: %s", error)
            return otherwise

    def _hash(self, secret: str) -> str:
        return sha256(f"{self._place} {secret}".encode("utf-8", "surrogatepass")).hexdigest()


def _csrf(secret: str) -> str:
    """Nobody gets from it to the secret, which scripts never see."""
    return hmac.digest(secret.encode("utf-8", "surrogatepass"), b"clew csrf", "sha256").hex()

"""Who may use the admin: whoever reaches the unix socket, holds the token, or came in by a one-time link.

A gateway key opens none of that: its holder may chat, and sees what is its principal's own.

The token is made anew at each start and is never written down. A browser gets in by a link with a code that works once and
not for long; it is exchanged for a cookie that scripts cannot read and other sites cannot send, and whatever changes
something needs a second value in a header besides, which no other page can know. Only hashes of codes and sessions are kept,
and looked up, so that a wrong one takes as long as a right one.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Mapping
from hashlib import sha256
from time import monotonic
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from clew.backends.row import Credential
from clew.gateway.admission import Keys, shown_key
from clew.settings.gateway_key import LOCAL, KeyTable

__all__ = ["Access", "Caller", "Session"]

CODE_SECONDS: Final = 600.0
SESSION_SECONDS: Final = 12 * 3600.0
MOST: Final = 32
"""Codes and sessions that are valid at a time. The oldest goes first."""

Door: TypeAlias = Literal["socket", "token", "browser", "key"]


class Session(Struct, frozen=True):
    """A browser that came in. `csrf` must stand in a header of whatever it changes."""

    csrf: str
    until: float


class Caller(Struct, frozen=True):
    """Somebody who may use the admin, by which door they came, and whose conversations are theirs."""

    door: Door
    session: Session | None = None
    principal: str = LOCAL
    credential: Credential = ()
    """What they showed beside a gateway key, for backends that take it."""


class Access:
    """The token, the codes and the sessions of one running admin."""

    def __init__(self, token: str = "", clock: Callable[[], float] = monotonic, *, keys: Keys | None = None) -> None:
        self._token = token or secrets.token_urlsafe(32)
        self._keys = keys or KeyTable("")
        self._clock = clock
        self._codes: dict[bytes, float] = {}
        self._sessions: dict[bytes, Session] = {}

    @property
    def token(self) -> str:
        return self._token

    def holds_token(self, given: str) -> bool:
        return hmac.compare_digest(_hash(given), _hash(self._token))

    def key_holder(self, headers: Mapping[str, str]) -> Caller | None:
        """Whoever shows a gateway key."""
        shown = shown_key(headers, self._keys)
        return Caller("key", None, shown.principal, shown.credential) if shown.principal else None

    def new_code(self) -> str:
        """A code for one login."""
        code = secrets.token_urlsafe(24)
        _make_room(self._codes)
        self._codes[_hash(code)] = self._clock() + CODE_SECONDS
        return code

    def log_in(self, code: str) -> str | None:
        """A new session's secret for a code that was not used and is not too old; None for any other."""
        until = self._codes.pop(_hash(code), 0.0)
        if until <= self._clock():
            return None
        secret = secrets.token_urlsafe(32)
        _make_room(self._sessions)
        self._sessions[_hash(secret)] = Session(secrets.token_urlsafe(24), self._clock() + SESSION_SECONDS)
        return secret

    def session(self, secret: str) -> Session | None:
        found = self._sessions.get(_hash(secret))
        return found if found and found.until > self._clock() else None

    def log_out(self, secret: str) -> None:
        self._sessions.pop(_hash(secret), None)


def _hash(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogateescape")).digest()


def _make_room(table: dict[bytes, float] | dict[bytes, Session]) -> None:
    if len(table) >= MOST:
        del table[next(iter(table))]

"""Who may use the admin: whoever reaches the unix socket, holds the token, or came in by a one-time link.

A gateway key opens none of that: its holder may chat, and sees what is its principal's own.

The token is made anew at each start and is never written down. A browser gets in by a link with a code that works once and
not for long; it is exchanged for a cookie that scripts cannot read and other sites cannot send, and whatever changes
something needs a second value in a header besides, which no other page can know (`clew.admin.sessions`). Only hashes of
codes and sessions are kept, and looked up, so that a wrong one takes as long as a right one.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Mapping
from hashlib import sha256
from time import monotonic
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from clew.admin.sessions import Session, Sessions
from clew.backends.row import Credential
from clew.gateway.admission import Keys, find_key
from clew.settings.gateway_key import LOCAL, KeyTable

__all__ = ["Access", "Caller"]

CODE_SECONDS: Final = 600.0
MOST: Final = 32
"""Codes that are valid at a time. The oldest goes first."""

Door: TypeAlias = Literal["socket", "token", "browser", "key"]


class Caller(Struct, frozen=True):
    """Somebody who may use the admin, by which door they came, and whose conversations are theirs."""

    door: Door
    session: Session | None = None
    principal: str = LOCAL
    credential: Credential = ()
    """What they showed beside a gateway key, for backends that take it."""


class Access:
    """The token, the codes and the sessions of one running admin."""

    def __init__(
        self,
        token: str = "",
        clock: Callable[[], float] = monotonic,
        *,
        keys: Keys | None = None,
        sessions: Sessions | None = None,
    ) -> None:
        self._token = token or secrets.token_urlsafe(32)
        self._keys = keys or KeyTable("")
        self._clock = clock
        self._codes: dict[bytes, float] = {}
        self._sessions = sessions or Sessions()

    @property
    def token(self) -> str:
        return self._token

    def holds_token(self, given: str) -> bool:
        return hmac.compare_digest(_hash(given), _hash(self._token))

    def key_holder(self, headers: Mapping[str, str]) -> Caller | None:
        """Whoever shows a gateway key."""
        shown = find_key(headers, self._keys)
        return Caller("key", None, shown.principal, shown.credential) if shown.principal else None

    def new_code(self) -> str:
        """A code for one login."""
        code = secrets.token_urlsafe(24)
        if len(self._codes) >= MOST:
            del self._codes[next(iter(self._codes))]
        self._codes[_hash(code)] = self._clock() + CODE_SECONDS
        return code

    def log_in(self, code: str) -> str | None:
        """A new session's secret for a code that was not used and is not too old; None for any other."""
        until = self._codes.pop(_hash(code), 0.0)
        if until <= self._clock():
            return None
        return self._sessions.begin()

    def session(self, secret: str) -> Session | None:
        return self._sessions.find(secret)

    def log_out(self, secret: str) -> None:
        self._sessions.end(secret)


def _hash(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogateescape")).digest()

"""Who may use the admin: callers on the unix socket, holders of the token, and browsers that came in by a one-time link.

A gateway key opens none of that: its holder may chat, and sees only the conversations of its principal. How many requests
each principal may make at the same time is limited here, too.

The token is made again at each start and is never written down. A browser gets in by a link with a code that works once and
not for long; the code is exchanged for a cookie that scripts cannot read and other sites cannot send, and a request that
changes something needs a second value in a header, which no other page can know. Only hashes of codes and sessions are kept
and looked up, so that a wrong one takes as long as a right one.

Sessions outlive the gateway, so that a restart does not log every tab out. A private file of the home holds the hash of
each secret with the time at which the session ends; the CSRF value is computed from the secret, so it is nowhere. The hash
includes the address of the admin, so that a session opens no other admin of the same home, where it could not be ended. If
the file cannot be used, sessions end with the process.
"""

from __future__ import annotations

import hmac
import logging
import secrets
import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import msgspec
from msgspec import Struct

from clew.admin.problems import AdminProblem
from clew.admin.proxy_login import ProxyLogin, ProxyRole, TokenRefused
from clew.backends.credential import Credential
from clew.errors import SettingsInvalid
from clew.gateway.admission import Keys, find_key
from clew.limits.keys import LOCAL, KeyHolder
from clew.settings.home import locked, read_private, write_private
from clew.settings.key_table import KeyTable

if TYPE_CHECKING:
    from starlette.types import Scope

CODE_SECONDS: Final = 600.0
MOST_CODES: Final = 32
"""Codes that are valid at a time. The oldest goes first."""
SESSION_SECONDS: Final = 12 * 3600.0
FRESH_SECONDS: Final = 15 * 60.0
"""How long after a login a browser may change who can use the gateway, and what it calls."""
MOST_SESSIONS: Final = 32
"""Sessions that are valid at a time. The oldest goes first."""
MOST_REQUESTS: Final = 32
"""Requests at the same time, for each principal: a part of what the listener takes."""

_COUNTED: Final = "clew.counted"

_log = logging.getLogger("clew.admin")

Door: TypeAlias = Literal["socket", "token", "browser", "key", "proxy"]


class Session(Struct, frozen=True):
    """A browser that logged in. `csrf` must be in a header of each request that changes something."""

    csrf: str
    until: float

    def is_fresh(self, now: float) -> bool:
        """Whether the browser logged in a short time ago: some routes want that."""
        return now < self.until - SESSION_SECONDS + FRESH_SECONDS


class Caller(Struct, frozen=True):
    """A caller who may use the admin: the door that let the request in, and the principal whose conversations it sees."""

    door: Door
    session: Session | None = None
    principal: str = LOCAL
    credential: Credential = ()
    """What the caller showed beside a gateway key, for backends that take it."""
    holder: KeyHolder | None = None
    """Of the gateway key, by which the caller came."""
    role: ProxyRole | None = None
    """Where a proxy says who it is."""


class _SessionFile(Struct, frozen=True, kw_only=True):
    until: dict[str, float] = {}
    """When each session ends, by the hash of its secret."""


class BrowserSessions:
    """The sessions of one admin at its address. Without a path they end with the process."""

    def __init__(self, path: Path | None = None, address: str = "", clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._address = address
        self._clock = clock
        self._until: Mapping[str, float] = self._read_file({})

    def begin(self) -> str:
        """The secret of a new session."""
        secret = secrets.token_urlsafe(32)
        self._change(lambda until: {**until, self._hash(secret): self._clock() + SESSION_SECONDS})
        return secret

    def find(self, secret: str) -> Session | None:
        until = self._until.get(self._hash(secret), 0.0)
        if until <= self._clock():
            return None
        # The secret, which scripts never see, cannot be computed from this.
        csrf = hmac.digest(secret.encode("utf-8", "surrogatepass"), b"clew csrf", "sha256").hex()
        return Session(csrf, until)

    def end(self, secret: str) -> None:
        gone = self._hash(secret)
        self._change(lambda until: {name: end for name, end in until.items() if name != gone})

    def _change(self, change: Callable[[Mapping[str, float]], Mapping[str, float]]) -> None:
        """In memory first: that holds even if the file cannot be written."""
        self._until = self._valid(change(self._until))
        if self._path is None:
            return
        try:
            with locked(self._path):
                self._until = self._valid(change(self._read_file(self._until)))
                write_private(self._path, msgspec.json.encode(_SessionFile(until=dict(self._until))))
        except SettingsInvalid as error:
            _log.warning(
                "the sessions of browsers cannot be saved, so browsers must log in again after the next start: %s", error
            )

    def _valid(self, until: Mapping[str, float]) -> Mapping[str, float]:
        now = self._clock()
        left = sorted(((name, end) for name, end in until.items() if end > now), key=lambda each: each[1])
        return dict(left[-MOST_SESSIONS:])

    def _read_file(self, otherwise: Mapping[str, float]) -> Mapping[str, float]:
        """The sessions in the file; `otherwise` if there is none, or it cannot be read."""
        try:
            raw = read_private(self._path) if self._path else None
            return msgspec.json.decode(raw, type=_SessionFile).until if raw else otherwise
        except (SettingsInvalid, msgspec.MsgspecError) as error:
            _log.warning(
                "the saved sessions of browsers cannot be read, so these browsers must log in again: %s",
                error,
            )
            return otherwise

    def _hash(self, secret: str) -> str:
        return sha256(f"{self._address} {secret}".encode("utf-8", "surrogatepass")).hexdigest()


class AdminAccess:
    """The token, the codes and the sessions of one running admin."""

    def __init__(
        self,
        token: str = "",
        clock: Callable[[], float] = time.monotonic,
        *,
        keys: Keys | None = None,
        sessions: BrowserSessions | None = None,
        login: ProxyLogin | None = None,
    ) -> None:
        self.login = login
        self.token = token or secrets.token_urlsafe(32)
        self._keys = keys or KeyTable("")
        self._clock = clock
        self._codes: dict[bytes, float] = {}
        self._sessions = sessions or BrowserSessions()

    def holds_token(self, given: str) -> bool:
        return hmac.compare_digest(_hash(given), _hash(self.token))

    def key_holder(self, headers: Mapping[str, str]) -> Caller | None:
        """The caller, if these headers show a gateway key."""
        found = find_key(headers, self._keys)
        return Caller("key", None, found.principal, found.credential, found.holder) if found.principal else None

    def proxied(self, peer: str, headers: Mapping[str, str]) -> Caller | None:
        """The caller, if a proxy at this address says who it is. Raises AdminProblem for a token that is not believed."""
        try:
            user = self.login.find(peer, headers) if self.login else None
        except TokenRefused as error:
            raise AdminProblem(401, "this token is not accepted", str(error), "see [login] in the settings") from None
        return Caller("proxy", None, user.principal, role=user.role) if user else None

    def new_code(self) -> str:
        """A code for one login."""
        code = secrets.token_urlsafe(24)
        if len(self._codes) >= MOST_CODES:
            del self._codes[next(iter(self._codes))]
        self._codes[_hash(code)] = self._clock() + CODE_SECONDS
        return code

    def login_url(self, address: str) -> str:
        """A new link for a browser to the admin at this address."""
        return f"{address}/login?code={self.new_code()}"

    def log_in(self, code: str) -> str | None:
        """A new session's secret for a code that was not used and is not too old; None for any other."""
        until = self._codes.pop(_hash(code), 0.0)
        return self._sessions.begin() if until > self._clock() else None

    def session(self, secret: str) -> Session | None:
        return self._sessions.find(secret)

    def log_out(self, secret: str) -> None:
        self._sessions.end(secret)


def _hash(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogateescape")).digest()


class RequestLimit:
    """How many requests of each key holder are under way, so that one holder cannot take all connections.

    A request counts from when its key is known until the last byte of its answer went out, however it ends. The owner, who
    comes by the socket, the token or a session, is not counted.
    """

    def __init__(self, most: int = MOST_REQUESTS) -> None:
        self._most = most
        self._running: Counter[str] = Counter()

    @contextmanager
    def visit(self, scope: Scope) -> Generator[None]:
        """Around one request: if `admit` counted it, it is counted out at the end."""
        try:
            yield
        finally:
            if (principal := scope.pop(_COUNTED, None)) is not None:
                self._running[principal] -= 1
                self._running += Counter()  # drops principals that have none left

    def admit(self, scope: Scope, caller: Caller | None) -> None:
        """Count this request. Raises AdminProblem if this key holder has too many already."""
        if caller is None or caller.door != "key":
            return
        if self._running[caller.principal] >= self._most:
            why = f"{self._most} requests with this principal's keys are under way"
            raise AdminProblem(429, "too many requests at once", why, "wait for the end of one", retry_after=1)
        self._running[caller.principal] += 1
        scope[_COUNTED] = caller.principal

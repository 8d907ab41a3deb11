"""Callers that come through an authenticating proxy: a signed token (JWT) says who they are and what their role is.

A token is looked at only if the connection comes from an address that the settings list, because anybody who can reach the
admin could send a header. It must be signed by a key of the issuer, with an algorithm that is bound to the kind of that key:
never `none`, and never a shared secret. Issuer, audience and end are checked. The keys come from a file or an address
that the settings name, and are read in a thread, now and then and when a token names a key that is not known.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast

import msgspec

from clew.errors import SettingsInvalid
from clew.settings.login import LoginSettings

ProxyRole: TypeAlias = Literal["viewer", "operator", "owner"]
OPENS: Final[Mapping[ProxyRole, frozenset[str]]] = {
    "viewer": frozenset({"read"}),
    "operator": frozenset({"read", "inference", "admin"}),
    "owner": frozenset({"read", "inference", "admin", "fresh", "owner"}),
}
"""The scopes of routes that each role opens."""
LEEWAY_SECONDS: Final = 30.0
"""How much clocks may differ."""
FETCH_SECONDS: Final = 5.0
AGAIN_SECONDS: Final = 10.0
"""How soon the keys are read again at the earliest, where a token names one that is not known."""
MOST_BYTES: Final = 256 * 1024
_ALGORITHMS: Final[Mapping[str, frozenset[str]]] = {
    "RSA": frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}),
    "EC": frozenset({"ES256", "ES384", "ES512"}),
    "OKP": frozenset({"EdDSA"}),
}
"""Algorithms by the kind of a key. A secret that both sides share (`oct`) is not among them."""

_log = logging.getLogger("clew.admin")


class ProxyUser(msgspec.Struct, frozen=True):
    """The caller that a token of the login proxy names, with the role."""

    principal: str
    role: ProxyRole


class TokenRefused(Exception):
    """A token of the login proxy is not accepted; the text says why."""


class ProxyLogin:
    """Verifies tokens. `settings` gives the present table; `find` belongs to the loop, `read_keys` to any thread."""

    def __init__(self, settings: Callable[[], LoginSettings], clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._clock = clock
        self._keys: Mapping[str, tuple[Any, str]] = {}
        """The key and its algorithm, by its id."""
        self._read_at = float("-inf")
        self._wanted = asyncio.Event()
        self._problem = ""

    @property
    def hosts(self) -> tuple[str, ...]:
        return self._settings().hosts if self._settings().is_on else ()

    def wake(self) -> None:
        """Read the issuer's keys again soon: call it after a change of the settings."""
        self._wanted.set()

    async def follow(self) -> None:
        """Read the keys now and then, until cancelled."""
        while True:
            wanted = self._settings()
            if wanted.is_on:
                await asyncio.to_thread(self.read_keys)
            self._wanted.clear()
            try:
                await asyncio.wait_for(self._wanted.wait(), wanted.refresh_seconds if wanted.is_on else None)
            except TimeoutError:
                continue
            pause = self._read_at + AGAIN_SECONDS - self._clock()
            if self._settings() == wanted and pause > 0:
                await asyncio.sleep(pause)

    def read_keys(self) -> None:
        """Keys that cannot be read now stay as they were."""
        self._read_at = self._clock()
        try:
            self._keys = keys_in(_fetch(self._settings().jwks))
            self._problem = ""
        except (OSError, ValueError, SettingsInvalid) as error:
            if str(error) != self._problem:
                _log.warning("the keys of the proxy's issuer cannot be read from %s: %s", self._settings().jwks, error)
            self._problem = str(error)

    def find(self, peer: str, headers: Mapping[str, str]) -> ProxyUser | None:
        """Who sends these headers; None without a token, or from an address that is not listed. Raises TokenRefused."""
        wanted = self._settings()
        if not wanted.is_on or not is_listed(peer, wanted.peers):
            return None
        text = headers.get(wanted.header, "")
        if wanted.header == "authorization":
            scheme, _, text = text.partition(" ")
            text = text if scheme.lower() == "bearer" else ""
        return self._user_of(text.strip(), wanted) if text.count(".") == 2 else None

    def _user_of(self, token: str, wanted: LoginSettings) -> ProxyUser:
        import jwt  # late: loaded by `keys_in` already

        try:
            named = str(jwt.get_unverified_header(token).get("kid", ""))
            found = self._keys.get(named) or (
                next(iter(self._keys.values())) if not named and len(self._keys) == 1 else None
            )
            if found is None:
                self._wanted.set()
                raise TokenRefused("it is signed with a key that the issuer's key set does not have")
            key, algorithm = found
            claims = jwt.decode(
                token,
                key,
                algorithms=[algorithm],
                audience=wanted.audience,
                issuer=wanted.issuer,
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud"]},
            )
        except jwt.PyJWTError as error:
            raise TokenRefused(str(error)) from None
        name = claims.get(wanted.principal_claim)
        if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > 256:
            raise TokenRefused(f"its claim {wanted.principal_claim!r} has no name")
        return ProxyUser(name, _role_of(claims, wanted))


def keys_in(raw: bytes) -> dict[str, tuple[Any, str]]:
    """The keys of a JWKS that can verify a signature, by their ids. Raises ValueError, and SettingsInvalid without PyJWT."""
    missing = SettingsInvalid("[login] needs a package more: install clew[jwt]", key="login")
    try:
        import jwt  # late: few gateways need it
        from jwt.algorithms import has_crypto
    except ImportError:
        raise missing from None
    if not has_crypto:
        raise missing
    document = msgspec.json.decode(raw, type=dict[str, Any])
    found: dict[str, tuple[Any, str]] = {}
    for row in cast("list[object]", document.get("keys") or []):
        if not isinstance(row, dict):
            continue
        key = cast("dict[str, Any]", row)
        allowed = _ALGORITHMS.get(str(key.get("kty")), frozenset())
        if not allowed or key.get("use", "sig") != "sig":
            continue
        try:
            made = jwt.PyJWK(key)
        except jwt.PyJWTError as error:
            _log.warning("a key of the proxy's issuer is left out: %s", error)
            continue
        if made.algorithm_name in allowed:
            found[str(key.get("kid", ""))] = (made.key, made.algorithm_name)
    if not found:
        raise ValueError("it has no public key to check signatures")
    return found


def is_listed(peer: str, listed: tuple[str, ...]) -> bool:
    try:
        address = ip_address(peer)
    except ValueError:  # a unix socket has no address
        return False
    return any(address in network for network in _networks(listed))


@lru_cache(maxsize=16)
def _networks(listed: tuple[str, ...]) -> tuple[IPv4Network | IPv6Network, ...]:
    return tuple(ip_network(each, strict=False) for each in listed)


def _role_of(claims: Mapping[str, Any], wanted: LoginSettings) -> ProxyRole:
    """The highest of the caller's roles."""
    given = claims.get(wanted.role_claim)
    values = {each for each in cast("list[object]", given if isinstance(given, list) else [given]) if isinstance(each, str)}
    for role, listed in (("owner", wanted.owners), ("operator", wanted.operators), ("viewer", wanted.viewers)):
        if values & {*listed}:
            return cast("ProxyRole", role)
    raise TokenRefused(f"its claim {wanted.role_claim!r} gives no role here")


def _fetch(place: str) -> bytes:
    """The issuer's key set. Raises OSError and ValueError if it cannot be read."""
    if place.startswith("file:"):
        return Path(place.removeprefix("file:")).read_bytes()
    import urllib.request  # late: most settings name no address

    request = urllib.request.Request(place, headers={"accept": "application/json"})  # noqa: S310  (of the operator's settings)
    with urllib.request.urlopen(request, timeout=FETCH_SECONDS) as answer:  # noqa: S310  (the same)
        raw = answer.read(MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        raise ValueError(f"it has more than {MOST_BYTES} bytes")
    return raw

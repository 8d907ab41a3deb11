"""Who asks: the gateway's own keys, and the client's own credential beside them.

A gateway key comes as `x-api-key`, as `Authorization: Bearer`, or as `x-clew-key`; the last leaves the other two to the
client's own credential, which backends with passthrough take. Claude Code sends both of the first if it has both, so each is
looked at, and whichever is a gateway key is taken away: it never travels on. So does the rest of the credential only where a
backend's row asks for it.

Without a gateway key a request may still pass if nothing of the operator's can be spent by it: it comes to a loopback
address, by a loopback name, with a credential of its own, and every backend there is takes just that. What is wrong with a
key is not said.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from msgspec import Struct

from clew.backends.row import Credential
from clew.gateway.routes import Scope
from clew.http.message import HttpRequest, Refusal
from clew.settings.gateway_key import LOCAL

__all__ = ["CREDENTIALS", "Access", "Keys", "admit", "shown_key"]

OWN_HEADER: Final = "x-clew-key"
CREDENTIALS: Final = frozenset({"authorization", "cookie", "proxy-authorization", "x-api-key", OWN_HEADER})
"""Headers that go no further than this."""

_REFUSED: Final = Refusal(
    401,
    "No valid gateway key. Send it as x-api-key, as Authorization: Bearer, or as x-clew-key beside your own credential; "
    "`clew keys list` says where it is.",
)


class Keys(Protocol):
    """What tells whose a gateway key is: `clew.settings.gateway_key.KeyTable`."""

    def version(self) -> int:
        """Another number means that another answer is possible."""
        ...

    def principal_of(self, presented: str) -> str | None: ...


class Access(Struct, frozen=True):
    """Who asks, and the credential that may go to a backend with passthrough."""

    principal: str
    credential: Credential = ()


def admit(request: HttpRequest, scope: Scope, keys: Keys, *, passthrough: bool) -> Access | Refusal:
    """Whether this request may go on. `passthrough`: here, a client's own credential is enough."""
    if scope == "open":
        return Access("")
    access = shown_key(request.joined, keys)
    if access.principal:
        return access
    alone = scope == "passthrough-or-key" and passthrough and not request.joined.get(OWN_HEADER)
    return Access(LOCAL, access.credential) if alone and access.credential else _REFUSED


def shown_key(headers: Mapping[str, str], keys: Keys) -> Access:
    """Whose gateway key these headers show ("" if they show none), and the credential beside it."""
    shown = _shown(headers)
    principals = {name: keys.principal_of(value) for name, value in shown.items()}
    own = tuple((name, headers[name]) for name in shown if name != OWN_HEADER and not principals[name])
    credential = tuple(pair for pair in own if pair[0] not in _one_hop(headers))
    principal = principals[OWN_HEADER] if OWN_HEADER in shown else next(filter(None, principals.values()), None)
    return Access(principal or "", credential)


def _shown(headers: Mapping[str, str]) -> dict[str, str]:
    """The keys that a request shows, by the header that each is in."""
    shown = {name: headers[name] for name in (OWN_HEADER, "x-api-key") if headers.get(name)}
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if token.strip():
        shown["authorization"] = token.strip() if scheme.lower() == "bearer" else ""
    return shown


def _one_hop(headers: Mapping[str, str]) -> frozenset[str]:
    return frozenset(word.strip().lower() for word in headers.get("connection", "").split(","))

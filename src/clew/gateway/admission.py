"""Who asks: the gateway's own keys, and the client's own credential beside them.

A gateway key comes as `x-api-key`, as `Authorization: Bearer`, or as `x-clew-key`; the last leaves the other two to the
client's own credential, which backends with passthrough take. Claude Code sends both of the first if it has both, so each is
looked at, and whichever is a gateway key is taken away: it never travels on. So does the rest of the credential only where a
backend's row asks for it.

Without a gateway key a request may still pass in two cases. In both it must come to a loopback address, which only this
machine can reach, and by a loopback name.

- Nothing of the operator's can be spent by it: it brings a credential of its own, and every backend takes just that.
- It shows a vendor's key that this gateway itself holds for a backend: some clients read only ANTHROPIC_API_KEY. Whoever has
  that key can spend it without the gateway too.

What is wrong with a key is not said. A key that has the form of a vendor's gets other words, by its form alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Protocol

from msgspec import Struct

from clew.backends.credential import CREDENTIAL_VARIABLES
from clew.backends.row import Credential, Secret
from clew.gateway.routes import Scope
from clew.http.message import HttpRequest, Refusal
from clew.settings.gateway_key import LOCAL

__all__ = ["CREDENTIALS", "Access", "Keys", "admit", "shown_key"]

OWN_HEADER: Final = "x-clew-key"
CREDENTIALS: Final = frozenset({"authorization", "cookie", "proxy-authorization", "x-api-key", OWN_HEADER})
"""Headers that go no further than this."""

VENDOR_PREFIX: Final = "sk-"
"""How keys of Anthropic, OpenAI, OpenRouter, DeepSeek and many others begin. Those that clew makes begin with `clew_`."""

_REFUSED: Final = Refusal(
    401,
    "No valid gateway key. Send it as x-api-key, as Authorization: Bearer, or as x-clew-key beside your own credential; "
    "`clew keys list` says where it is.",
)


class Keys(Protocol):
    """What tells whose a gateway key is: `clew.settings.gateway_key.KeyTable`."""

    def principal_of(self, presented: str) -> str | None: ...


class Access(Struct, frozen=True):
    """Who asks, and the credential that may go to a backend with passthrough."""

    principal: str
    credential: Credential = ()


def admit(
    request: HttpRequest, scope: Scope, keys: Keys, *, passthrough: bool, held: Iterable[Secret] = ()
) -> Access | Refusal:
    """Whether this request may go on.

    `passthrough`: here, a client's own credential is enough. `held`: keys of vendors that open the gateway here.
    """
    if scope == "open":
        return Access("")
    access = shown_key(request.joined, keys)
    if access.principal:
        return access
    alone = scope == "passthrough-or-key" and not request.joined.get(OWN_HEADER)
    if alone and access.credential and (passthrough or _shows_one_of(held, request.joined)):
        return Access(LOCAL, access.credential)
    return _refused(request.joined)


def shown_key(headers: Mapping[str, str], keys: Keys) -> Access:
    """Whose gateway key these headers show ("" if they show none), and the credential beside it."""
    shown = _shown(headers)
    principals = {name: keys.principal_of(value) for name, value in shown.items()}
    own = tuple((name, headers[name]) for name in shown if name != OWN_HEADER and not principals[name])
    credential = tuple(pair for pair in own if pair[0] not in _one_hop(headers))
    principal = principals[OWN_HEADER] if OWN_HEADER in shown else next(filter(None, principals.values()), None)
    return Access(principal or "", credential)


def _shows_one_of(held: Iterable[Secret], headers: Mapping[str, str]) -> bool:
    """Every key is compared, in constant time, whether or not an earlier one was right."""
    shown = [Secret(value) for value in _shown(headers).values()]
    return sum([key == value for key in held for value in shown]) > 0


def _refused(headers: Mapping[str, str]) -> Refusal:
    shown = _shown(headers)
    for variable, header in CREDENTIAL_VARIABLES.items():
        if shown.get(header, "").startswith(VENDOR_PREFIX):
            return Refusal(
                401,
                f"The key in {header} is not this gateway's: it looks like a vendor's ({VENDOR_PREFIX}…). Start the client "
                "with `clew run -- COMMAND`, which sets everything. Or send the gateway's key beside yours: "
                f'ANTHROPIC_CUSTOM_HEADERS="{OWN_HEADER}: KEY". Or unset {variable} and set ANTHROPIC_AUTH_TOKEN to the '
                "gateway's key. `clew keys list` says where that key is.",
            )
    return _REFUSED


def _shown(headers: Mapping[str, str]) -> dict[str, str]:
    """The keys that a request shows, by the header that each is in."""
    shown = {name: headers[name] for name in (OWN_HEADER, "x-api-key") if headers.get(name)}
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if token.strip():
        shown["authorization"] = token.strip() if scheme.lower() == "bearer" else ""
    return shown


def _one_hop(headers: Mapping[str, str]) -> frozenset[str]:
    return frozenset(word.strip().lower() for word in headers.get("connection", "").split(","))

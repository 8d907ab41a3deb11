"""Which requests may pass, before the engine sees them: by where they come from, and by the key that they show.

`Border` comes first. A listener on 127.0.0.1 is within reach of every page that a browser on this machine shows. `Origin`
gives away a page of another origin; a page whose name was made to point here (DNS rebinding) has the right origin, and only
`Host` still names the attacker. Both are checked, always, before the route and the key. No answer carries a CORS header.
And the content type must be JSON: a form of a foreign page can post, but not with that content type.

`admit` checks the key. A gateway key comes as `x-api-key`, as `Authorization: Bearer`, or as `x-clew-key`; the last leaves
the other two to the client's own credential, which backends with passthrough take. Claude Code sends both of the first if
it has both, so each is looked at. A gateway key never goes to a backend, and the client's own credential only to a backend
whose row asks for it.

Without a gateway key a request may still pass in two cases. In both it must come to a loopback address, which only this
machine can reach, and by a loopback name.

- It can spend nothing of the operator's: it brings a credential of its own, and every backend takes just that.
- It shows a vendor's key that this gateway itself holds for a backend: some clients read only ANTHROPIC_API_KEY. A client
  that has this key can spend it without the gateway, too.

The refusal does not say what is wrong with a key that is not known. Only a key that has the form of a vendor's gets other
words. Who shows a key that is known, and may not do this with it, is told why: that it is over, or that it lacks the scope.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Final, Protocol

from msgspec import Struct

from clew.backends.credential import CREDENTIAL_VARIABLES, Credential, Secret
from clew.dialects import DIALECTS
from clew.gateway.plan import WILDCARDS, is_loopback
from clew.gateway.routes import Route
from clew.http.message import HttpRefusal, HttpRequest
from clew.limits.keys import LOCAL, KeyHolder, KeyRights, KeyScope
from clew.settings.own_keys import KEY_PREFIX
from clew.settings.values import Settings

OWN_HEADER: Final = "x-clew-key"
CREDENTIALS: Final = frozenset({"authorization", "cookie", "proxy-authorization", "x-api-key", OWN_HEADER})
"""Headers that the engine does not get."""

VENDOR_PREFIX: Final = "sk-"
"""How keys of Anthropic, OpenAI, OpenRouter, DeepSeek and many others begin. Those that clew makes begin with `clew_`."""

_LOOPBACK_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")
_SINGLE_HEADERS: Final = ("authorization", "content-type", "host", "origin", "x-api-key", OWN_HEADER)
_JSON: Final = "application/json"
_NO_KEY: Final = (
    "No valid gateway key. Send it as x-api-key, as Authorization: Bearer, or as x-clew-key together with your own "
    "credential. `clew keys list` shows where it is."
)
_NOT_READ: Final = "The gateway keys could not be read yet, so this key cannot be checked. Try again in a moment."
_VENDOR_KEY: Final = (
    f"The key in {{header}} is not this gateway's: it looks like a vendor's ({VENDOR_PREFIX}…). Start the client "
    "with `clew run -- COMMAND`, which sets everything. Or send the gateway's key together with yours: "
    f'ANTHROPIC_CUSTOM_HEADERS="{OWN_HEADER}: KEY". Or unset {{variable}} and set ANTHROPIC_AUTH_TOKEN to the '
    "gateway's key. `clew keys list` shows where that key is."
)
_OTHER_VENDOR_KEY: Final = (
    f"The key in {{header}} is not this gateway's: it looks like a vendor's ({VENDOR_PREFIX}…). Start the client "
    'with `clew run -- COMMAND`, which sets everything; or run `eval "$(clew env --shell)"` before you start it, which '
    "sets OPENAI_BASE_URL and OPENAI_API_KEY; or give the client the gateway's key in place of its own. `clew keys list` "
    "says where that key is."
)
"""For clients of other dialects than Anthropic's."""


class Border:
    """The names by which a listener may be called. `host` and `port` are where it listens."""

    def __init__(self, host: str, port: int, *, hosts: Iterable[str] = (), origins: Iterable[str] = ()) -> None:
        is_local = is_loopback(host)
        own = () if is_local or host in WILDCARDS else (f"[{host}]".lower() if ":" in host else host.lower(),)
        names = (*_LOOPBACK_NAMES, *own)
        # With the port, which clients may leave out where it is HTTP's own.
        self._own = {f"{name}:{port}" for name in names} | set(names if port == 80 else ())
        self._near = {name for name in self._own if is_local and name.removesuffix(f":{port}") in _LOOPBACK_NAMES}
        self._hosts = frozenset(name.lower() for name in hosts)
        self._origins = frozenset(origin.lower().rstrip("/") for origin in origins)

    def check(self, request: HttpRequest) -> HttpRefusal | None:
        """Why this request is refused, whatever key it has; None if it may pass."""
        head, headers = request.head, request.head.joined
        if not head.target.startswith("/"):
            return HttpRefusal(400, "The request target must be a path.")
        if head.repeated and not head.repeated.isdisjoint(_SINGLE_HEADERS):
            return HttpRefusal(400, f"Each of {', '.join(_SINGLE_HEADERS)} may be given only once.")
        host, origin = headers.get("host", "").lower(), headers.get("origin", "").lower()
        if not host:
            return HttpRefusal(400, "A Host header is needed.")
        if host not in self._own and host not in self._hosts:
            name, _, port = host.rpartition(":")
            if not port.isdecimal() or name not in self._hosts:
                return HttpRefusal(
                    421, "This gateway does not answer to that host name. To allow it, add it to `hosts` under [gateway]."
                )
        is_foreign = headers.get("sec-fetch-site") == "cross-site"
        if origin:
            is_foreign = origin not in self._origins and origin != f"http://{host}"
        if is_foreign:
            return HttpRefusal(
                403, "Web pages may not call this gateway. To allow one, add its origin to `origins` under [gateway]."
            )
        return None

    def is_near(self, request: HttpRequest) -> bool:
        """Was the gateway called by a loopback name, at an address that only this machine can reach?"""
        return request.head.joined.get("host", "").lower() in self._near


def check_content(request: HttpRequest) -> HttpRefusal | None:
    """Why the body of this request is refused; None if it is uncompressed JSON."""
    headers = request.head.joined
    kind = headers.get("content-type", "")
    if kind != _JSON and kind.partition(";")[0].strip().lower() != _JSON:
        return HttpRefusal(415, f"The content type must be {_JSON}.")
    if headers.get("content-encoding", "").strip().lower() not in ("", "identity"):
        return HttpRefusal(415, "Compressed requests are not supported: send the body without Content-Encoding.")
    return None


class Keys(Protocol):
    """Knows whose a gateway key is: `clew.settings.key_table.KeyTable`."""

    @property
    def is_current(self) -> bool:
        """Whether a key that is not known here is a wrong one, and not just a new one."""
        ...

    def holder_of(self, presented: str) -> KeyHolder | None: ...


class Admission(Struct, frozen=True):
    """Who asks, and the credential that may go to a backend with passthrough."""

    principal: str
    credential: Credential = ()
    key: str = ""
    """The name of the key that it showed,"""
    team: str = ""
    """the team of that key,"""
    rights: tuple[KeyRights, ...] = ()
    """and what it may do."""

    @property
    def holder(self) -> KeyHolder:
        return KeyHolder(self.principal, self.key, self.team, self.rights)


def admit(
    request: HttpRequest, route: Route, keys: Keys, border: Border, settings: Settings, now: float
) -> Admission | HttpRefusal:
    """Whether this request may pass. `now` decides which keys are over."""
    scope = route.scope
    if scope == "open":
        return Admission("")
    found = find_key(request.head.joined, keys)
    if found.principal:
        return key_refusal(found.holder, "inference", now) or found
    shown = _shown_keys(request.joined)
    may_be_local = scope == "passthrough-or-key" and OWN_HEADER not in shown and found.credential
    if may_be_local and border.is_near(request):
        given = [Secret(value) for value in shown.values()]
        held = [key for backend in settings.backends.values() for key in backend.keys]
        # Every key is compared, in constant time, whether or not an earlier one was right.
        if settings.wants_no_key or sum([key == value for key in held for value in given]) > 0:
            return Admission(LOCAL, found.credential)
    if not keys.is_current and any(value.startswith(f"{KEY_PREFIX}_") for value in shown.values()):
        return HttpRefusal(503, _NOT_READ)
    for variable, header in CREDENTIAL_VARIABLES.items():
        if shown.get(header, "").startswith(VENDOR_PREFIX):
            words = _VENDOR_KEY if DIALECTS[route.dialect].is_canonical else _OTHER_VENDOR_KEY
            return HttpRefusal(401, words.format(header=header, variable=variable))
    return HttpRefusal(401, _NO_KEY)


def find_key(headers: Mapping[str, str], keys: Keys) -> Admission:
    """The principal whose gateway key these headers show ("" if they show none), and the credential beside the key."""
    shown = _shown_keys(headers)
    holders = {name: keys.holder_of(value) for name, value in shown.items()}
    holder = holders[OWN_HEADER] if OWN_HEADER in shown else next(filter(None, holders.values()), None)
    others = [name for name in shown if name != OWN_HEADER and not holders[name]]
    one_hop = {word.strip().lower() for word in headers.get("connection", "").split(",")} if others else set[str]()
    credential = tuple((name, headers[name]) for name in others if name not in one_hop)
    if holder is None:
        return Admission("", credential)
    return Admission(holder.principal, credential, holder.key, holder.team, holder.rights)


def key_refusal(holder: KeyHolder, scope: KeyScope, now: float) -> HttpRefusal | None:
    """Why a known key does not open this; None if it does."""
    if holder.expires is not None and holder.expires <= now:
        when = datetime.fromtimestamp(holder.expires, UTC).strftime("%Y-%m-%d %H:%M UTC")
        return HttpRefusal(401, f"The key {holder.key!r} expired at {when}. Ask the operator of this gateway for a new one.")
    if holder.lacks(scope):
        return HttpRefusal(403, f"The key {holder.key!r} may not be used for this: it lacks the scope {scope!r}.")
    return None


def _shown_keys(headers: Mapping[str, str]) -> dict[str, str]:
    """The keys that a request shows, by the header that each is in."""
    shown = {name: value for name in (OWN_HEADER, "x-api-key") if (value := headers.get(name))}
    if "authorization" in headers:
        scheme, _, token = headers["authorization"].partition(" ")
        if token.strip():
            shown["authorization"] = token.strip() if scheme.lower() == "bearer" else ""
    return shown

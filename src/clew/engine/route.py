"""Route: where a request goes. Pure.

A client that names a backend as its model (`backends.aliases`) gets that one and no other: elsewhere the name means nothing.
Otherwise a sub-agent's own rule, or the backend that it began with, comes first: a switch in the middle of its work would
only make it slower and duller. Then the rules, then the thread's pin, then the active backend. Behind the chosen one stand
the backends of the failover list; each is tried with each of its keys, in their order, unless only the account behind one of
them can read what it said before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from urllib.parse import urlsplit

import msgspec
from msgspec import UNSET, Struct, structs

from clew.backends.credential import Credential
from clew.backends.names import backend_of_alias, family_of
from clew.backends.row import account_of, target_of
from clew.errors import BackendDisabled, BackendUnknown, SettingsInvalid
from clew.exchange.backend_dialect import backend_dialect
from clew.exchange.inputs import BackendAddress, BackendRoute
from clew.model.recording import Recording, Recordings
from clew.model.request import Body
from clew.pipeline.attempts import Candidate
from clew.settings.values import RoutingRule, Settings, timeouts_for, whole_timeouts_for
from clew.thinking.strands import newest_of_backend
from clew.upstream.endpoint import endpoint_of


class RouteQuery(Struct, frozen=True, kw_only=True):
    """What routing looks at."""

    model: str
    agent: str = ""
    request_class: str = ""
    pin: str = ""
    began_with: str = ""
    """The backend that this thread was last answered by, where it has been answered at all."""


def routes_of(settings: Settings, active: str, query: RouteQuery, credential: Credential) -> tuple[BackendRoute, ...]:
    """The ways to try, in order. Raises BackendUnknown if the chosen backend is not in the settings, and BackendDisabled if
    it cannot be called: no other one is asked in its place."""
    if named := backend_of_alias(query.model, {**settings.backends, **settings.disabled}):
        return tuple(_routes(settings, named[0], query.model, credential, named[1]))
    rule = _rule(settings.rules, query)
    chosen = _chosen(settings, active, query, rule)
    names = [chosen, *(name for name in settings.failover if name != chosen)]
    own = rule.model if rule and rule.backend == chosen else ""
    return tuple(
        route for name in names for route in _routes(settings, name, query.model, credential, own if name == chosen else "")
    )


def _chosen(settings: Settings, active: str, query: RouteQuery, rule: RoutingRule | None) -> str:
    if rule and rule.agent:
        return rule.backend
    if query.agent and not query.pin and query.began_with in settings.backends:
        return query.began_with
    return rule.backend if rule else query.pin or active


def _rule(rules: Sequence[RoutingRule], query: RouteQuery) -> RoutingRule | None:
    """The first that fits; those for sub-agents before all others."""
    for rule in rules if query.agent else ():
        if rule.agent in ("*", query.agent):
            return rule
    for rule in rules:
        wanted = rule.family or rule.request_class
        if wanted and wanted == (family_of(query.model) if rule.family else query.request_class):
            return rule
    return None


def _routes(settings: Settings, name: str, model: str, credential: Credential, own: str) -> Iterable[BackendRoute]:
    """One for each key. `own` is the backend's name of the model, where a rule or an alias says it."""
    if (disabled := settings.disabled.get(name)) is not None:
        raise BackendDisabled(
            f"The backend {name} was chosen for this request, but it is disabled, and clew uses no other one instead: "
            f"{disabled.why}, and {disabled.key} needs it ({disabled.where}). Set it where the gateway is started, and "
            "restart the gateway; or choose another backend with `clew use NAME`.",
            file=disabled.where,
            key=name,
        )
    backend = settings.backends.get(name)
    if backend is None:
        known = ", ".join(sorted(settings.backends))
        raise BackendUnknown(f"there is no backend {name!r}; there are: {known}", key=name)
    if own:
        backend = structs.replace(backend, model=own, models={})
    for place, key in enumerate(backend.keys or (None,)):
        found_in = backend.keys_from[place] if place < len(backend.keys_from) else ""
        account = account_of(backend, key, credential)
        target = target_of(backend, model, overrides=settings.models, foreign=settings.thinking.foreign, account=account)
        name = key.fingerprint if key else account
        known_as = Candidate(
            backend.name, name, own=backend.auth != "passthrough", key_from=found_in, has_key=key is not None
        )
        yield BackendRoute(
            backend=backend,
            key=key,
            target=target,
            candidate=known_as,
            dialect=backend_dialect(backend, target.model),
            address=_address_of(backend.url),
            patience=timeouts_for(settings, backend),
            whole_patience=whole_timeouts_for(settings, backend),
        )


def maker_first(routes: tuple[BackendRoute, ...], newest: Recording | None, shelf: Recordings) -> tuple[BackendRoute, ...]:
    """The same ways; of a backend's keys first the one whose account gave the backend's last answer in this history, where
    no other account can read it. A key that has recovered does not take a conversation back from the next one."""
    if newest is None or not any(_is_per_account(route) for route in routes):
        return routes
    ordered: list[BackendRoute] = []
    for name in dict.fromkeys([route.backend.name for route in routes]):
        own = [route for route in routes if route.backend.name == name]
        if len(own) > 1 and _is_per_account(own[0]):
            last = newest_of_backend(newest, name, own[0].target.model, shelf)
            realm = last.origin.realm if last else ""
            own.sort(key=lambda route: route.target.realm != realm)
        ordered += own
    return tuple(ordered)


def _is_per_account(route: BackendRoute) -> bool:
    return route.backend.quirks.realm_per_account


@lru_cache(maxsize=256)
def _address_of(url: str) -> BackendAddress:
    """Bases come from the settings alone, so there are few. A URL that cannot be used is told when the backend is asked."""
    try:
        endpoint = endpoint_of(url)
    except SettingsInvalid:
        return BackendAddress("", "", (b"host", b""))
    return BackendAddress(str(endpoint), urlsplit(url).path.rstrip("/"), (b"host", endpoint.authority.encode("latin-1")))


class _Tool(Struct):
    type: str = ""


def class_of(kind: str, body: Body, header: str) -> str:
    """What a request is for, where it is not the conversation itself: as the client says, else by its shape."""
    if kind == "count_tokens":
        return "count_tokens"
    if header:
        return header
    if body.max_tokens is not UNSET and bytes(body.max_tokens) == b"1" and body.tools is UNSET:
        return "probe"
    return "search" if _is_search(body) else "title" if _is_title(body) else ""


def _is_search(body: Body) -> bool:
    """A nested search: nothing but the server's search tool."""
    if body.tools is UNSET:
        return False
    try:
        tools = msgspec.json.decode(body.tools, type=list[_Tool])
    except msgspec.MsgspecError:
        return False
    return len(tools) == 1 and tools[0].type.startswith("web_search")


class _Format(Struct):
    type: str = ""


class _Output(Struct):
    format: _Format | None = None


def _is_title(body: Body) -> bool:
    """A question in one message for an answer of a given form, without tools."""
    if body.tools is not UNSET and bytes(body.tools) != b"[]":
        return False
    if body.output_config is UNSET or len(body.messages) != 1:
        return False
    try:
        return msgspec.json.decode(body.output_config, type=_Output).format is not None
    except msgspec.MsgspecError:
        return False

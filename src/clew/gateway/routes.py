"""What the data plane serves, and what it does not, as tables. Each route says who may ask; a route that does not is refused
when the plane is made. The paths of a client's API come from its dialect (`dialects.DIALECTS`).

A path fits a route if it is the same text, and nothing else: no decoding, no folding of slashes or dots, no case. So there
is one reading of a path, and the route that was found is what decides about the credential (a second reading of the path is
how other gateways were entered). The one exception is the name at the end of some paths, which is data: it is decoded, and
looked up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args
from urllib.parse import unquote

from clew.dialects import DIALECTS
from clew.dialects.shape import OPERATION_METHODS, Operation
from clew.errors import SettingsInvalid
from clew.http.message import HttpRefusal

Scope: TypeAlias = Literal["open", "key", "passthrough-or-key"]
"""Anybody; holders of a gateway key; these, and on this machine clients that need none (`clew.gateway.admission`)."""

Action: TypeAlias = Literal["greet", "health", "readiness", "exchange", "models", "model"]

GEMINI: Final = "gemini"
"""Clients of this API get their errors in its shape, though it is no dialect of clew's."""
_ANTHROPIC: Final = "anthropic"
_OPENAI: Final = "openai-chat"
_SHOWN: Final = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Which requests, who may make them, and what is done. A path that ends in `/*` takes one more name."""

    methods: tuple[str, ...]
    path: str
    scope: Scope
    action: Action
    operation: Operation = "messages"
    """What an exchange is about."""
    dialect: str = _ANTHROPIC
    """What its clients speak."""


def _front_routes() -> Iterator[Route]:
    """The routes on which clients of each dialect send requests."""
    for name, dialect in DIALECTS.items():
        for path, operation in dialect.routes.items():
            yield Route(
                methods=OPERATION_METHODS[operation],
                path=path,
                scope="passthrough-or-key",
                action="exchange",
                operation=operation,
                dialect=name,
            )


ROUTES: Final = (
    Route(methods=("GET", "HEAD"), path="/", scope="open", action="greet"),
    Route(methods=("GET", "HEAD"), path="/api/hello", scope="open", action="greet"),
    Route(methods=("GET", "HEAD"), path="/healthz", scope="open", action="health"),
    Route(methods=("GET", "HEAD"), path="/readyz", scope="open", action="readiness"),
    Route(methods=("GET", "HEAD"), path="/v1/models", scope="passthrough-or-key", action="models"),
    Route(methods=("GET", "HEAD"), path="/models", scope="passthrough-or-key", action="models"),
    Route(methods=("GET", "HEAD"), path="/v1/models/*", scope="passthrough-or-key", action="model"),
    *_front_routes(),
)

_SERVED: Final = " and ".join(f"POST {next(iter(dialect.routes))}" for dialect in DIALECTS.values())


@dataclass(frozen=True, slots=True)
class _Unserved:
    """An API that clew does not serve: where its paths begin, and how they end if they begin like those of a route."""

    name: str
    dialect: str
    starts: tuple[str, ...]
    ends: tuple[str, ...] = ("",)
    instead: str = ""
    """What to do; "" for asking the vendor directly."""


_BASE_URL: Final = "set the client's base URL to this gateway's address followed by /v1, and nothing else"
_NOTHING_BEHIND: Final = "no answer is made in the background here, so there is nothing to cancel or to wait for"

_UNSERVED: Final = (
    _Unserved("Message batches", _ANTHROPIC, ("/v1/messages/batches",)),
    _Unserved("Files", _ANTHROPIC, ("/v1/files",)),
    _Unserved("Text completions", _ANTHROPIC, ("/v1/complete",)),
    _Unserved("Azure's paths", _OPENAI, ("/openai",), instead=_BASE_URL),
    _Unserved("Stored completions", _OPENAI, ("/v1/chat/completions", "/chat/completions")),
    _Unserved("Other paths below the Responses API", _OPENAI, ("/v1/responses", "/responses"), instead=_NOTHING_BEHIND),
    _Unserved("Text completions", _OPENAI, ("/v1/completions", "/completions")),
    _Unserved("Embeddings", _OPENAI, ("/v1/embeddings", "/embeddings")),
    _Unserved("Methods of the Gemini API", GEMINI, ("/v1beta", "/v1alpha")),
    _Unserved(
        "Methods of the Gemini API",
        GEMINI,
        ("/v1/models",),
        (":generateContent", ":streamGenerateContent", ":countTokens"),
    ),
)


@dataclass(frozen=True, slots=True)
class Match:
    """The route that a request fits, and the name at the end of its path, if the route takes one."""

    route: Route
    name: str = ""


class RouteTable:
    """Routes, checked once and found by their path."""

    def __init__(self, routes: Iterable[Route] = ROUTES) -> None:
        self.routes = tuple(routes)
        self._exact: dict[str, Match] = {}
        self._named: dict[str, Match] = {}
        for route in self.routes:
            if route.scope not in get_args(Scope):
                raise SettingsInvalid(
                    f"the route {route.path} does not say who may use it: {', '.join(get_args(Scope))}", key=route.path
                )
            table = self._named if route.path.endswith("/*") else self._exact
            path = route.path.removesuffix("*") if table is self._named else route.path
            if path in table:
                raise SettingsInvalid(f"the route {route.path} is there twice", key=route.path)
            table[path] = Match(route)

    def find(self, method: str, path: str) -> Match | HttpRefusal:
        """The route for a request, or why there is none."""
        match = self._match(path)
        if match is not None and method in match.route.methods:
            return match
        if (api := _unserved(path)) and (match is None or match.name):
            instead = api.instead or f"send {method} {path[:_SHOWN]} to the vendor directly"
            reason = f"{api.name} are not served by clew, which takes {_SERVED} from clients: {instead}."
            return HttpRefusal(404, reason, path=path)
        if match is None:
            return HttpRefusal(404, f"clew does not serve {method} {path[:_SHOWN]}.", path=path)
        methods = match.route.methods
        reason = f"{path[:_SHOWN]} takes {' and '.join(methods)}, not {method}."
        return HttpRefusal(405, reason, (("allow", ", ".join(methods)),), path)

    def dialect_at(self, path: str) -> str:
        """In whose shape a client that asks for this path expects its errors."""
        match, api = self._match(path), _unserved(path)
        if match is not None and (match.route.action == "exchange" or api is None):
            return match.route.dialect
        return api.dialect if api is not None else _ANTHROPIC

    def _match(self, path: str) -> Match | None:
        match = self._exact.get(path)
        if match is None:
            for start, named in self._named.items():
                if path.startswith(start) and len(path) > len(start):
                    match = Match(named.route, unquote(path[len(start) :]))
        return match


def _unserved(path: str) -> _Unserved | None:
    """The API that clew does not serve, and that this path belongs to."""
    for api in _UNSERVED:
        if path.endswith(api.ends) and any(path == start or path.startswith(f"{start}/") for start in api.starts):
            return api
    return None

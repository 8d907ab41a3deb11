"""What the data plane serves, and what it does not, as two tables. Each route says who may ask; a route that does not is
refused when the plane is made.

A path fits a route if it is the same text, and nothing else: no decoding, no folding of slashes or dots, no case. So there
is one reading of a path, and the route that was found is what decides about the credential (a second reading of the path is
how other gateways were entered). The one exception is the model's name, which is data: it is decoded, and looked up.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args
from urllib.parse import unquote

from clew.errors import SettingsInvalid
from clew.http.message import HttpRefusal

Scope: TypeAlias = Literal["open", "key", "passthrough-or-key"]
"""Anybody; holders of a gateway key; these, and on this machine clients that need none (`clew.gateway.admission`)."""

Action: TypeAlias = Literal["greet", "health", "readiness", "messages", "count_tokens", "models", "model"]

ClientDialect: TypeAlias = Literal["anthropic", "openai", "gemini"]
"""Whose API a path belongs to. Errors (`replies`) and lists of models (`models`) are written by it."""

_SHOWN: Final = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Which requests, who may make them, and what is done. A path that ends in `/*` takes one more name."""

    methods: tuple[str, ...]
    path: str
    scope: Scope
    action: Action
    dialect: ClientDialect = "anthropic"


ROUTES: Final = (
    Route(methods=("GET", "HEAD"), path="/", scope="open", action="greet"),
    Route(methods=("GET", "HEAD"), path="/api/hello", scope="open", action="greet"),
    Route(methods=("GET", "HEAD"), path="/healthz", scope="open", action="health"),
    Route(methods=("GET", "HEAD"), path="/readyz", scope="open", action="readiness"),
    Route(methods=("POST",), path="/v1/messages", scope="passthrough-or-key", action="messages"),
    # The AI SDK takes ANTHROPIC_BASE_URL for the whole of what stands before `/messages`.
    Route(methods=("POST",), path="/messages", scope="passthrough-or-key", action="messages"),
    Route(methods=("POST",), path="/v1/messages/count_tokens", scope="passthrough-or-key", action="count_tokens"),
    Route(methods=("GET", "HEAD"), path="/v1/models", scope="passthrough-or-key", action="models"),
    Route(methods=("GET", "HEAD"), path="/v1/models/*", scope="passthrough-or-key", action="model"),
)


@dataclass(frozen=True, slots=True)
class _Unserved:
    """An API that clew does not serve: where its paths begin, and how they end if they begin like those of a route."""

    name: str
    dialect: ClientDialect
    starts: tuple[str, ...]
    ends: tuple[str, ...] = ("",)


_UNSERVED: Final = (
    _Unserved("Message batches", "anthropic", ("/v1/messages/batches",)),
    _Unserved("Files", "anthropic", ("/v1/files",)),
    _Unserved("Text completions", "anthropic", ("/v1/complete",)),
    _Unserved("Chat Completions", "openai", ("/v1/chat/completions", "/chat/completions")),
    _Unserved("the Responses API", "openai", ("/v1/responses", "/responses")),
    _Unserved("Completions", "openai", ("/v1/completions", "/completions")),
    _Unserved("Embeddings", "openai", ("/v1/embeddings", "/embeddings")),
    _Unserved("the Gemini API", "gemini", ("/v1beta", "/v1alpha")),
    _Unserved("the Gemini API", "gemini", ("/v1/models",), (":generateContent", ":streamGenerateContent", ":countTokens")),
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
        match = self._exact.get(path)
        if match is None:
            for start, named in self._named.items():
                if path.startswith(start) and len(path) > len(start):
                    match = Match(named.route, unquote(path[len(start) :]))
        if match is not None and method in match.route.methods:
            return match
        if refusal := _refuse_unserved(method, path):
            return refusal
        if match is None:
            return HttpRefusal(404, f"clew does not serve {method} {path[:_SHOWN]}.")
        methods = match.route.methods
        reason = f"{path[:_SHOWN]} takes {' and '.join(methods)}, not {method}."
        return HttpRefusal(405, reason, (("allow", ", ".join(methods)),), match.route.dialect)


def _refuse_unserved(method: str, path: str) -> HttpRefusal | None:
    """The refusal, in its own dialect, for a path of an API that clew does not serve; None for any other path."""
    for api in _UNSERVED:
        if not path.endswith(api.ends) or not any(path == start or path.startswith(f"{start}/") for start in api.starts):
            continue
        if api.dialect == "anthropic":
            reason = f"{api.name} are not served by clew: send {method} {path[:_SHOWN]} to the vendor directly."
        else:
            reason = (
                f"clew takes Anthropic's Messages API (POST /v1/messages) from clients, not {api.name}; other APIs are for "
                f"backends only. Use a client of the Messages API, or send {method} {path[:_SHOWN]} to the vendor directly."
            )
        return HttpRefusal(404, reason, dialect=api.dialect)
    return None

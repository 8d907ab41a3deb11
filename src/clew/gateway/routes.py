"""What the data plane serves, as a table. Each row says who may ask; a row that does not is refused when the plane is made.

A path fits a row if it is the same text, and nothing else: no decoding, no folding of slashes or dots, no case. So there is
one reading of a path, and the row that was found is what decides about the credential (a second reading of the path is how
other gateways were entered). The one exception is the model's name, which is data: it is decoded, and looked up.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args
from urllib.parse import unquote

from clew.errors import SettingsInvalid
from clew.gateway.not_served import not_served
from clew.http.message import Refusal

__all__ = ["ROUTES", "Action", "Match", "Route", "RouteTable", "Scope"]

Scope: TypeAlias = Literal["open", "key", "passthrough-or-key"]
"""Anybody; holders of a gateway key; these, and on this machine those who need none (`clew.gateway.admission`)."""

Action: TypeAlias = Literal["greet", "health", "readiness", "messages", "count_tokens", "models", "model"]

_SCOPES: Final = get_args(Scope)
_SHOWN = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One row: which requests, who may make them, and what is done. A path that ends in `/*` takes one more name."""

    methods: tuple[str, ...]
    path: str
    scope: Scope
    action: Action


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
class Match:
    """The row that a request fits, and the name at the end of its path, if the row takes one."""

    route: Route
    name: str = ""


class RouteTable:
    """Rows, checked once and found by their path."""

    def __init__(self, routes: Iterable[Route] = ROUTES) -> None:
        self.routes = tuple(routes)
        self._exact: dict[str, Route] = {}
        self._named: dict[str, Route] = {}
        for route in self.routes:
            self._enter(route)

    def find(self, method: str, path: str) -> Match | Refusal:
        """The row for a request, or why there is none."""
        match = self._match(path)
        fits = match is not None and method in match.route.methods
        if not fits and (refusal := not_served(method, path)):
            return refusal
        if match is None:
            return Refusal(404, f"clew does not serve {method} {path[:_SHOWN]}.")
        if not fits:
            said, methods = f"{path[:_SHOWN]} takes {' and '.join(match.route.methods)}, not {method}.", match.route.methods
            return Refusal(405, said, (("allow", ", ".join(methods)),))
        return match

    def _match(self, path: str) -> Match | None:
        if path in self._exact:
            return Match(self._exact[path])
        for start, route in self._named.items():
            if path.startswith(start) and len(path) > len(start):
                return Match(route, unquote(path[len(start) :]))
        return None

    def _enter(self, route: Route) -> None:
        if route.scope not in _SCOPES:
            raise SettingsInvalid(
                f"the route {route.path} does not say who may use it: {', '.join(_SCOPES)}", key=route.path
            )
        table = self._named if route.path.endswith("/*") else self._exact
        path = route.path.removesuffix("*") if table is self._named else route.path
        if path in table:
            raise SettingsInvalid(f"the route {route.path} is there twice", key=route.path)
        table[path] = route

"""Routes: what the admin answers, under which path, and who may ask.

Each route declares its scope, and one that does not keeps the admin from starting. Whether a request may pass is decided by
the route that it matched, never by its text.
"""

from __future__ import annotations

import hmac
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, Literal, TypeAlias, get_args

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.routing import Route as Path
from starlette.types import Receive, Send
from starlette.types import Scope as Connection

from clew.admin.access import Access, Caller
from clew.admin.desk import Desk
from clew.admin.guard import SAFE, is_foreign, is_socket
from clew.admin.problem import Problem, problem_of
from clew.admin.segments import Segmented
from clew.errors import ClewError

__all__ = ["CSRF", "Endpoint", "Route", "Routes", "Scope", "Tell", "as_json", "cookie_name"]

Scope: TypeAlias = Literal["open", "inference", "read", "admin", "owner"]
"""Nobody in particular; whoever may chat, holders of gateway keys too; whoever may look; whoever may change; whoever is at
the machine itself (no browser session)."""

CSRF: Final = "x-clew-csrf"

Endpoint: TypeAlias = Callable[[Desk, Request], Awaitable[Response]]
Tell: TypeAlias = Callable[[Desk, Request, Problem], Response]

_log = logging.getLogger("clew.admin")

_KEYS: Final = "`clew keys list` says where it is, `clew keys add` makes one for somebody else"
_LOG_IN: Final = "open the link that `clew serve` printed, or a new one from `clew ui`"


class Route(Struct, frozen=True):
    """One row of the table."""

    method: str
    path: str
    scope: Scope
    endpoint: Endpoint
    does: str
    takes: str = ""
    """Parameters, for the reference."""
    tell: Tell | None = None
    """How a problem is told; as JSON if left out."""


class Routes:
    """The table as an ASGI application."""

    def __init__(self, rows: Sequence[Route], desk: Desk) -> None:
        for row in rows:
            if row.scope not in get_args(Scope):
                raise ValueError(f"the route {row.method} {row.path} does not declare its scope")
        self._desk = desk
        self._page = next((row.tell for row in rows if row.tell), _told)
        self._paths = [Path(row.path, _answering(row, desk), methods=[row.method]) for row in rows]

    async def __call__(self, scope: Connection, receive: Receive, send: Send) -> None:
        segmented = Segmented(scope)
        found = [(path, *path.matches(segmented.scope)) for path in self._paths]
        for path, match, child in found:
            if match is Match.FULL:
                scope.update(segmented.mended(child))
                with self._desk.crowd.visit(scope):
                    await path.handle(scope, receive, send)
                return
        problem = _nowhere([path for path, match, _ in found if match is Match.PARTIAL])
        await self._told(Request(scope), problem)(scope, receive, send)

    def _told(self, request: Request, problem: Problem) -> Response:
        """Whoever looks for a page gets one, where there are pages."""
        request.state.caller = _caller(request, self._desk.access)
        looks = request.method == "GET" and "text/html" in request.headers.get("accept", "")
        return (self._page if looks else _told)(self._desk, request, problem)


def _nowhere(partial: Sequence[Path]) -> Problem:
    if partial:
        methods = sorted({method for path in partial for method in path.methods or ()})
        return Problem(405, "this path does not take that method", f"it takes {', '.join(methods)}")
    return Problem(404, "there is no such path", "", "the reference of the admin API lists what there is")


def _answering(route: Route, desk: Desk) -> Callable[[Request], Awaitable[Response]]:
    tell = route.tell or _told

    async def answer(request: Request) -> Response:
        try:
            request.state.caller = caller = _admitted(route, request, desk.access)
            desk.crowd.admit(request.scope, caller)
            return await route.endpoint(desk, request)
        except Problem as problem:
            return tell(desk, request, problem)
        except ClewError as error:
            return tell(desk, request, problem_of(error))
        except Exception:
            _log.exception("the admin failed at %s %s", route.method, route.path)
            return tell(desk, request, Problem(500, "the admin failed", _FAULT, "report it"))

    return answer


_FAULT: Final = "this is a fault in clew; its log has the details"


def _told(desk: Desk, request: Request, problem: Problem) -> Response:
    return as_json({"error": problem.said}, problem.status, problem.headers)


def as_json(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(value), status, headers, media_type="application/json")


def _admitted(route: Route, request: Request, access: Access) -> Caller | None:
    """Who calls, if they may. Raises Problem if not."""
    if request.method == "HEAD" and route.scope == "open":
        raise Problem(405, "this path does not take that method", f"it takes {route.method}")
    caller = _caller(request, access)
    if route.scope == "open":
        return caller
    if route.scope == "inference":
        caller = caller or access.key_holder(request.headers)
    if caller is None:
        raise _stranger(route.scope)
    if route.scope == "owner" and caller.door == "browser":
        raise Problem(403, "refused", "a browser's session may not do this", "use the `clew` command")
    if route.method not in SAFE:
        _check_change(request, caller)
    return caller


def _stranger(scope: Scope) -> Problem:
    if scope == "inference":
        return Problem(401, "no valid key", "this needs a gateway key, as `Authorization: Bearer` or x-api-key", _KEYS)
    return Problem(401, "not logged in", "the admin needs its socket, its token or a session", _LOG_IN)


def _caller(request: Request, access: Access) -> Caller | None:
    if is_socket(request.scope):
        return Caller("socket")
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and access.holds_token(token.strip()):
        return Caller("token")
    if is_foreign(request.scope):  # what the browser keeps for this admin is not another page's to use
        return None
    session = access.session(request.cookies.get(cookie_name(request), ""))
    return Caller("browser", session) if session else None


def cookie_name(request: Request) -> str:
    """Cookies know no ports, so the name says which admin on this machine it is for."""
    return f"clew_session_{(request.scope.get('server') or ('', 0))[1]}"


def _check_change(request: Request, caller: Caller) -> None:
    """A form of another page can send neither of these."""
    if caller.session is not None and not _same(request.headers.get(CSRF, ""), caller.session.csrf):
        raise Problem(403, "refused", f"the header {CSRF} is missing or wrong", "reload the page")
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if request.method != "DELETE" and kind != "application/json":
        raise Problem(415, "this is not JSON", "the content type must be application/json")


def _same(given: str, right: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), right.encode())

"""Routing: which endpoint answers a request to the admin, who may ask, and how a browser logs in.

Each route declares its scope, and one that does not keeps the admin from starting. The route that a request matched decides
whether it may pass, never the text of its path.

A slash that is percent-encoded is part of a name, and does not end it. The server hands a path over decoded, where the two
kinds of slashes look the same; so while a route is looked for, an encoded slash is replaced by a character that the path
does not have, and the names that were found get it back.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final, Literal, TypeAlias, get_args
from urllib.parse import unquote

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Match
from starlette.routing import Route as Path
from starlette.types import Receive, Send
from starlette.types import Scope as Connection

from clew.admin.access import FRESH_SECONDS, SESSION_SECONDS, AdminAccess, Caller
from clew.admin.guard import SAFE, is_foreign, is_socket
from clew.admin.problems import AdminProblem, problem_of
from clew.admin.proxy_login import OPENS
from clew.admin.services import AdminServices
from clew.errors import ClewError
from clew.gateway.admission import key_refusal
from clew.limits.keys import KeyScope

Scope: TypeAlias = Literal["open", "inference", "read", "admin", "fresh", "owner"]
"""Anybody; callers who may chat, holders of gateway keys too; callers who may look; callers who may change; the same, but a
browser must have logged in a short time ago; callers at the machine itself (no browser session)."""

CSRF: Final = "x-clew-csrf"

Endpoint: TypeAlias = Callable[[AdminServices, Request], Awaitable[Response]]
ShowProblem: TypeAlias = Callable[[AdminServices, Request, AdminProblem], Response]

_KEY_SCOPES: Final[Mapping[Scope, KeyScope]] = {
    "inference": "inference",
    "read": "read",
    "admin": "admin",
    "fresh": "admin",
}
"""What a named key needs for a route. No key opens those for the owner."""
_PRIVATE_CHARACTERS: Final = range(0xE000, 0xF8FF)

_log = logging.getLogger("clew.admin")


class AdminRoute(Struct, frozen=True):
    """A route of the admin: method, path, scope and endpoint."""

    method: str
    path: str
    scope: Scope
    endpoint: Endpoint
    does: str
    takes: str = ""
    """Parameters, for the reference."""
    tell: ShowProblem | None = None
    """How a problem is shown; as JSON if left out."""


class Routes:
    """The table as an ASGI application."""

    def __init__(self, rows: Sequence[AdminRoute], services: AdminServices) -> None:
        for row in rows:
            if row.scope not in get_args(Scope):
                raise ValueError(f"the route {row.method} {row.path} does not declare its scope")
        self._services = services
        self._problem_page = next((row.tell for row in rows if row.tell), _show_as_json)
        self._paths = [Path(row.path, _answering(row, services), methods=[row.method]) for row in rows]

    async def __call__(self, scope: Connection, receive: Receive, send: Send) -> None:
        lookup, slash = _with_encoded_slashes(scope)
        found = [(path, *path.matches(lookup)) for path in self._paths]
        for path, match, child in found:
            if match is Match.FULL:
                names = {name: value.replace(slash, "/") for name, value in child.get("path_params", {}).items()}
                scope.update({**child, "path_params": names})
                with self._services.limit.visit(scope):
                    await path.handle(scope, receive, send)
                return
        methods = sorted({name for path, match, _ in found if match is Match.PARTIAL for name in path.methods or ()})
        if methods:
            problem = AdminProblem(405, "this path does not allow that method", f"allowed: {', '.join(methods)}")
        else:
            problem = AdminProblem(404, "there is no such path", "", "the reference of the admin API lists the paths")
        request = Request(scope)
        request.state.caller = None
        with suppress(AdminProblem):
            request.state.caller = _authenticate(request, self._services.access)
        # A browser that looks for a page gets one, where there are pages.
        wants_page = request.method == "GET" and "text/html" in request.headers.get("accept", "")
        show = self._problem_page if wants_page else _show_as_json
        await show(self._services, request, problem)(scope, receive, send)


def _with_encoded_slashes(scope: Connection) -> tuple[Connection, str]:
    """The request for looking up its route, and the character that stands for an encoded slash in its path."""
    raw: bytes = scope.get("raw_path") or b""
    if b"%2f" not in raw.lower():
        return scope, "/"
    slash = next(char for char in map(chr, _PRIVATE_CHARACTERS) if char not in scope["path"])
    path = "/".join(unquote(segment).replace("/", slash) for segment in raw.decode("ascii").split("/"))
    return {**scope, "path": path}, slash


def _answering(route: AdminRoute, services: AdminServices) -> Callable[[Request], Awaitable[Response]]:
    show = route.tell or _show_as_json

    async def answer(request: Request) -> Response:
        try:
            request.state.caller = caller = _admit(route, request, services.access)
            services.limit.admit(request.scope, caller)
            return await route.endpoint(services, request)
        except AdminProblem as problem:
            return show(services, request, problem)
        except ClewError as error:
            return show(services, request, problem_of(error))
        except Exception:
            _log.exception("the admin failed at %s %s", route.method, route.path)
            why = "this is a fault in clew; its log has the details"
            return show(services, request, AdminProblem(500, "the admin failed", why, "report it"))

    return answer


def _show_as_json(services: AdminServices, request: Request, problem: AdminProblem) -> Response:
    return as_json({"error": problem.said}, problem.status, problem.headers)


def as_json(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(value), status, headers, media_type="application/json")


def caller_of(request: Request) -> Caller:
    """The caller of a request to a route that is not open."""
    caller: Caller = request.state.caller
    return caller


def caller_name(request: Request) -> str:
    """The caller's name in the audit."""
    caller = caller_of(request)
    if caller.holder is not None:
        return f"{caller.principal} (key {caller.holder.key})"
    if caller.role is not None:
        return f"{caller.principal} (proxy, {caller.role})"
    return f"{caller.principal} ({caller.door})"


def _admit(route: AdminRoute, request: Request, access: AdminAccess) -> Caller | None:
    """The caller, if the route admits the request; None for an open route without a login. Raises AdminProblem if not
    admitted."""
    if request.method == "HEAD" and route.scope == "open":
        raise AdminProblem(405, "this path does not allow that method", f"allowed: {route.method}")
    caller = _authenticate(request, access)
    if route.scope == "open":
        return caller
    caller = caller or _key_holder(route, request, access)
    if caller is None and route.scope == "inference":
        why = "this needs a gateway key, as `Authorization: Bearer` or x-api-key"
        keys = "`clew keys list` shows where it is, `clew keys add` makes one for another person"
        raise AdminProblem(401, "no valid key", why, keys)
    if caller is None:
        log_in = "open the link that `clew serve` printed, or a new one from `clew ui`"
        raise AdminProblem(401, "not logged in", "the admin needs its socket, its token or a session", log_in)
    if caller.role and route.scope not in OPENS[caller.role]:
        raise AdminProblem(
            403, "refused", f"the role {caller.role} is not allowed to do this", "the proxy says which role you have"
        )
    if route.scope == "owner" and caller.door == "browser":
        raise AdminProblem(403, "refused", "a browser's session may not do this", "use the `clew` command")
    if route.scope == "fresh" and caller.session and not caller.session.is_fresh(time.time()):
        why = f"this needs a login of the last {FRESH_SECONDS / 60:.0f} minutes"
        raise AdminProblem(403, "log in again first", why, "run `clew ui` and open its link, then come back to this page")
    if route.method not in SAFE:
        _check_change(request, caller)
    return caller


def _key_holder(route: AdminRoute, request: Request, access: AdminAccess) -> Caller | None:
    """The holder of a gateway key that opens this route. Raises AdminProblem for a named key that does not. The gateway's
    own key opens the chat alone: the operator has better ways to come in."""
    caller = access.key_holder(request.headers)
    wanted = _KEY_SCOPES.get(route.scope)
    if caller is None or caller.holder is None or wanted is None:
        return None
    if wanted != "inference" and not caller.holder.rights:
        return None
    if refusal := key_refusal(caller.holder, wanted, time.time()):
        how = "`clew keys show` prints the rights of a key, `clew keys edit` changes it"
        raise AdminProblem(refusal.status, "this key is not allowed to do it", refusal.reason, how)
    return caller


def _authenticate(request: Request, access: AdminAccess) -> Caller | None:
    if is_socket(request.scope):
        return Caller("socket")
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and access.holds_token(token.strip()):
        return Caller("token")
    if is_foreign(request.scope):  # the browser's cookie for this admin is not for pages of other origins
        return None
    session = access.session(request.cookies.get(cookie_name(request), ""))
    if session:
        return Caller("browser", session)
    return access.proxied(request.client.host if request.client else "", request.headers)


def cookie_name(request: Request) -> str:
    """Cookies know no ports, so the name says which admin on this machine it is for."""
    return f"clew_session_{(request.scope.get('server') or ('', 0))[1]}"


def _check_change(request: Request, caller: Caller) -> None:
    """A form of another page can send neither the CSRF header nor JSON."""
    if caller.session is not None:
        given = request.headers.get(CSRF, "").encode("utf-8", "surrogateescape")
        if not hmac.compare_digest(given, caller.session.csrf.encode()):
            raise AdminProblem(403, "refused", f"the header {CSRF} is missing or wrong", "reload the page")
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if request.method != "DELETE" and kind != "application/json":
        raise AdminProblem(415, "this is not JSON", "the content type must be application/json")


# Logging in: a link with a one-time code becomes a cookie


async def log_in(services: AdminServices, request: Request) -> Response:
    """The code is in the address, so it works once: a code that is found in a history later is of no use."""
    secret = await asyncio.to_thread(services.access.log_in, request.query_params.get("code", ""))
    response = RedirectResponse("/", 303)
    if secret is not None:
        response.set_cookie(
            cookie_name(request), secret, max_age=int(SESSION_SECONDS), path="/", httponly=True, samesite="strict"
        )
    elif services.access.session(request.cookies.get(cookie_name(request), "")) is None:
        # A browser that is logged in opens a tab again, for example.
        what, why = "this link does not work", "it was already used, or is too old"
        raise AdminProblem(401, what, why, "get a new one: `clew ui`")
    return response


async def session(services: AdminServices, request: Request) -> Response:
    """By which door the caller came, and what a page must put into the header of each request that changes something."""
    caller = caller_of(request)
    return as_json({"door": caller.door, "csrf": caller.session.csrf if caller.session else ""})


async def log_out(services: AdminServices, request: Request) -> Response:
    await asyncio.to_thread(services.access.log_out, request.cookies.get(cookie_name(request), ""))
    response = as_json({"session": "ended"})
    response.delete_cookie(cookie_name(request), path="/", httponly=True, samesite="strict")
    return response


async def link(services: AdminServices, request: Request) -> Response:
    """A new link for a browser, for a caller at the machine itself."""
    return as_json({"url": services.access.login_url(services.url)})

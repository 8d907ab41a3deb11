"""How a browser logs in and out: a link with a one-time code becomes a cookie."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from clew.admin.access import SESSION_SECONDS
from clew.admin.problem import AdminProblem
from clew.admin.routing import as_json, caller_of, cookie_name
from clew.admin.services import AdminServices


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
        what, why = "this link does not work", "it was used already, or is too old"
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
    return as_json({"url": login_url(services)})


def login_url(services: AdminServices) -> str:
    return f"{services.url}/login?code={services.access.new_code()}"

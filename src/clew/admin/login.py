"""How a browser comes in and leaves: a link with a one-time code becomes a cookie."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from clew.admin.access import Caller
from clew.admin.desk import Desk
from clew.admin.problem import Problem
from clew.admin.routing import as_json, cookie_name
from clew.admin.sessions import SESSION_SECONDS

__all__ = ["link", "log_in", "log_out", "login_url", "session"]


async def log_in(desk: Desk, request: Request) -> Response:
    """The code is in the address, so it works once: whoever finds it in a history later finds nothing."""
    secret = await asyncio.to_thread(desk.access.log_in, request.query_params.get("code", ""))
    if secret is None and _is_in(desk, request):  # a tab that is opened again, for example
        return RedirectResponse("/", 303)
    if secret is None:
        raise Problem(401, "this link does not work", "it was used already, or is too old", "get a new one: `clew ui`")
    response = RedirectResponse("/", 303)
    response.set_cookie(
        cookie_name(request), secret, max_age=int(SESSION_SECONDS), path="/", httponly=True, samesite="strict"
    )
    return response


def _is_in(desk: Desk, request: Request) -> bool:
    return desk.access.session(request.cookies.get(cookie_name(request), "")) is not None


async def session(desk: Desk, request: Request) -> Response:
    """By which door the caller came, and what a page must put into the header of whatever it changes."""
    caller: Caller = request.state.caller
    return as_json({"door": caller.door, "csrf": caller.session.csrf if caller.session else ""})


async def log_out(desk: Desk, request: Request) -> Response:
    await asyncio.to_thread(desk.access.log_out, request.cookies.get(cookie_name(request), ""))
    response = as_json({"session": "ended"})
    response.delete_cookie(cookie_name(request), path="/", httponly=True, samesite="strict")
    return response


async def link(desk: Desk, request: Request) -> Response:
    """A new link for a browser, for whoever is at the machine itself."""
    return as_json({"url": login_url(desk)})


def login_url(desk: Desk) -> str:
    return f"{desk.url}/login?code={desk.access.new_code()}"

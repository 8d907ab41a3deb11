"""Now: what is active, with the switches; how each backend is; and what happens, live."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from clew.admin.desk import Desk
from clew.admin.status import status_of
from clew.web.connecting import connecting
from clew.web.frame import page

__all__ = ["page_now"]


async def page_now(desk: Desk, request: Request) -> Response:
    status = await desk.read(lambda: status_of(desk))
    return page(desk, request, "now.html", {"status": status, "connect": connecting(desk, status.gateways)})

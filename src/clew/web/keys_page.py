"""Keys: who may use the gateway. They are made, renewed and revoked by the page's script, through the admin's routes."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from clew.admin.keys import key_rows
from clew.admin.services import AdminServices
from clew.web.frame import page


async def page_keys(services: AdminServices, request: Request) -> Response:
    rows = await services.read(lambda: key_rows(services))
    return page(services, request, "keys.html", {"rows": rows})

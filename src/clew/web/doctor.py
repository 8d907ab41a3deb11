"""Doctor: the checks of `clew doctor`, with how to mend what is wrong.

They read the store through, which may take seconds, so the page comes first and its script asks for them.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from clew.admin.checkup import CHECKS
from clew.admin.desk import Desk
from clew.admin.views import checkup
from clew.web.frame import fragment, page

__all__ = ["checks_made", "page_doctor"]

_ABOUT = {check.name: check.does for check in CHECKS}


async def page_doctor(desk: Desk, request: Request) -> Response:
    return page(desk, request, "doctor.html", {"checks": CHECKS})


async def checks_made(desk: Desk, request: Request) -> Response:
    online = request.query_params.get("online", "") == "1"
    made = await desk.read(lambda: checkup(desk, online))
    counts = {state: len([each for each in made if each.state == state]) for state in ("broken", "warning", "ok")}
    return Response(fragment("checks.html", {"made": made, "about": _ABOUT, "counts": counts}), media_type="text/html")

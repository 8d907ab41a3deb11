"""Doctor: the checks of `clew doctor`, with how to fix what is wrong.

They read the store through, which may take seconds, so the page comes first and its script asks for them.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from clew.admin.checkup import CHECKS
from clew.admin.services import AdminServices
from clew.admin.views import checkup
from clew.web.frame import fragment, page


async def page_doctor(services: AdminServices, request: Request) -> Response:
    return page(services, request, "doctor.html", {"checks": CHECKS})


async def part_checks(services: AdminServices, request: Request) -> Response:
    online = request.query_params.get("online", "") == "1"
    made = await services.read(lambda: checkup(services, online))
    states = [each.state for each in made]
    counts = {state: states.count(state) for state in ("broken", "warning", "ok")}
    return fragment("checks.html", {"made": made, "about": {each.name: each.does for each in CHECKS}, "counts": counts})

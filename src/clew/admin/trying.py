"""One round trip with a backend, asked for from a page: what `clew backends test` does."""

from __future__ import annotations

import os

from msgspec import Struct, structs
from starlette.requests import Request
from starlette.responses import Response

from clew.admin.desk import Desk
from clew.admin.parameters import read_body
from clew.admin.problem import Problem
from clew.admin.routing import as_json
from clew.admin.trial import Trial, trials

__all__ = ["try_backend"]


class Wish(Struct, kw_only=True, forbid_unknown_fields=True):
    """Which backend."""

    backend: str


async def try_backend(desk: Desk, request: Request) -> Response:
    """It takes as long as the backend does, and some hundred tokens."""
    wish, settings = await read_body(request, Wish), desk.current.snapshot.settings
    backend = settings.backends.get(wish.backend)
    if disabled := settings.disabled.get(wish.backend):
        raise Problem(409, disabled.says, "set it where the gateway is started, and start the gateway again")
    if backend is None:
        raise Problem(
            404, f"there is no backend {wish.backend[:100]!r}", f"there are: {', '.join(sorted(settings.backends))}"
        )
    (trial,) = await trials(settings, {backend.name: backend}, os.environ)
    return as_json(_redacted(trial, desk))


def _redacted(trial: Trial, desk: Desk) -> Trial:
    """A backend may repeat its key in what it says."""
    return structs.replace(trial, says=desk.redactor()(trial.says))

"""The frame around every page: templates that escape whatever is put in, the way from page to page, the theme.

What a client, a model or a file said is hostile wherever it turns up, so no template marks anything as safe: the one way in
for HTML is `clew.web.markdown`, which makes and cleans it. A problem is a page too, which says what to do; who is not logged
in is told how to come in.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from clew.admin.access import Caller
from clew.admin.desk import Desk
from clew.admin.problem import Problem
from clew.web.markdown import markdown
from clew.web.shown import FILTERS
from clew.web.static_files import static_prefix

__all__ = ["NAVIGATION", "Place", "fragment", "page", "problem_page"]

THEME: Final = "clew_theme"


class Place(Struct, frozen=True):
    """A page that the navigation leads to; `key` after `g` goes there."""

    path: str
    name: str
    key: str


NAVIGATION: Final = (
    Place("/", "Now", "n"),
    Place("/threads", "Threads", "t"),
    Place("/chat", "Chat", "c"),
    Place("/usage", "Usage", "u"),
    Place("/backends", "Backends", "b"),
    Place("/doctor", "Doctor", "d"),
)


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("clew.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    filters = {**FILTERS, "markdown": markdown}
    vars(made)["filters"].update(filters)  # by the back door: its type says nothing of what it holds
    return made


def page(desk: Desk, request: Request, template: str, values: Mapping[str, object], *, status: int = 200) -> Response:
    """A whole page: the template extends `frame.html`, and gets these values and the frame's own."""
    html = _environment().get_template(template).render({**_frame(desk, request), **values})
    return Response(html, status, media_type="text/html")


def fragment(template: str, values: Mapping[str, object]) -> str:
    """A part of a page, by the same rules."""
    return _environment().get_template(template).render(values)


def problem_page(desk: Desk, request: Request, problem: Problem) -> Response:
    """What went wrong, why, and what to do: as a page, in the same frame."""
    return page(desk, request, "problem.html", {"problem": problem.said, "code": problem.status}, status=problem.status)


def _frame(desk: Desk, request: Request) -> dict[str, object]:
    caller: Caller | None = getattr(request.state, "caller", None)
    theme = request.cookies.get(THEME, "")
    return {
        "navigation": NAVIGATION,
        "here": _here(request.url.path),
        "known": caller is not None,
        "csrf": caller.session.csrf if caller and caller.session else "",
        "theme": theme if theme in ("light", "dark") else "",
        "static": static_prefix(),
        "version": desk.version,
        "active": desk.current.snapshot.active if caller else "",
        "active_disabled": _active_disabled(desk) if caller else "",
        "settings_problem": desk.redactor()(desk.current.problem) if caller else "",
    }


def _active_disabled(desk: Desk) -> str:
    """Why the active backend cannot answer; "" if it can."""
    snapshot = desk.current.snapshot
    disabled = snapshot.settings.disabled.get(snapshot.active)
    return disabled.says if disabled else ""


def _here(path: str) -> str:
    """The place of the navigation that a page belongs to. An exchange is seen from Now."""
    first = f"/{path.split('/')[1]}"
    return "/" if first == "/exchanges" else first

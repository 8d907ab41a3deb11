"""The table of pages. Their routes are the admin's: the same scopes, the same guard; only their problems are pages too."""

from __future__ import annotations

from typing import Final

from clew.admin.routing import Endpoint, Route
from clew.web import now
from clew.web.frame import problem_page
from clew.web.static_files import static_file

__all__ = ["PAGES"]


def _page(path: str, endpoint: Endpoint, does: str, takes: str = "") -> Route:
    return Route("GET", path, "read", endpoint, does, takes, tell=problem_page)


PAGES: Final[tuple[Route, ...]] = (
    Route("GET", "/static/{version}/{name}", "open", static_file, "Styles and scripts, kept by browsers for good."),
    _page("/", now.page_now, "Now: what is active, and what happens."),
)

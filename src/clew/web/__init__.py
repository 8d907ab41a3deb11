"""The web UI: pages made on the server, and small modules of plain JavaScript that keep them live. No build step.

It is served by the admin: the same listeners, the same checks, the same kind of routes. The caller of
`clew.admin.server.serve_admin` hands these routes in, so that the admin does not import them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.admin.routing import AdminRoute

__all__ = ["routes"]


def routes() -> Sequence[AdminRoute]:
    """All pages. Importing them takes a moment: call it where no request waits."""
    from clew.web.table import PAGES

    return PAGES

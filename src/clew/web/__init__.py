"""The web UI: pages made on the server, and small modules of plain JavaScript that bring them to life. No build step.

It stands on the admin: the same listeners, the same doors, the same table of routes. Whoever serves the admin hands these
routes in (`clew.admin.server.serve_admin`), so that the admin does not know them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.admin.routing import Route

__all__ = ["routes"]


def routes() -> Sequence[Route]:
    """All pages. Imports what they stand on, which takes a moment: call it where nobody waits."""
    from clew.web.table import PAGES

    return PAGES

"""Sets Markdown for a page that cannot do it itself: an answer that streams in, block by finished block."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from clew.admin.desk import Desk
from clew.admin.parameters import read_body

if TYPE_CHECKING:
    from clew.chat.markdown import Finished

__all__ = ["set_markdown"]


class Text(Struct, kw_only=True, forbid_unknown_fields=True):
    """`open`: more is to come, so only blocks that are finished are set."""

    text: str
    open: bool = False


async def set_markdown(desk: Desk, request: Request) -> Response:
    """One element around it all, which says how many lines of the text are in it."""
    given = await read_body(request, Text)
    done = await asyncio.to_thread(_set, given)
    return HTMLResponse(f'<div data-lines="{done.lines}">{done.html}</div>')


def _set(given: Text) -> Finished:
    from clew.chat.markdown import Finished, render_finished, render_markdown  # late, as in `clew.web.markdown`

    if given.open:
        return render_finished(given.text)
    return Finished(render_markdown(given.text), given.text.count("\n") + 1)

"""The plain page at `/`: what is active, which lines connect a client, and where to look further. It runs no script."""

from __future__ import annotations

import shlex
from html import escape
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from clew.admin.desk import Desk
from clew.admin.status import Status, status_of
from clew.gateway.client import line_to_copy
from clew.settings.gateway_key import KEY_VARIABLE

__all__ = ["home_page", "style"]

STYLE: Final = """:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
pre, code { font: 14px/1.5 ui-monospace, monospace; }
pre { overflow-x: auto; padding: .75rem 1rem; border: 1px solid color-mix(in srgb, currentColor 25%, transparent);
  border-radius: .4rem; }
table { border-collapse: collapse; } td, th { text-align: left; padding: .2rem 1rem .2rem 0; }
"""

_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>clew</title>
<link rel="stylesheet" href="/style.css">
</head>
<body>
<h1>clew</h1>
{body}
</body>
</html>
"""


async def style(desk: Desk, request: Request) -> Response:
    return Response(STYLE, media_type="text/css")


async def home_page(desk: Desk, request: Request) -> Response:
    if request.state.caller is None:
        return _page(_LOGGED_OUT, 401)
    return _page(_body(await desk.read(lambda: status_of(desk)), desk))


_LOGGED_OUT: Final = """<p>You are not logged in. <code>clew serve</code> prints a link that logs you in once, and
<code>clew status</code> gives a new one.</p>"""


def _page(body: str, status: int = 200) -> Response:
    return Response(_PAGE.format(body=body), status, media_type="text/html")


def _body(status: Status, desk: Desk) -> str:
    """Everything that is put in is escaped: names come from files."""
    problem = f"<p><strong>The config was not taken:</strong> {escape(status.settings_problem)}</p>"
    return "\n".join(
        [
            f"<p><strong>{escape(status.active)}</strong> is active ({escape(status.active_from)}).</p>",
            problem if status.settings_problem else "",
            _backends(status),
            "<h2>Connect a client</h2>",
            _connect(status, desk),
            "<h2>Switch</h2>",
            "<pre>clew use NAME        # every request from now on\nclew use NAME --thread ID</pre>",
            "<h2>Look</h2>",
            _LOOK,
        ]
    )


_LOOK: Final = """<p><a href="/api/status">status</a> · <a href="/api/exchanges">exchanges</a> ·
<a href="/api/threads">threads</a> · <a href="/metrics">metrics</a>; or <code>clew log -f</code></p>"""


def _backends(status: Status) -> str:
    rows = "".join(
        f"<tr><td>{escape(row.name)}</td><td>{escape(row.url)}</td><td>{escape(row.realm)}</td></tr>"
        for row in status.backends
    )
    return f"<table><tr><th>backend</th><th>URL</th><th>realm</th></tr>{rows}</table>"


def _connect(status: Status, desk: Desk) -> str:
    """The key is named by where it is: a page is no place for it."""
    key = f"$(cat {shlex.quote(str(desk.home.key))})" if desk.home.key.is_file() else f"${KEY_VARIABLE}"
    settings = desk.current.snapshot.settings
    lines = ["clew run -- claude    # a gateway for one run of Claude Code"]
    for gateway in status.gateways:
        lines += ["", f"# the gateway {gateway.name}", line_to_copy(settings, gateway.url, key, expands=True)]
    return f"<pre>{escape(chr(10).join(lines))}</pre>"

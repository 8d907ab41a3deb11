"""The frame around every page: templates that escape everything, the navigation, the theme, and addresses of pages.

Text of a client, a model or a file is hostile wherever it turns up, so no template marks anything as safe. The one way in
for HTML is the filter `markdown`, which makes and cleans it. A problem is a page too, which says what to do; a visitor
who is not logged in is told how to log in.

Styles, scripts and pictures are read once, compressed once, and cached by browsers for good. Their address holds a hash over
all of them (`/static/HASH/app.js`). So a browser asks once for each version and never again, modules import each other by
plain relative names, and no page ever mixes two versions.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Final
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from clew.admin.access import Caller
from clew.admin.problems import AdminProblem
from clew.admin.services import AdminServices
from clew.limits.keys import LOCAL
from clew.web.filters import FILTERS

THEME: Final = "clew_theme"


class NavigationLink(Struct, frozen=True):
    """A page that the navigation leads to; `key` after `g` goes there."""

    path: str
    name: str
    key: str


NAVIGATION: Final = (
    NavigationLink("/", "Now", "n"),
    NavigationLink("/threads", "Threads", "t"),
    NavigationLink("/chat", "Chat", "c"),
    NavigationLink("/usage", "Usage", "u"),
    NavigationLink("/backends", "Backends", "b"),
    NavigationLink("/keys", "Keys", "k"),
    NavigationLink("/doctor", "Doctor", "d"),
)

_REACHED_FROM: Final = {"/exchanges": "/", "/start": "/", "/compare": "/chat", "/audit": "/keys"}
"""Pages that the navigation does not name, by the page that leads to them."""


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
    vars(made)["filters"].update(FILTERS)  # by vars: the type of `filters` says nothing of what it holds
    return made


def page(
    services: AdminServices, request: Request, template: str, values: Mapping[str, object], *, status: int = 200
) -> Response:
    """A whole page: the template extends `frame.html`, and gets these values and the frame's own."""
    snapshot = services.current.snapshot
    caller: Caller | None = getattr(request.state, "caller", None)
    theme = request.cookies.get(THEME, "")
    first = f"/{request.url.path.split('/')[1]}"
    disabled = snapshot.settings.disabled.get(snapshot.active) if caller else None
    frame = {
        "navigation": NAVIGATION,
        "here": _REACHED_FROM.get(first, first),
        "known": caller is not None,
        "csrf": caller.session.csrf if caller and caller.session else "",
        "theme": theme if theme in ("light", "dark") else "",
        "static": static_prefix(),
        "version": services.version,
        "active": snapshot.active if caller else "",
        "active_disabled": disabled.says if disabled else "",
        "settings_problem": services.redactor()(services.current.problem) if caller else "",
    }
    html = _environment().get_template(template).render({**frame, **values})
    return HTMLResponse(html, status)


def fragment(template: str, values: Mapping[str, object]) -> Response:
    """A part of a page, by the same rules."""
    return HTMLResponse(_environment().get_template(template).render(values))


def problem_page(services: AdminServices, request: Request, problem: AdminProblem) -> Response:
    """What went wrong, why, and what to do: as a page, in the same frame."""
    values = {"problem": problem.said, "code": problem.status}
    return page(services, request, "problem.html", values, status=problem.status)


def address(*parts: str, owner: str = LOCAL, **query: object) -> str:
    """The address of a page. Each part is quoted by itself, whatever names are in it.

    A query value that is "" or None is left out. Another principal than the operator's is named.

    >>> address("threads", "a/b", at="x&y", start=None)
    '/threads/a%2Fb?at=x%26y'
    """
    wanted = {name.rstrip("_"): value for name, value in query.items() if value not in ("", None)}
    if owner != LOCAL:
        wanted["principal"] = owner
    path = "/" + "/".join(quote(part, safe="") for part in parts)
    return f"{path}?{urlencode(wanted)}" if wanted else path


# Styles, scripts and pictures


KINDS: Final = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_FOR_GOOD: Final = "public, max-age=31536000, immutable"
_NOT_KEPT: Final = "no-cache"


class Asset(Struct, frozen=True):
    """One file. `compressed` is empty where compressing does not pay."""

    kind: str
    raw: bytes
    compressed: bytes
    tag: str


@cache
def assets() -> dict[str, Asset]:
    """The files of the folder `static`, by name."""
    found: dict[str, Asset] = {}
    for each in sorted(files("clew.web").joinpath("static").iterdir(), key=lambda each: each.name):
        if kind := KINDS.get(each.name.rpartition(".")[2]):
            raw = each.read_bytes()
            compressed = gzip.compress(raw, 9, mtime=0)
            pays = len(compressed) < 0.9 * len(raw)
            tag = f'"{sha256(raw).hexdigest()[:20]}"'
            found[each.name] = Asset(kind, raw, compressed if pays else b"", tag)
    return found


@cache
def static_prefix() -> str:
    """Where the files of this version are, without a slash at the end."""
    return f"/static/{sha256(''.join(f'{name}{asset.tag}' for name, asset in assets().items()).encode()).hexdigest()[:12]}"


async def static_file(services: AdminServices, request: Request) -> Response:
    """One file. A page of an older version may still ask for its files: it gets the present ones, uncached."""
    asset = assets().get(request.path_params["name"])
    if asset is None:
        raise AdminProblem(404, "there is no such file", "", "reload the page")
    present = request.url.path.startswith(f"{static_prefix()}/")
    headers = {"etag": asset.tag, "vary": "accept-encoding", "cache-control": _FOR_GOOD if present else _NOT_KEPT}
    if request.headers.get("if-none-match") == asset.tag:
        return Response(status_code=304, headers=headers)
    if asset.compressed and "gzip" in request.headers.get("accept-encoding", ""):
        return Response(asset.compressed, headers={**headers, "content-encoding": "gzip"}, media_type=asset.kind)
    return Response(asset.raw, headers=headers, media_type=asset.kind)

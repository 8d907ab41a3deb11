"""Styles, scripts and pictures: read once, compressed once, and cached by browsers for good.

Their address holds a hash over all of them (`/static/HASH/app.js`). So a browser asks once for each version and never
again, modules import each other by plain relative names, and no page ever mixes two versions.
"""

from __future__ import annotations

import gzip
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Final

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from clew.admin.problem import AdminProblem
from clew.admin.services import AdminServices

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
    """The files, by name."""
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

"""Styles, scripts and pictures: read once, compressed once, and kept by browsers for good.

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

from clew.admin.desk import Desk
from clew.admin.problem import Problem

__all__ = ["static_file", "static_prefix"]

KINDS: Final = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_FOR_GOOD: Final = "public, max-age=31536000, immutable"
_ONLY_NOW: Final = "no-cache"


class Asset(Struct, frozen=True):
    """One file. `pressed` is empty where compressing does not pay."""

    kind: str
    raw: bytes
    pressed: bytes
    tag: str


@cache
def assets() -> dict[str, Asset]:
    """By name."""
    found = (each for each in files("clew.web").joinpath("static").iterdir() if each.name.rpartition(".")[2] in KINDS)
    return {each.name: _asset(each.name, each.read_bytes()) for each in sorted(found, key=lambda each: each.name)}


def _asset(name: str, raw: bytes) -> Asset:
    pressed = gzip.compress(raw, 9, mtime=0)
    pays = len(pressed) < 0.9 * len(raw)
    return Asset(KINDS[name.rpartition(".")[2]], raw, pressed if pays else b"", f'"{sha256(raw).hexdigest()[:20]}"')


@cache
def static_prefix() -> str:
    """Where the files of this version are, without a slash at the end."""
    return f"/static/{sha256(''.join(f'{name}{asset.tag}' for name, asset in assets().items()).encode()).hexdigest()[:12]}"


async def static_file(desk: Desk, request: Request) -> Response:
    """A page of an older version may still ask for its files: it gets the present ones, and does not keep them."""
    asset = assets().get(request.path_params["name"])
    if asset is None:
        raise Problem(404, "there is no such file", "", "reload the page")
    present = request.url.path.startswith(f"{static_prefix()}/")
    headers = {"etag": asset.tag, "vary": "accept-encoding", "cache-control": _FOR_GOOD if present else _ONLY_NOW}
    if request.headers.get("if-none-match") == asset.tag:
        return Response(status_code=304, headers=headers)
    if asset.pressed and "gzip" in request.headers.get("accept-encoding", ""):
        return Response(asset.pressed, headers={**headers, "content-encoding": "gzip"}, media_type=asset.kind)
    return Response(asset.raw, headers=headers, media_type=asset.kind)

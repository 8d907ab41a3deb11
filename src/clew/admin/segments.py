"""Segments of a path: a slash that was percent-encoded is part of a name, and no end of it.

The server hands a path over decoded, where the two cannot be told apart any more; in the raw one they can. So while a route
is looked for, such slashes are a character that the path does not have, and the names that were found get them back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote

from starlette.types import Scope

__all__ = ["Segmented"]

_ENCODED: Final = b"%2f"
_PRIVATE: Final = range(0xE000, 0xF8FF)


class Segmented:
    """A request to find the route of."""

    def __init__(self, scope: Scope) -> None:
        raw: bytes = scope.get("raw_path") or b""
        self._is_plain = _ENCODED not in raw.lower()
        self._stands_in = "/" if self._is_plain else _unused(scope["path"])
        self.scope: Scope = scope if self._is_plain else {**scope, "path": self._path(raw)}

    def _path(self, raw: bytes) -> str:
        return "/".join(unquote(segment).replace("/", self._stands_in) for segment in raw.decode("ascii").split("/"))

    def mended(self, child: Scope) -> Scope:
        """What the route adds to the request, the names as they were meant."""
        named: Mapping[str, str] = child.get("path_params", {})
        return {**child, "path_params": {name: value.replace(self._stands_in, "/") for name, value in named.items()}}


def _unused(path: str) -> str:
    return next(char for char in map(chr, _PRIVATE) if char not in path)

"""A backend's no, whether it came with a status of its own or inside a 200."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Struct

from clew.dialects.anthropic.errors import ERROR_TYPES
from clew.http.client.message import Headers
from clew.model.json import JsonObject

__all__ = ["Refused", "refused_with"]

_STATUSES: Final = {kind: status for status, kind in ERROR_TYPES.items()}
"""The status that each error type stands for; where there are two, the later one, which is the vendor's own (529)."""


class Refused(Struct, frozen=True, eq=False):
    """Status, headers and words."""

    status: int
    body: bytes
    headers: Headers = ()


def _status_of(error: JsonObject) -> int:
    kind = error.get("type")
    return _STATUSES.get(kind, 500) if isinstance(kind, str) else 500


def refused_with(error: JsonObject) -> Refused:
    """The no that an error object of the Messages API says."""
    return Refused(_status_of(error), msgspec.json.encode({"type": "error", "error": error}))

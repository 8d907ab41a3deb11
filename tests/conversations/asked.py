"""A request as it stands on the wire: body, headers, endpoint."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from tests.build import Json, user

OLDER, NEWER = "2023-06-01", "2026-10-21"

OPUS = "claude-opus-5-5"
"""Adaptive thinking only, system messages, no prefill, no forced tools."""
SONNET_5_5 = "claude-sonnet-5-5"
"""Adaptive or between_tools."""
OPUS_5 = "claude-opus-5"
"""Adaptive or disabled, forced tools."""
OLD = "claude-sonnet-4-5"
"""Manual thinking, prefill, sampling, no effort, no system messages."""


class Asked(NamedTuple):
    """What a client sends."""

    body: Json
    headers: dict[str, str]
    counting: bool = False
    given: bytes | None = None
    """The bytes, where no object says them."""

    @property
    def raw(self) -> bytes:
        return json.dumps(self.body).encode() if self.given is None else self.given

    def __repr__(self) -> str:
        """Short enough for a failing test to be read."""
        shown = repr(self.raw[:3000])
        return f"Asked({shown}, headers={self.headers}, counting={self.counting})"


def headers(version: str = OLDER, *betas: str) -> dict[str, str]:
    said = {"anthropic-version": version}
    return said | {"anthropic-beta": ",".join(betas)} if betas else said


def ask(*messages: Json, betas: tuple[str, ...] = (), version: str = OLDER, counting: bool = False, **fields: Any) -> Asked:
    """A short request. A field that is `...` is left out."""
    defaults: Json = {"model": OPUS, "max_tokens": ... if counting else 1000, "messages": list(messages) or [user("hi")]}
    body = {key: value for key, value in (defaults | fields).items() if value is not ...}
    return Asked(body, headers(version, *betas), counting)


def bare(raw: bytes) -> Asked:
    """Bytes that need not be a request."""
    return Asked({}, headers(), given=raw)

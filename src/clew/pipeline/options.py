"""What the config asks of a projection. Every default leaves the client's request alone."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

__all__ = ["Options", "Policy"]

Policy: TypeAlias = Literal["origin", "strip"]
"""`origin` decides by who made a block; `strip` sends no thinking at all."""


class Options(Struct, frozen=True, kw_only=True):
    policy: Policy = "origin"

"""Who made a block, and who reads it."""

from __future__ import annotations

from msgspec import Struct

ANTHROPIC = "anthropic"
"""The realm of all first-party Claude hosts: they accept each other's signatures."""


class Origin(Struct, frozen=True):
    """The maker of a block: the realm that can read its proof, and which endpoint, model and account made it.

    >>> Origin("anthropic", "claude", "claude-opus-5-5").realm
    'anthropic'
    """

    realm: str
    backend: str
    model: str
    account: str = ""


class Reader(Struct, frozen=True):
    """A target as the reader of thinking. `account` is set only where the model's profile is account-bound."""

    realm: str
    model: str
    account: str = ""

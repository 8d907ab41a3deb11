"""Who is simulated: rows of `vendors.toml`, each a vendor with the Anthropic dialect and in what it is not Anthropic.

The judge, the signer and the speaker ask the row, never the vendor's name.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from typing import Literal

import msgspec

from clew.errors import SettingsInvalid
from clew.model.facts import UNKNOWN, ModelFacts, canonical_model, model_facts, models, rules
from clew.simulator.ids import ToolIds

__all__ = ["Vendor", "vendor_of", "vendors", "waived"]


class Vendor(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One vendor; the table's head explains the fields."""

    about: str
    signature: Literal["bound", "own", "noise", "empty", "none"]
    noise: tuple[int, int] = (0, 0)
    tool_ids: ToolIds = "unique"
    models: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    missing: str = ""
    profile: dict[str, object] = {}
    source: str
    date: str

    @property
    def binds(self) -> bool:
        """Is its thinking bound to account, model and conversation?"""
        return self.signature == "bound"

    def facts_of(self, model: str, rows: Mapping[str, ModelFacts] | None = None) -> ModelFacts:
        """The profile. A vendor with models of its own has one for all of them, whatever their name."""
        if not self.models:
            return model_facts(model, rows)
        row = {**msgspec.to_builtins(models()[UNKNOWN]), **self.profile, "id": canonical_model(model)}
        return msgspec.convert(row, ModelFacts)

    @property
    def waived(self) -> frozenset[str]:
        """The rules of the book that it does not have."""
        return frozenset(rule for rule in rules() if any(fnmatchcase(rule, pattern) for pattern in self.without))


@cache
def vendors() -> dict[str, Vendor]:
    """All rows by name."""
    text = resources.files(__package__ or "").joinpath("vendors.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), dict[str, Vendor])


def vendor_of(kind: str) -> Vendor:
    """The row of that name. Raises SettingsInvalid, which says which there are."""
    if kind not in vendors():
        raise SettingsInvalid(f"there is no kind {kind!r}; there are {', '.join(vendors())}", key="kind")
    return vendors()[kind]


@cache
def waived(kind: str) -> frozenset[str]:
    """The rules that the vendor of that name does not have; looked up once."""
    return vendor_of(kind).waived

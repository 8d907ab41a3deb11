"""A book of rules: what can be wrong with a request, in the order of checking, and each vendor's words for it.

A book is the table `rules.toml` of a judge. A vendor's row says which rules it does not have, which of the special ones it
has, and where it is known to say something else.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Literal, Self, TypeAlias

import msgspec
from msgspec import Struct, structs

from clew.simulator.interfaces import Grade, Stance, VendorRefusal

Envelope: TypeAlias = Literal[
    "openai", "short", "openrouter", "xai", "mistral", "minimax", "vllm", "llamacpp", "google", "flat", "object", "zai"
]
"""The shape of a vendor's errors."""

_PLACE = re.compile(r"\.(\d+)(?=\.|$)")


class VendorWords(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rule in the vendor's own words: what differs from the book's row."""

    text: str | None = None
    status: int | None = None
    type: str | None = None
    code: str | None = None
    param: str | None = None
    verified: bool = True


class VendorRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One defect, and the words of a vendor that has none of its own."""

    means: str
    text: str
    status: int = 400
    type: str = "invalid_request_error"
    code: str = ""
    param: str = "{place}"
    special: bool = False
    grade: Grade = "B"
    verified: bool = True
    source: str
    id: str = ""
    order: int = -1


@dataclass(frozen=True, slots=True)
class RuleBreach:
    """A rule that is broken, and where. `names` fill the rule's words."""

    rule: str
    path: str = ""
    names: Mapping[str, object] = field(default_factory=dict[str, object])


class OpenaiVendor(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the row of a vendor has, whichever of OpenAI's dialects it speaks; `vendors.toml` explains the fields."""

    about: str
    source: str
    date: str
    reference: bool = False
    params: bool = False
    envelope: Envelope = "openai"
    open: bool = False
    key_headers: tuple[str, ...] = ("authorization",)
    listed: tuple[str, ...]
    fields: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    special: tuple[str, ...] = ()
    words: dict[str, VendorWords] = {}
    extra: str = "{}"


@dataclass(frozen=True, slots=True)
class RuleBook:
    """All rules of a dialect by id: the dialect's name, a dot, and the name in the table."""

    dialect: str
    rules: Mapping[str, VendorRule]

    @classmethod
    def read(cls, package: str, dialect: str) -> Self:
        """The table `rules.toml` of a package."""
        text = resources.files(package).joinpath("rules.toml").read_text("utf-8")
        rows = msgspec.convert(tomllib.loads(text)[dialect], dict[str, VendorRule])
        ids = {name: f"{dialect}.{name}" for name in rows}
        return cls(
            dialect, {ids[name]: structs.replace(row, id=ids[name], order=n) for n, (name, row) in enumerate(rows.items())}
        )

    def rule_of(self, vendor: OpenaiVendor, rule: str) -> VendorRule:
        """The rule in this vendor's words. Words that were never seen from this vendor are not verified."""
        row = self.rules[rule]
        own = vendor.words.get(self._name(rule))
        if own is None:
            return row if vendor.reference else structs.replace(row, verified=False)
        given = structs.asdict(own)
        changes = {name: value for name, value in given.items() if name != "verified" and value is not None}
        return structs.replace(row, verified=own.verified, **changes)

    def is_in_force(self, rule: str, vendor: OpenaiVendor, stance: Stance) -> bool:
        """Whether the vendor refuses requests that break this rule."""
        row, name = self.rules[rule], self._name(rule)
        has = name in vendor.special if row.special else name not in vendor.without
        return has and row.grade not in stance.without_grades

    def refusal(self, vendor: OpenaiVendor, breach: RuleBreach) -> VendorRefusal:
        """A broken rule in the vendor's words."""
        rule = self.rule_of(vendor, breach.rule)
        dotted = _PLACE.sub(r".[\1]", breach.path)
        names = {"path": breach.path, "place": place_of(breach.path), "dotted": dotted, **breach.names}
        return VendorRefusal(
            rule=rule.id,
            grade=rule.grade,
            status=rule.status,
            error_type=rule.type,
            message=rule.text.format(**names),
            path=breach.path,
            code=rule.code.format(**names),
            param=rule.param.format(**names) if vendor.params else "",
        )

    def _name(self, rule: str) -> str:
        return rule.removeprefix(f"{self.dialect}.")


def place_of(path: str) -> str:
    """A path as some vendors write it: `messages.3.tool_calls.0` as `messages[3].tool_calls[0]`."""
    return _PLACE.sub(r"[\1]", path)

"""What can be wrong with a chat request: rows of `rules.toml`, in the order of checking, and the vendors' words for them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

import msgspec
from msgspec import Struct, structs

from clew.model.facts import path_order
from clew.simulator.chat.vendors import Given, Vendor
from clew.simulator.interfaces import Grade, Stance, Violation

__all__ = ["ChatRule", "Finding", "chat_rules", "first_of", "refusal", "worded"]


class ChatRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One defect, and what a vendor without words of its own says to it."""

    means: str
    text: str
    status: int = 400
    type: str = "invalid_request_error"
    code: str = ""
    special: bool = False
    grade: Grade = "B"
    verified: bool = True
    source: str
    id: str = ""
    order: int = -1


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that is broken, and where. `names` are what the words need."""

    rule: str
    path: str = ""
    names: Mapping[str, object] = field(default_factory=dict[str, object])


@cache
def chat_rules() -> dict[str, ChatRule]:
    """All rules by id."""
    text = resources.files(__package__ or "").joinpath("rules.toml").read_text("utf-8")
    rows = msgspec.convert(tomllib.loads(text)["chat"], dict[str, ChatRule])
    return {f"chat.{name}": structs.replace(row, id=f"chat.{name}", order=n) for n, (name, row) in enumerate(rows.items())}


def worded(vendor: Vendor, rule: str) -> ChatRule:
    """The rule as this vendor says it. Words that it was never heard to say are not verified."""
    row = chat_rules()[rule]
    own = vendor.words.get(rule.removeprefix("chat."))
    if own is None:
        return row if vendor.reference else structs.replace(row, verified=False)
    return structs.replace(row, verified=own.verified, **_changes(own))


def _changes(own: Given) -> dict[str, object]:
    given = structs.asdict(own)
    return {name: given[name] for name in ("text", "status", "type", "code") if given[name] is not None}


def first_of(found: Iterable[Finding], vendor: Vendor, stance: Stance) -> Finding | None:
    """The finding that the vendor names: the first in the book's order, then by place."""
    counted = [finding for finding in found if _counts(finding.rule, vendor, stance)]
    book = chat_rules()
    counted.sort(key=lambda finding: (book[finding.rule].order, path_order(finding.path)))
    return counted[0] if counted else None


def refusal(finding: Finding, vendor: Vendor) -> Violation:
    """The violation that a finding is, in the vendor's words."""
    rule = worded(vendor, finding.rule)
    return Violation(
        rule=rule.id,
        grade=rule.grade,
        status=rule.status,
        error_type=rule.type,
        message=rule.text.format(**{"path": finding.path, "place": _bracketed(finding.path), **finding.names}),
        path=finding.path,
    )


def _counts(rule: str, vendor: Vendor, stance: Stance) -> bool:
    row, name = chat_rules()[rule], rule.removeprefix("chat.")
    has = name in vendor.special if row.special else name not in vendor.without
    return has and row.grade not in stance.without_grades


def _bracketed(path: str) -> str:
    """`messages.3.tool_calls.0` as `messages[3].tool_calls[0]`."""
    first, *rest = path.split(".")
    return first + "".join(f"[{part}]" if part.isdecimal() else f".{part}" for part in rest)

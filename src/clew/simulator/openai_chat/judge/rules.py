"""The book of rules for chat requests: rows of `rules.toml`, in the order of checking, and the vendors' words for them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

import msgspec
from msgspec import Struct, structs

from clew.model.facts import path_order
from clew.simulator.interfaces import Grade, Stance, VendorRefusal
from clew.simulator.openai_chat.vendors import ChatVendor


class ChatRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One defect, and the words of a vendor that has none of its own."""

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
class BrokenChatRule:
    """A rule that is broken, and where. `names` fill the rule's words."""

    rule: str
    path: str = ""
    names: Mapping[str, object] = field(default_factory=dict[str, object])


@cache
def chat_rules() -> dict[str, ChatRule]:
    """All rules by id."""
    text = resources.files(__package__ or "").joinpath("rules.toml").read_text("utf-8")
    rows = msgspec.convert(tomllib.loads(text)["chat"], dict[str, ChatRule])
    return {f"chat.{name}": structs.replace(row, id=f"chat.{name}", order=n) for n, (name, row) in enumerate(rows.items())}


def rule_of(vendor: ChatVendor, rule: str) -> ChatRule:
    """The rule in this vendor's words. Words that were never seen from this vendor are not verified."""
    row = chat_rules()[rule]
    own = vendor.words.get(rule.removeprefix("chat."))
    if own is None:
        return row if vendor.reference else structs.replace(row, verified=False)
    given = structs.asdict(own)
    changes = {name: given[name] for name in ("text", "status", "type", "code") if given[name] is not None}
    return structs.replace(row, verified=own.verified, **changes)


def first_in_force(found: Iterable[BrokenChatRule], vendor: ChatVendor, stance: Stance) -> BrokenChatRule | None:
    """The broken rule that the vendor names: the first in the book's order, then by place."""
    book = chat_rules()

    def is_in_force(rule: ChatRule) -> bool:
        name = rule.id.removeprefix("chat.")
        has = name in vendor.special if rule.special else name not in vendor.without
        return has and rule.grade not in stance.without_grades

    counted = [broken for broken in found if is_in_force(book[broken.rule])]
    return min(counted, key=lambda broken: (book[broken.rule].order, path_order(broken.path)), default=None)


def refusal_by(vendor: ChatVendor, broken: BrokenChatRule) -> VendorRefusal:
    """A broken rule in the vendor's words."""
    rule = rule_of(vendor, broken.rule)
    return VendorRefusal(
        rule=rule.id,
        grade=rule.grade,
        status=rule.status,
        error_type=rule.type,
        message=rule.text.format(**{"path": broken.path, "place": _bracketed(broken.path), **broken.names}),
        path=broken.path,
    )


def _bracketed(path: str) -> str:
    """`messages.3.tool_calls.0` as `messages[3].tool_calls[0]`."""
    first, *rest = path.split(".")
    return first + "".join(f"[{part}]" if part.isdecimal() else f".{part}" for part in rest)

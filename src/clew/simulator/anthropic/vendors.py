"""Which vendors are simulated: rows of `vendors.toml`, each in what it differs from Anthropic; and their lists of models.

The judge, the signer and the model ask the row, never the vendor's name. `GET /v1/models` and `/v1/models/{id}` (R75) come
from the table of facts. Unknown values are as the vendor sends them: the epoch for a date, null for a number.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from typing import Final, Literal, TypeAlias
from urllib.parse import parse_qs

import msgspec

from clew.errors import SettingsInvalid
from clew.model.facts import UNKNOWN, ModelFacts, canonical_model, display_name, models, profile_for, rules
from clew.model.facts.shapes import CLEAR_THINKING, CLEAR_TOOL_USES, COMPACT
from clew.model.json import JsonObject
from clew.simulator.identity import ToolIds, refusal_of_rule
from clew.simulator.interfaces import Kind, VendorRefusal

ModelRows: TypeAlias = Mapping[str, ModelFacts] | None
"""The known models; None: the table of facts."""

_UNKNOWN_DATE: Final = "1970-01-01T00:00:00Z"
_EFFORTS: Final = ("low", "medium", "high", "xhigh", "max")
_THINKING_TYPES: Final = ("adaptive", "between_tools", "disabled", "enabled")
_EDITS: Final = (CLEAR_THINKING, CLEAR_TOOL_USES, COMPACT)
_DEFAULT_LIMIT: Final = "20"
_MAX_LIMIT: Final = 1000
_INTEGER: Final = re.compile(r"-?[0-9]+")
_MAX_DIGITS: Final = 9
"""A longer number is not read: it is too large in any case."""


class MessagesVendor(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One vendor; the head of the table explains the fields."""

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
        """Whether its thinking is bound to account, model and conversation."""
        return self.signature == "bound"

    def facts_of(self, model: str, rows: ModelRows = None) -> ModelFacts:
        """The profile of a model. A vendor with models of its own has one profile for all names."""
        if not self.models:
            return profile_for(model, rows)
        row = {**msgspec.to_builtins(models()[UNKNOWN]), **self.profile, "id": canonical_model(model)}
        return msgspec.convert(row, ModelFacts)


@cache
def vendors() -> dict[str, MessagesVendor]:
    """All vendors that speak the Messages API, by name."""
    text = resources.files(__package__ or "").joinpath("vendors.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), dict[str, MessagesVendor])


def vendor_of(kind: str) -> MessagesVendor:
    """The row of that name. Raises SettingsInvalid, whose message lists the names."""
    if kind not in vendors():
        raise SettingsInvalid(f"there is no kind {kind!r}; there are {', '.join(vendors())}", key="kind")
    return vendors()[kind]


@cache
def waived(kind: str) -> frozenset[str]:
    """The rules of the book that the vendor of that name does not have."""
    without = vendor_of(kind).without
    return frozenset(rule for rule in rules() if any(fnmatchcase(rule, pattern) for pattern in without))


# Models.


def model_row(name: str, kind: Kind, known: ModelRows = None) -> JsonObject | None:
    """One model, under the name in the request; None if there is none. A vendor with models of its own has every name."""
    vendor = vendor_of(kind)
    if vendor.models:
        return _row(name, vendor.facts_of(name))
    facts = (known or models()).get(canonical_model(name, known))
    return None if facts is None or facts.id == UNKNOWN else _row(name, facts)


def model_page(query: str, kind: Kind, known: ModelRows = None) -> JsonObject | VendorRefusal:
    """A page of models, the newest first; or why there is none."""
    given = {name: values[-1] for name, values in parse_qs(query).items()}
    limit = _limit(given.get("limit", _DEFAULT_LIMIT))
    if isinstance(limit, VendorRefusal):
        return limit
    vendor = vendor_of(kind)
    if vendor.models:
        rows = [_row(name, vendor.facts_of(name)) for name in vendor.models]
    else:
        served = [facts for facts in (known or models()).values() if facts.id != UNKNOWN]
        rows = [_row(facts.id, facts) for facts in sorted(served, key=lambda facts: -facts.released)]
    names = [row["id"] for row in rows]
    page = rows[:limit]
    if given.get("after_id") in names:
        rows = rows[names.index(given["after_id"]) + 1 :]
        page = rows[:limit]
    elif given.get("before_id") in names:
        rows = rows[: names.index(given["before_id"])]
        page = rows[-limit:]  # the page right before it
    return {
        "data": [*page],
        "has_more": len(page) < len(rows),
        "first_id": page[0]["id"] if page else None,
        "last_id": page[-1]["id"] if page else None,
    }


def _limit(text: str) -> int | VendorRefusal:
    if not _INTEGER.fullmatch(text):
        return refusal_of_rule("R75.limit", allowed="a valid integer, unable to parse string as an integer")
    if text.startswith("-") or not text.strip("0"):
        return refusal_of_rule("R75.limit", allowed="greater than or equal to 1")
    if len(text) > _MAX_DIGITS or int(text) > _MAX_LIMIT:
        return refusal_of_rule("R75.limit", allowed=f"less than or equal to {_MAX_LIMIT}")
    return int(text)


def _row(name: str, facts: ModelFacts) -> JsonObject:
    return {
        "type": "model",
        "id": name,
        "display_name": display_name(name),
        "created_at": _UNKNOWN_DATE,
        "max_input_tokens": facts.context or None,
        "max_tokens": facts.max_tokens or None,
        "lifecycle": "retired" if facts.retired else "active",
        "deprecated_at": _UNKNOWN_DATE if facts.retired else None,
        "retires_at": _UNKNOWN_DATE if facts.retired else None,
        "line": facts.line or None,
        "capabilities": _capabilities(facts),
    }


def _capabilities(facts: ModelFacts) -> JsonObject:
    yes: JsonObject = {"supported": True}
    return {
        "batch": yes,
        "citations": yes,
        "code_execution": yes,
        "context_management": {"supported": True, **dict.fromkeys(_EDITS, yes)},
        "effort": {"supported": bool(facts.effort), **{level: {"supported": level in facts.effort} for level in _EFFORTS}},
        "image_input": yes,
        "pdf_input": yes,
        "server_tools": {"supported": True, "web_search": yes, "code_execution": yes},
        "structured_outputs": yes,
        "thinking": {
            "supported": set(facts.thinking) != {"disabled"},
            "types": {kind: {"supported": kind in facts.thinking} for kind in _THINKING_TYPES},
        },
    }

"""`GET /v1/models` and `/v1/models/{id}` (R75), from the table of facts.

What the facts do not know stays what the vendor sends for "unknown": the epoch as a date, null as a number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, TypeAlias
from urllib.parse import parse_qs

from clew.model.facts import UNKNOWN, ModelFacts, canonical_model, display_name, models
from clew.model.facts.dated import CLEAR_THINKING, CLEAR_TOOL_USES, COMPACT
from clew.model.json import JsonObject
from clew.simulator.accounts import refusal
from clew.simulator.interfaces import Kind, Violation
from clew.simulator.vendors import vendor_of

__all__ = ["listing", "row_of"]

_UNKNOWN_DATE: Final = "1970-01-01T00:00:00Z"
_EFFORTS: Final = ("low", "medium", "high", "xhigh", "max")
_TYPES: Final = ("adaptive", "between_tools", "disabled", "enabled")
_EDITS: Final = (CLEAR_THINKING, CLEAR_TOOL_USES, COMPACT)
_DEFAULT_LIMIT: Final = "20"
_MAX_LIMIT: Final = 1000
_WHOLE: Final = re.compile(r"-?[0-9]+")
_DIGITS: Final = 9
"""Of a number that is read: longer ones are too large in any case."""


Rows: TypeAlias = Mapping[str, ModelFacts] | None
"""What is known of models; None: the table of facts."""


def row_of(name: str, kind: Kind, known: Rows = None) -> JsonObject | None:
    """One model, under the name that was asked for; None if there is none. Another vendor has every model."""
    vendor = vendor_of(kind)
    if vendor.models:
        return _row(name, vendor.facts_of(name))
    facts = (known or models()).get(canonical_model(name, known))
    return None if facts is None or facts.id == UNKNOWN else _row(name, facts)


def listing(query: str, kind: Kind, known: Rows = None) -> JsonObject | Violation:
    """A page of models, the newest first; or why there is none."""
    given = {name: values[-1] for name, values in parse_qs(query).items()}
    limit = _limit(given.get("limit", _DEFAULT_LIMIT))
    if isinstance(limit, Violation):
        return limit
    rows = _rows(kind, known)
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


def _rows(kind: Kind, known: Rows) -> list[JsonObject]:
    vendor = vendor_of(kind)
    if vendor.models:
        return [_row(name, vendor.facts_of(name)) for name in vendor.models]
    served = [facts for facts in (known or models()).values() if facts.id != UNKNOWN]
    return [_row(facts.id, facts) for facts in sorted(served, key=lambda facts: -facts.released)]


def _limit(text: str) -> int | Violation:
    if not _WHOLE.fullmatch(text):
        return refusal("R75.limit", allowed="a valid integer, unable to parse string as an integer")
    if text.startswith("-") or not text.strip("0"):
        return refusal("R75.limit", allowed="greater than or equal to 1")
    if len(text) > _DIGITS or int(text) > _MAX_LIMIT:
        return refusal("R75.limit", allowed=f"less than or equal to {_MAX_LIMIT}")
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
    yes = _supported(True)
    effort = {level: _supported(level in facts.effort) for level in _EFFORTS}
    types = {kind: _supported(kind in facts.thinking) for kind in _TYPES}
    return {
        "batch": yes,
        "citations": yes,
        "code_execution": yes,
        "context_management": {"supported": True, **dict.fromkeys(_EDITS, yes)},
        "effort": {"supported": bool(facts.effort), **effort},
        "image_input": yes,
        "pdf_input": yes,
        "server_tools": {"supported": True, "web_search": yes, "code_execution": yes},
        "structured_outputs": yes,
        "thinking": {"supported": set(facts.thinking) != {"disabled"}, "types": {**types}},
    }


def _supported(value: bool) -> JsonObject:
    return {"supported": value}

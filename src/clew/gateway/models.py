"""`GET /v1/models`: the Claude models that there are facts about, and a name for each other backend (`backends.aliases`).

The names are those that a client may ask for; which backend then answers is decided as for every request. All begin with
`claude` or `anthropic`, because Claude Code drops the others. Pages go as the vendor's do: `limit`, `after_id`,
`before_id`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple
from urllib.parse import parse_qs

from clew.backends.names import backend_aliases, backend_of_alias
from clew.errors import RequestInvalid
from clew.model.facts import UNKNOWN, ModelFacts, canonical_model, display_name
from clew.model.facts.rules import rules
from clew.model.json import JsonObject, JsonValue
from clew.settings.values import Settings

_UNKNOWN_DATE: Final = "1970-01-01T00:00:00Z"
_DEFAULT_LIMIT: Final = "20"
_MOST: Final = 1000
_INTEGER: Final = re.compile(r"-?[0-9]+")
_MOST_DIGITS: Final = 9
"""Of a number that is read: a longer one is too large in any case."""


def list_models(settings: Settings, query: str) -> JsonObject:
    """A page of models, the newest Claude first, other backends after them. Raises RequestInvalid for a `limit` that the
    vendor refuses."""
    given = {name: values[-1] for name, values in parse_qs(query).items()}
    known = [facts for facts in settings.models.values() if facts.id.startswith("claude") and not facts.retired]
    known.sort(key=lambda facts: -facts.released)
    rows = [_row(facts.id, display_name(facts.id), facts) for facts in known]
    rows += [_alias_row(alias, *meant) for alias, meant in backend_aliases(settings.backends).items()]
    limit = _read_limit(given)
    names = [row["id"] for row in rows]
    page = rows[:limit]
    if given.get("after_id") in names:
        rows = rows[names.index(given["after_id"]) + 1 :]
        page = rows[:limit]
    elif given.get("before_id") in names:
        rows = rows[: names.index(given["before_id"])]
        page = rows[-limit:]  # the page right before it
    data: list[JsonValue] = [*page]
    ends = {"first_id": page[0]["id"], "last_id": page[-1]["id"]} if page else {"first_id": None, "last_id": None}
    return {"data": data, "has_more": len(page) < len(rows), **ends}


def find_model(settings: Settings, name: str) -> JsonObject | None:
    """One model, under the name that was asked for; None if there is none."""
    if meant := backend_of_alias(name, settings.backends):
        return _alias_row(name, *meant)
    facts = settings.models.get(canonical_model(name))
    return None if facts is None or facts.id == UNKNOWN else _row(name, display_name(name), facts)


def _alias_row(alias: str, backend: str, model: str) -> JsonObject:
    return _row(alias, f"{model} ({backend})" if model else backend, None)


def _row(name: str, display_name: str, facts: ModelFacts | None) -> JsonObject:
    return {
        "type": "model",
        "id": name,
        "display_name": display_name,
        "created_at": _UNKNOWN_DATE,
        "max_input_tokens": (facts.context or None) if facts else None,
        "max_tokens": (facts.max_tokens or None) if facts else None,
    }


def _read_limit(given: Mapping[str, str]) -> int:
    limit = given.get("limit", _DEFAULT_LIMIT)
    if not _INTEGER.fullmatch(limit):
        allowed = "a valid integer, unable to parse string as an integer"
    elif limit.startswith("-") or not limit.strip("0"):
        allowed = "greater than or equal to 1"
    elif len(limit) > _MOST_DIGITS or int(limit) > _MOST:
        allowed = f"less than or equal to {_MOST}"
    else:
        return int(limit)
    rule = rules()["R75.limit"]
    raise RequestInvalid(rule.words(path=rule.path, allowed=allowed), path=rule.path)


class ModelList(NamedTuple):
    """How a client's dialect lists models, and shows one of them."""

    page: Callable[[Settings, str], JsonObject]
    one: Callable[[Settings, str], JsonObject | None]


MODEL_LISTS: Final[Mapping[str, ModelList]] = {"anthropic": ModelList(list_models, find_model)}
"""By the client's dialect (`routes.ClientDialect`)."""

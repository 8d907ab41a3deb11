"""`GET /v1/models`: the Claude models that there are facts about, and a name for each other backend (`backends.names`).

The names are those that a client may ask for; which backend then answers is decided as for every request. All begin with
`claude` or `anthropic`, because Claude Code drops the others. One path serves clients of three shapes (`list_for`):
Anthropic's, in pages as the vendor's (`limit`, `after_id`, `before_id`); OpenAI's, all of them; and Codex' own, which has
what Codex must know to work with a model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple
from urllib.parse import parse_qs

from clew.backends.names import backend_aliases, backend_of_alias
from clew.dialects.shape import ClientHeaders
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


class ListedModel(NamedTuple):
    """A model that a client may ask for."""

    id: str
    display_name: str
    owner: str = "anthropic"
    facts: ModelFacts | None = None


def _all_models(settings: Settings) -> list[ListedModel]:
    """The newest Claude first, other backends after them."""
    known = [facts for facts in settings.models.values() if facts.id.startswith("claude") and not facts.retired]
    known.sort(key=lambda facts: -facts.released)
    found = [ListedModel(facts.id, display_name(facts.id), facts=facts) for facts in known]
    return [*found, *(_alias(alias, *meant) for alias, meant in backend_aliases(settings.backends).items())]


def _alias(alias: str, backend: str, model: str) -> ListedModel:
    return ListedModel(alias, f"{model} ({backend})" if model else backend, backend)


# Anthropic's shape.


def list_models(settings: Settings, query: str) -> JsonObject:
    """A page of models. Raises RequestInvalid for a `limit` that the vendor refuses."""
    given = {name: values[-1] for name, values in parse_qs(query).items()}
    rows = [_anthropic_row(model) for model in _all_models(settings)]
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


def _anthropic_row(model: ListedModel) -> JsonObject:
    facts = model.facts
    return {
        "type": "model",
        "id": model.id,
        "display_name": model.display_name,
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


# OpenAI's shape, and Codex' own.


def _openai_row(model: ListedModel) -> JsonObject:
    return {"id": model.id, "object": "model", "created": 0, "owned_by": model.owner}


def _openai_list(settings: Settings, query: str) -> JsonObject:
    return {"object": "list", "data": [_openai_row(model) for model in _all_models(settings)]}


_CODEX_INSTRUCTIONS: Final = (
    "You are a coding agent in a terminal. Use the tools that you are given to read and change the user's files and to run "
    "commands. Keep going until the task is done, check your work, and say briefly what you did."
)
_CODEX_EFFORTS: Final = ("low", "medium", "high", "xhigh")


def _codex_list(settings: Settings, query: str) -> JsonObject:
    return {"models": [_codex_row(model, place) for place, model in enumerate(_all_models(settings))]}


def _codex_row(model: ListedModel, place: int) -> JsonObject:
    """Every field that Codex cannot read a model without."""
    facts = model.facts
    efforts = [effort for effort in _CODEX_EFFORTS if facts is None or effort in facts.effort]
    levels: list[JsonValue] = [{"effort": effort, "description": effort} for effort in efforts]
    return {
        "slug": model.id,
        "display_name": model.display_name,
        "description": None,
        "supported_reasoning_levels": levels,
        "shell_type": "shell_command",
        "visibility": "list",
        "supported_in_api": True,
        "priority": place,
        "availability_nux": None,
        "upgrade": None,
        "base_instructions": _CODEX_INSTRUCTIONS,
        "supports_reasoning_summaries": True,
        "support_verbosity": False,
        "default_verbosity": None,
        "apply_patch_tool_type": None,
        "truncation_policy": {"mode": "tokens", "limit": 10_000},
        "supports_parallel_tool_calls": True,
        "context_window": (facts.context or None) if facts else None,
        "experimental_supported_tools": [],
    }


class ModelList(NamedTuple):
    """How a kind of client is shown models: its dialect, all of them, and one of them."""

    dialect: str
    page: Callable[[Settings, str], JsonObject]
    row: Callable[[ListedModel], JsonObject]

    def one(self, settings: Settings, name: str) -> JsonObject | None:
        """One model, under the name that was asked for; None if there is none."""
        if meant := backend_of_alias(name, settings.backends):
            model = _alias(name, *meant)
        else:
            facts = settings.models.get(canonical_model(name))
            model = None if facts is None or facts.id == UNKNOWN else ListedModel(name, display_name(name), facts=facts)
        return None if model is None else self.row(model)


_ANTHROPIC: Final = ModelList("anthropic", list_models, _anthropic_row)
_OPENAI: Final = ModelList("openai-chat", _openai_list, _openai_row)
_CODEX: Final = ModelList("openai-chat", _codex_list, _openai_row)


def list_for(headers: ClientHeaders, query: str) -> ModelList:
    """The list in the shape that this client reads. Anthropic's clients name a version, or show their key in their own way;
    Codex says its own version in the query."""
    if "anthropic-version" in headers or "x-api-key" in headers:
        return _ANTHROPIC
    return _CODEX if "client_version" in parse_qs(query) else _OPENAI

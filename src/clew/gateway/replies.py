"""What the data plane answers by itself: lists of models, small JSON, and errors in the form of the client's dialect.

`GET /v1/models` has the Claude models that there are facts about, and a name for each other backend (`backends.aliases`).
The names are those that a client may ask for; which backend then answers is decided as for every request. All begin with
`claude` or `anthropic`, because Claude Code drops the others. Pages go as the vendor's do: `limit`, `after_id`,
`before_id`.

A refusal by the gateway is final, and says so: Claude Code would try a 401 ten times. An error of a backend keeps its
words.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping
from math import ceil
from typing import Final, NamedTuple, TypeAlias
from urllib.parse import parse_qs

import msgspec

from clew.backends.names import backend_aliases, backend_of_alias
from clew.dialects.anthropic.answers import write_error
from clew.errors import BackendDisabled, BackendOverloaded, BackendRejected, BackendUnknown, ClewError, RequestInvalid
from clew.http.message import HttpRefusal
from clew.http.responder import Responder
from clew.model.facts import UNKNOWN, ModelFacts, canonical_model, display_name
from clew.model.facts.rules import rules
from clew.model.failure import Failure, error_type_of
from clew.model.json import JsonObject, JsonValue
from clew.settings.values import Settings

BUSY: Final = HttpRefusal(503, "Overloaded: this gateway answers as many requests at once as it may. Try again in a moment.")
ENDING: Final = HttpRefusal(503, "Overloaded: this gateway is being stopped. Try again in a moment.")

_JSON: Final = ("content-type", "application/json")
_RETRYABLE: Final = frozenset({408, 409, 429})

ErrorBody: TypeAlias = Callable[[int, str, str, str], bytes]
"""The body of an error: from its status, its type in the words of the Messages API, its message and the request's id."""


ERROR_BODIES: Final[Mapping[str, ErrorBody]] = {
    "anthropic": lambda status, error_type, message, request_id: write_error(
        Failure(status, error_type, message), request_id
    ),
    # So far only paths that are not served are refused in these two.
    "openai": lambda status, error_type, message, request_id: msgspec.json.encode(
        {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": "unknown_url"}}
    ),
    "gemini": lambda status, error_type, message, request_id: msgspec.json.encode(
        {"error": {"code": status, "message": message, "status": "NOT_FOUND"}}
    ),
}
"""By the client's dialect (`routes.ClientDialect`)."""


def send_json(respond: Responder, value: Mapping[str, JsonValue], status: int = 200) -> None:
    respond.send(status, [_JSON, ("cache-control", "no-store")], msgspec.json.encode(value))


def refuse(refusal: HttpRefusal, respond: Responder, dialect: str = "") -> None:
    """Answer a request that the gateway refuses, in this dialect, or in the one that the refusal names."""
    retry_after = 1.0 if refusal.status == 503 else None
    write = ERROR_BODIES[dialect or refusal.dialect]
    request_id = _new_id()
    headers = [_JSON, ("request-id", request_id), *_retry_headers(refusal.status, retry_after), *refusal.headers]
    error_type = error_type_of(refusal.status)
    respond.send(refusal.status, headers, write(refusal.status, error_type, refusal.reason, request_id))


def fail(error: ClewError, respond: Responder, dialect: str) -> None:
    """Answer a request whose exchange failed, before any of the answer was sent."""
    retry_after = error.retry_after if isinstance(error, BackendOverloaded) else None
    is_lasting = isinstance(error, BackendDisabled | BackendUnknown)
    request_id = _new_id()
    headers = [_JSON, ("request-id", request_id), *_retry_headers(error.status, retry_after, is_lasting=is_lasting)]
    body = error.body if isinstance(error, BackendRejected | BackendOverloaded) else b""
    body = body or ERROR_BODIES[dialect](error.status, error.error_type, str(error), request_id)
    respond.send(error.status, headers, body)


def _retry_headers(status: int, retry_after: float | None, *, is_lasting: bool = False) -> list[tuple[str, str]]:
    """Whether a retry makes sense, and when. A lasting error stays until the operator changes something."""
    if retry_after is not None:
        return [("retry-after", str(ceil(retry_after)))]
    return [("x-should-retry", "false")] if is_lasting or (status < 500 and status not in _RETRYABLE) else []


def _new_id() -> str:
    return f"req_clew_{secrets.token_hex(10)}"


# Models.

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

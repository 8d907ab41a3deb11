"""Errors in OpenAI's words, for both of its dialects; and what of a backend's headers the client gets.

Limits are told by nearly every vendor, with names of its own and with three ways to say when they are lifted: after a
duration, at a moment in seconds or in milliseconds since 1970. Clients of Anthropic look for `anthropic-ratelimit-*` with a
date. A limit per minute is said rather than one per day where a vendor tells both: that is the one a client runs into.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

import msgspec

from clew.dialects.failures.reading import duration_of, failure_of, moment_of
from clew.dialects.headers import response_headers as anthropic_headers
from clew.dialects.shape import BackendHeaders, BackendRefusal
from clew.model.events import StreamFailed
from clew.model.failure import Failure, error_type_of
from clew.model.json import JsonObject, text_of

TOO_LONG: Final = "Your input exceeds the context window of this model. Please adjust your input and try again."
STATUSES: Final = {402: 429, 529: 503}
"""What OpenAI's clients know: 429 with the code `insufficient_quota` for an account without money, and 503 for a server that
is overloaded."""
CONTEXT_CODE: Final = "context_length_exceeded"
_PROMPT: Final = "prompt is too long"

_WORDS: Final[dict[str, tuple[str, str | None]]] = {
    "invalid_request_error": ("invalid_request_error", None),
    "authentication_error": ("invalid_request_error", "invalid_api_key"),
    "billing_error": ("insufficient_quota", "insufficient_quota"),
    "permission_error": ("invalid_request_error", None),
    "not_found_error": ("invalid_request_error", "model_not_found"),
    "request_too_large": ("invalid_request_error", None),
    "rate_limit_error": ("requests", "rate_limit_exceeded"),
    "overloaded_error": ("server_error", "server_is_overloaded"),
}
"""OpenAI's type and code, by the canonical type; every other one is a server's error."""


def write_error(failure: Failure, request_id: str | None) -> bytes:
    """The body of a response that is an error."""
    return msgspec.json.encode({"error": error_object(failure), "request_id": request_id})


def error_object(failure: Failure) -> JsonObject:
    """The error as it stands in a body or in a stream."""
    kind, usual = _WORDS.get(failure.type, ("server_error", None))
    message, code = failure.message, failure.code or usual
    if is_too_long(failure):
        code, message = CONTEXT_CODE, f"{TOO_LONG} ({message})"
    seconds = failure.wait.seconds
    if failure.type == "rate_limit_error" and seconds is not None and "try again in" not in message:
        message = f"{message} Please try again in {seconds:g}s."
    return {"message": message, "type": kind, "param": failure.param or None, "code": code}


def is_too_long(failure: Failure) -> bool:
    """Whether the prompt is longer than the model reads."""
    return _PROMPT in failure.message.lower()


def failure_of_event(event: StreamFailed) -> Failure:
    """The failure that ends a stream."""
    status = event.status or 500
    kind = text_of(event.error.get("type")) or error_type_of(status)
    return Failure(status, kind, text_of(event.error.get("message")), event.wait)


def read_error(status: int, headers: BackendHeaders, body: bytes, options: object) -> BackendRefusal:
    """The error that a backend's response with this status reports, in canonical words."""
    failure = failure_of(status, body)
    request_id = dict(response_headers(headers, wall=0)).get("request-id")
    document = msgspec.json.encode({"type": "error", "error": failure.error(), "request_id": request_id})
    return BackendRefusal(failure.status, document, failure.wait, is_canonical=True)


_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "requests": (
        "x-ratelimit-{}-requests",
        "x-ratelimit-{}-requests-minute",
        "x-ratelimit-{}-req-minute",
        "x-ratelimit-{}-requests-day",
        "x-ratelimit-{}",
        "ratelimit-{}",
    ),
    "tokens": ("x-ratelimit-{}-tokens", "x-ratelimit-{}-tokens-minute", "ratelimitbysize-{}", "x-tokenlimit-{}"),
    "input-tokens": ("x-ratelimit-{}-input-tokens", "x-ratelimit-{}-tokens-prompt"),
    "output-tokens": ("x-ratelimit-{}-output-tokens", "x-ratelimit-{}-tokens-generated"),
}
"""What is counted, and the vendors' names for it: OpenAI, Groq, Cerebras, Mistral, OpenRouter, Kimi, Together, Fireworks."""

_RENAMED: Final = {"x-request-id": "request-id", "x-generation-id": "request-id", "x-ms-retry-after-ms": "retry-after-ms"}
_LIMIT: Final = "ratelimit"


def response_headers(headers: Iterable[tuple[bytes, bytes]], wall: float) -> list[tuple[str, str]]:
    """All that the client is told. `wall` is the time of day in seconds since 1970."""
    given = list(headers)
    told = dict(anthropic_headers(given))
    if not any([_is_ours_to_say(name) for name, _ in given]):  # noqa: C419  (a list is faster than a generator)
        return list(told.items())
    renamed = [(_RENAMED[name], value) for name, value in _plain(given).items() if name in _RENAMED]
    for name, value in [*renamed, *rate_headers(given, wall=wall)]:
        told.setdefault(name, value)
    return list(told.items())


@lru_cache(maxsize=1024)
def _is_ours_to_say(given: bytes) -> bool:
    """Whether a header has another name for the client, or is looked at for limits. Each answer has the same few names."""
    name = given.lower().decode("latin-1")
    return name in _RENAMED or _LIMIT in name


def rate_headers(headers: Iterable[tuple[bytes, bytes]], *, wall: float) -> list[tuple[str, str]]:
    """The limits by Anthropic's names, each from the first of the vendor's that tells what remains."""
    found = {name: value for name, value in _plain(headers).items() if _LIMIT in name}
    if not found:
        return []
    told: list[tuple[str, str | None]] = []
    for kind, names in _NAMES.items():
        for name in names:
            limit, remaining = (_count(found.get(name.format(what), "")) for what in ("limit", "remaining"))
            if remaining is not None:
                moment = _moment(found.get(name.format("reset"), ""), wall)
                values = {"limit": limit, "remaining": remaining, "reset": moment}
                told += [(f"anthropic-ratelimit-{kind}-{what}", value) for what, value in values.items()]
                break
    return [(name, value) for name, value in told if value is not None]


def _count(value: str) -> str | None:
    """A whole number as it is written in a header; Together and others add decimals."""
    whole = value.partition(".")[0]
    return whole if whole.isascii() and whole.isdigit() and len(whole) < 16 else None


def _moment(value: str, wall: float) -> str | None:
    """When a limit is lifted, in RFC 3339, to the second."""
    seconds = moment_of(value)
    if seconds is None:
        wait = duration_of(value)
        seconds = None if wait is None else wall + wait
    return None if seconds is None else datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _plain(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Names in lower case; values that are printable ASCII."""
    told = ((name.lower().decode("latin-1"), value.decode("latin-1").strip()) for name, value in headers)
    return {name: value for name, value in told if value.isascii() and value.isprintable()}

"""Errors of vendors that speak Anthropic's dialect and are not Anthropic: in shapes, statuses and words of their own."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import structs

from clew.settings.values import Retry
from tests.build import Json, user
from tests.engine.conftest import Gating
from tests.engine.kept import exchange_of
from tests.engine.talk import MODEL
from tests.engine.test_translation_refusals import refusing
from tests.engine.test_waits import messages_row

pytestmark = pytest.mark.slow

ONCE = Retry(retries=0, first_wait=0.01, cool_seconds=0.0, budget=0.0)
ASKED: Json = {"model": MODEL, "max_tokens": 2000, "messages": [user("hi")]}
TOO_LONG = "Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)"


def anthropics(kind: str, message: str) -> Json:
    return {"type": "error", "error": {"type": kind, "message": message}}


ROWS: dict[str, tuple[int, Any, int, str, str]] = {
    "full, in a shape of its own": (
        *(400, {"error": {"code": "1261", "message": "Prompt exceeds max length"}}),
        *(400, "invalid_request_error", "prompt is too long: Prompt exceeds max length"),
    ),
    "full, in words of its own": (
        *(400, anthropics("invalid_request_error", TOO_LONG)),
        *(400, "invalid_request_error", "prompt is too long: 300000 tokens > 262144 maximum"),
    ),
    "no room, as a page": (
        *(503, "<html><title>503 Service Unavailable</title></html>"),
        *(529, "overloaded_error", "an HTML page instead of an answer: 503 Service Unavailable"),
    ),
    "a text": (500, {"error": "boom"}, 500, "api_error", "boom"),
    "a limit under another status": (
        *(500, {"error": {"code": "1302", "message": "slow down"}}),
        *(429, "rate_limit_error", "slow down"),
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_an_error_is_told_as_anthropic_would(gating: Gating, name: str) -> None:
    """Claude Code compacts by exactly these words, and waits by these statuses; else a conversation cannot go on."""
    given, body, status, kind, message = ROWS[name]
    raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    with refusing(given, raw) as backend:
        answer = gating(messages_row("local", backend.url), retry=ONCE).ask(ASKED)

    assert (answer.status, answer.json["type"]) == (status, "error")
    assert (answer.json["error"]["type"], answer.json["error"]["message"]) == (kind, message)


@pytest.mark.parametrize(
    ("status", "kind"), [(400, "invalid_request_error"), (404, "not_found_error"), (500, "api_error"), (503, "own_kind")]
)
def test_what_is_right_already_stays_as_it_came(gating: Gating, status: int, kind: str) -> None:
    said = json.dumps({**anthropics(kind, "Not so."), "request_id": "r", "own": [1]}, indent=1).encode()
    with refusing(status, said) as backend:
        answer = gating(messages_row("local", backend.url), retry=ONCE).ask(ASKED)

    assert (answer.status, answer.raw) == (status, said)


@pytest.mark.parametrize("message", ["Not so. " * 1000, "prompt is too long: 5 tokens > 4 maximum. " * 200])
def test_long_words_stay_as_they_came(gating: Gating, message: str) -> None:
    """Only what is told anew is cut."""
    said = json.dumps(anthropics("invalid_request_error", message)).encode()
    with refusing(400, said) as backend:
        answer = gating(messages_row("local", backend.url), retry=ONCE).ask(ASKED)

    assert (answer.status, answer.raw) == (400, said)


@pytest.mark.parametrize("realm", ["anthropic", "local"])
@pytest.mark.parametrize("stream", [True, False])
def test_a_refusal_that_nobody_can_read_is_one(gating: Gating, realm: str, stream: bool) -> None:
    """Brackets in brackets, deeper than any reader goes, were an error of ours, and nothing was kept of the exchange."""
    deep = b'{"error":{"type":"x","message":"m","z":' + b"[" * 3000 + b"]" * 3000 + b"}}"
    with refusing(400, deep) as backend:
        gate = gating(structs.replace(messages_row("local", backend.url), realm=realm), retry=ONCE)
        answer = gate.ask({**ASKED, "stream": stream})

    assert (answer.status, answer.json["error"]["type"]) == (400, "invalid_request_error")
    assert exchange_of(gate, answer).outcome == "refused"


def test_words_of_nobody_known_have_the_type_of_their_status(gating: Gating) -> None:
    """Of Anthropic itself, or of what stands before it."""
    with refusing(400, b"bad request") as backend:
        row = structs.replace(messages_row("claude", backend.url), realm="anthropic")
        answer = gating(row, retry=ONCE).ask(ASKED)

    assert (answer.status, answer.json["error"]["type"]) == (400, "invalid_request_error")
    assert answer.json["error"]["message"] == "claude refused (400): bad request"

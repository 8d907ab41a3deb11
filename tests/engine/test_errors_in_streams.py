"""Errors in the 200 of a backend that speaks Anthropic's dialect, in shapes that are not Anthropic's."""

from __future__ import annotations

import json

import pytest
from msgspec import structs

from clew.backends.row import Backend
from clew.testing import Simulator
from clew.wire.events import encode_event
from tests.build import Json
from tests.engine.chatting import SSE, telling
from tests.engine.conftest import Gating
from tests.engine.kept import exchange_of
from tests.engine.test_untold_usage import STREAM, WHOLE
from tests.engine.test_waits import ASKED, ONCE, messages_row

pytestmark = pytest.mark.slow

JSON = "application/json"
LIMIT: Json = {"code": 429, "message": f"slow down, {Simulator.key}", "metadata": {"retry_after": 12}}


def event(data: Json | str, name: str = "") -> bytes:
    said = data if isinstance(data, str) else json.dumps(data)
    return (f"event: {name}\n" if name else "").encode() + f"data: {said}\n\n".encode()


LIMITS: dict[str, tuple[bytes, str]] = {
    "an event without a name": (event({"error": LIMIT}), SSE),
    "an event by its name": (event({"error": LIMIT}, "error"), SSE),
    "an event by its name, flat": (event(LIMIT, "error"), SSE),
    "an event with another's type": (event({"type": "error", "error": LIMIT}, "error"), SSE),
    "a body with another's type": (json.dumps({"type": "error", "error": LIMIT}).encode(), JSON),
    "a body beside an answer that is none": (json.dumps({**WHOLE, "content": None, "error": LIMIT}).encode(), JSON),
    "a body beside an empty answer": (json.dumps({**WHOLE, "content": [], "error": LIMIT}).encode(), JSON),
}
OVERLOADED = {
    "a text": event("Overloaded", "error"),
    "a text as the error": event({"type": "error", "error": "Overloaded"}, "error"),
    "flat": event({"type": "overloaded_error", "message": "Overloaded"}),
    "words": event({"type": "error", "error": {"message": "Overloaded"}}),
}


def rows(url: str) -> list[Backend]:
    """One whose bytes pass as they come, and one whose blocks are put in order first."""
    row = messages_row("local", url)
    return [row, structs.replace(row, quirks=structs.replace(row.quirks, overlaps=True))]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_is_one_whatever_it_looks_like(gating: Gating, name: str, stream: bool) -> None:
    body, kind = LIMITS[name]
    with telling(body, kind=kind) as backend:
        for place, row in enumerate(rows(backend.url)):
            answer = gating(row, home=str(place), retry=ONCE).ask({**ASKED, "stream": stream})

            assert (answer.status, answer.json["error"]["type"]) == (429, "rate_limit_error")
            assert (answer.headers.get("retry-after"), answer.json["error"]["message"]) == ("12", "slow down, <secret>")


@pytest.mark.parametrize("name", OVERLOADED)
def test_an_error_by_its_words_alone(gating: Gating, name: str) -> None:
    with telling(OVERLOADED[name]) as backend:
        answer = gating(messages_row("local", backend.url), retry=ONCE).ask({**ASKED, "stream": True})

    assert (answer.status, answer.json["error"]) == (529, {"type": "overloaded_error", "message": "Overloaded"})


@pytest.mark.parametrize("name", [name for name, (_, kind) in LIMITS.items() if kind == SSE])
def test_an_error_after_the_first_word_is_told_in_the_clients_shape(gating: Gating, name: str) -> None:
    """Clients read its type, and its message, without a look whether they are there. (That type passes as it came.)"""
    begun = b"".join(map(encode_event, STREAM[:3]))
    with telling(begun + LIMITS[name][0]) as backend:
        gate = gating(messages_row("local", backend.url), retry=ONCE)
        answer = gate.ask({**ASKED, "stream": True})

    last = answer.events[-1]
    assert (last["type"], last["error"]["message"]) == ("error", "slow down, <secret>")
    assert last["error"].get("type") == (None if "type" in name else "rate_limit_error")
    assert exchange_of(gate, answer).outcome == "cut"


@pytest.mark.parametrize("before", range(440, 500, 7))
def test_of_long_words_the_beginning_is_kept(gating: Gating, before: int) -> None:
    """The client gets all of them; what is kept is in every list, and tells no part of a key at its end."""
    words = f"{'. ' * (before // 2)}{Simulator.key} {'! ' * 100_000}"
    begun = b"".join(map(encode_event, STREAM[:3]))
    with telling(begun + event({"type": "error", "error": {"type": "api_error", "message": words}})) as backend:
        gate = gating(messages_row("local", backend.url), retry=ONCE)
        answer = gate.ask({**ASKED, "stream": True})

    [tried] = exchange_of(gate, answer).tries
    assert len(answer.events[-1]["error"]["message"]) > 200_000
    assert 0 < len(tried.why) <= 500
    assert Simulator.key[:6] not in tried.why


@pytest.mark.parametrize(
    "odd",
    [
        *(event({"type": "odd", "error": {"message": "m"}}), event({"type": "tool_error", "error": "m"}, "tool_error")),
        *(event({"error": {"message": "m"}}, "odd"), event({"error": None}), event("[DONE]")),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_what_nobody_knows_yet_is_no_error(gating: Gating, odd: bytes, stream: bool) -> None:
    """The vendor may add events at any time, with whatever in them."""
    with telling(b"".join(map(encode_event, STREAM[:4])) + odd + b"".join(map(encode_event, STREAM[4:]))) as backend:
        gate = gating(messages_row("local", backend.url), retry=ONCE)
        answer = gate.ask({**ASKED, "stream": stream})

    assert (answer.status, exchange_of(gate, answer).outcome) == (200, "whole")
    assert not stream or odd in answer.raw


NO_ROUTE = {"code": 404, "message": "no such route"}


@pytest.mark.parametrize("body", [{"error": NO_ROUTE}, {"type": "error", "error": NO_ROUTE}])
def test_a_count_that_a_relay_does_not_know_is_estimated(gating: Gating, body: Json) -> None:
    """As where it says so with the status: a client that got a 404 would take the model for unknown."""
    asked = {name: value for name, value in ASKED.items() if name != "max_tokens"}
    with telling(json.dumps(body).encode(), kind=JSON) as backend:
        answer = gating(messages_row("local", backend.url), retry=ONCE).ask(asked, path="/v1/messages/count_tokens")

    assert (answer.status, set(answer.json)) == (200, {"input_tokens"})


@pytest.mark.parametrize("more", [{"error": None}, {"base_resp": {"status_code": 0}}, {}])
def test_an_empty_answer_is_one(gating: Gating, more: Json) -> None:
    said = {**WHOLE, "content": [], **more}
    with telling(json.dumps(said).encode(), kind=JSON) as backend:
        answer = gating(messages_row("local", backend.url), retry=ONCE).ask(ASKED)

    assert (answer.status, answer.json["content"]) == (200, [])

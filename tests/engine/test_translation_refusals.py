"""What a client is told when a backend in another dialect says no, or when it is never asked; over real sockets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from clew.dialects.openai.parts import OMITTED
from clew.http.message import HttpRequest
from clew.http.responder import Responder
from clew.http.server import listen
from clew.settings.values import Retry
from clew.testing import Simulator
from clew.testing.simulator import Background
from tests.build import Json, user
from tests.engine.chatting import DONE, Teller, chat, chat_row, chunk, telling
from tests.engine.conftest import Gating
from tests.engine.kept import exchange_of
from tests.engine.talk import MODEL

pytestmark = pytest.mark.slow

ONCE = Retry(retries=0, first_wait=0.01, cool_seconds=0.0, budget=0.0)
PNG: Json = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}}
PDF: Json = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBE"}}


@contextmanager
def refusing(status: int, body: bytes, *headers: tuple[str, str]) -> Iterator[Teller]:
    """A backend that has one answer to everything."""
    teller = Teller()

    async def handle(request: HttpRequest, respond: Responder) -> None:
        teller.asked.append(json.loads(request.body))
        respond.send(status, [("content-type", "application/json"), *headers], body)

    with Background() as loop:
        server = loop.call(listen(handle))
        teller.url = server.url
        try:
            yield teller
        finally:
            loop.call(server.close(grace=0))


def asked(**fields: Any) -> Json:
    return {"model": MODEL, "max_tokens": 2000, "messages": [user("hi")], **fields}


def error(message: str, **more: Any) -> bytes:
    return json.dumps({"error": {"message": message, **more}}).encode()


ROWS: dict[str, tuple[int, bytes, int, str, str]] = {
    "full": (
        400,
        error("This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."),
        400,
        "invalid_request_error",
        "prompt is too long: 9000 tokens > 8192 maximum",
    ),
    "a limit that no waiting helps": (
        413,
        error("Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 14810, please reduce"),
        400,
        "invalid_request_error",
        "prompt is too long: 14810 tokens > 6000 maximum",
    ),
    "overloaded": (503, b"", 529, "overloaded_error", "Overloaded"),
    "model": (400, error("Model Not Exist"), 404, "not_found_error", "Model Not Exist"),
    "elsewhere": (
        301,
        b"<html>Moved Permanently</html>",
        502,
        "api_error",
        "local answered with a redirect (301), which clew does not follow",
    ),
    "too large": (413, b"", 413, "request_too_large", "Request exceeds the maximum size"),
}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("stream", [True, False])
def test_a_refusal_reaches_the_client_in_anthropics_words_and_status(gating: Gating, name: str, stream: bool) -> None:
    """clients 1.7: Claude Code acts on both, streamed or not."""
    status, body, told, kind, words = ROWS[name]
    with refusing(status, body) as backend:
        answer = gating(chat_row("local", backend.url), retry=ONCE).ask(asked(stream=stream))

    assert (answer.status, answer.json["error"]) == (told, {"type": kind, "message": words})


def test_a_limit_says_how_long_to_wait_and_what_is_left(gating: Gating) -> None:
    left = [("x-ratelimit-limit-requests", "60"), ("x-ratelimit-remaining-requests", "0"), ("x-request-id", "req_9")]
    with refusing(429, error("Rate limit reached. Please try again in 7.2s."), *left) as backend:
        answer = gating(chat_row("local", backend.url), retry=ONCE).ask(asked())

    assert (answer.status, answer.json["error"]["type"]) == (429, "rate_limit_error")
    assert answer.json["request_id"] == "req_9"
    told = {
        name: answer.headers.get(name) for name in ("retry-after", "anthropic-ratelimit-requests-remaining", "request-id")
    }
    assert told == {"retry-after": "8", "anthropic-ratelimit-requests-remaining": "0", "request-id": "req_9"}


NO_ANSWER = {
    "nothing": b"",
    "only the end": DONE,
    "only comments": b": processing\n\n",
    "nothing said": chunk(role="assistant") + DONE,
    "no JSON": b"data: <html>\n\n",
}


@pytest.mark.parametrize("stream", [True, False])
def test_a_stream_that_is_no_answer_is_a_broken_one(gating: Gating, stream: bool) -> None:
    """As one in the client's dialect that ends before its end: it is asked for again, and nobody refused anything."""
    for name, said in NO_ANSWER.items():
        with telling(said) as backend:
            gate = gating(chat_row("local", backend.url), home=name, retry=Retry(retries=1, first_wait=0.01))
            answer = gate.ask(asked(stream=stream))

        exchange = exchange_of(gate, answer)
        assert (answer.status, answer.json["error"]["type"]) == (502, "api_error"), name
        assert answer.json["error"]["message"].startswith("local: "), name
        assert (exchange.outcome, exchange.status, [each.status for each in exchange.tries]) == ("failed", 502, [0, 0]), name


NEVER_ASKED: dict[str, tuple[Json, str]] = {
    "web search": (
        {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
        "tools.0: 'web_search_20250305' is run by Anthropic's servers, and this backend cannot run it: leave the tool out, "
        "or ask a Claude model",
    ),
    "image": (
        {"messages": [user({"type": "text", "text": "see"}, PNG)]},
        "messages.0.content.1: this backend does not support images: take it out, or ask a model that can see",
    ),
    "document": (
        {"messages": [user(PDF)]},
        "messages.0.content.0: this backend does not read documents of this kind: send its text instead, or ask a model "
        "that can read it",
    ),
}


@pytest.mark.parametrize("name", NEVER_ASKED)
def test_what_cannot_be_said_is_refused_by_its_place_and_nobody_is_asked(gating: Gating, name: str) -> None:
    fields, words = NEVER_ASKED[name]
    with refusing(200, b"{}") as backend:
        gate = gating(chat_row("local", backend.url, 'wire = { images = "refuse", documents = "refuse" }'), retry=ONCE)
        answer = gate.ask(asked(**fields))
        (tried,) = exchange_of(gate, answer).tries

    assert (tried.status, tried.why) == (0, f"not asked: {words}")
    assert (answer.status, answer.json["error"]) == (400, {"type": "invalid_request_error", "message": words})
    assert (answer.headers["x-should-retry"], backend.asked) == ("false", [])


def test_an_image_may_be_left_out_instead_and_the_model_is_told_so(gating: Gating) -> None:
    whole = {"choices": [{"message": {"role": "assistant", "content": "I cannot see it."}, "finish_reason": "stop"}]}
    with refusing(200, json.dumps(whole).encode()) as backend:
        gate = gating(chat_row("local", backend.url, 'wire = { images = "omit" }'))
        answer = gate.ask(asked(messages=[user(PNG)]))

    assert answer.status == 200
    assert backend.asked[0]["messages"][0]["content"] == "[An image was left out here: this model cannot see images.]"


BLIND = {"vllm": ("vllm", "qwen3-32b"), "llamacpp": ("llamacpp", "qwen3-32b"), "zai-chat": ("zai", "glm-5.3")}


@pytest.mark.parametrize("kind", BLIND)
def test_a_conversation_with_an_image_goes_on_at_a_model_that_cannot_see(gating: Gating, kind: str) -> None:
    """dialects 7, case 66: asked once with it and once without; the change is told, and is none of thinking."""
    with Simulator(kind=kind) as blind:
        preset, model = BLIND[kind]
        gate = gating(chat(blind, preset, f'model = "{model}"'))
        talk = [user({"type": "text", "text": "see"}, PNG)]
        answer = gate.ask(asked(messages=talk))
        sent = json.loads(blind.body(blind.journal()[-1]["n"]))
        said = {"role": "assistant", "content": answer.json["content"]}
        gate.ask(asked(messages=[*talk, said, user("And?")]))
        statuses = [entry["response"]["status"] for entry in blind.journal()]

    assert (len(statuses), statuses[1:]) == (3, [200, 200]), "only the first request of a conversation pays for it"
    assert (answer.status, answer.headers["x-clew-thinking"].endswith("healed=0")) == (200, True)
    assert sent["messages"] == [{"role": "user", "content": f"see\n\n{OMITTED}"}]

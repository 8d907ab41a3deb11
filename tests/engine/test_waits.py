"""How long a backend asks to wait, however it says so: the client hears it in seconds, and the backend is left alone so long.

Over real sockets. U3.
"""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from clew.backends.credential import Secret
from clew.backends.row import Backend
from clew.engine.services import cool_downs_in
from clew.settings.values import Retry
from clew.testing import Simulator
from tests.build import Json, user
from tests.engine.chatting import chat_row, telling
from tests.engine.conftest import Gating
from tests.engine.gate import other
from tests.engine.talk import MODEL
from tests.engine.test_translation_refusals import refusing
from tests.waiting import until

pytestmark = pytest.mark.slow

ONCE = Retry(retries=0, first_wait=0.01, cool_seconds=0.0, budget=0.0)
ASKED: Json = {"model": MODEL, "max_tokens": 2000, "messages": [user("hi")]}
DAY = 86400.0


def limit(**more: Any) -> bytes:
    return json.dumps({"error": {"message": "Rate limit exceeded", "code": 429, **more}}).encode()


BUSY = json.dumps({"base_resp": {"status_code": 1002, "status_msg": "rate limit, try again in 12s"}}).encode()


def messages_row(name: str, url: str) -> Backend:
    """A host of the client's own dialect."""
    return Backend(url=url, name=name, realm=name, auth="key", keys=(Secret(Simulator.key),))


ROWS: dict[str, tuple[bytes, list[tuple[str, str]], str]] = {
    "a number": (limit(), [("retry-after", "7")], "7"),
    "a fraction": (limit(), [("retry-after", "0.5")], "0.5"),
    "minutes": (limit(), [("retry-after", "6m0s")], "360"),
    "hours": (limit(), [("retry-after", "1h2m")], "3720"),
    "milliseconds": (limit(), [("retry-after", "750ms")], "1"),
    "nothing to be read, and Google's word in the body": (
        limit(details=[{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "37s"}]),
        [("retry-after", "soon")],
        "37",
    ),
    "OpenRouter's own seconds": (limit(metadata={"retry_after": 12}), [], "12"),
    "OpenRouter with the vendor's error inside": (
        limit(metadata={"raw": json.dumps({"error": {"message": "no", "details": [{"retryDelay": "21.5s"}]}})}),
        [],
        "22",
    ),
    "OpenRouter with the vendor's words inside": (limit(metadata={"raw": "Please try again in 1m2.5s."}), [], "63"),
}


@pytest.mark.parametrize("row", [chat_row, messages_row])
@pytest.mark.parametrize("name", ROWS)
def test_a_wait_reaches_the_client_in_seconds(gating: Gating, name: str, row: Any) -> None:
    body, headers, told = ROWS[name]
    with refusing(429, body, *headers) as backend:
        answer = gating(row("local", backend.url), retry=ONCE).ask(ASKED)

    assert (answer.status, answer.headers.get("retry-after")) == (429, told)


SAID = {name: (body, told) for name, (body, headers, told) in ROWS.items() if not headers or name.startswith("nothing")}


def in_stream(body: bytes, row: Any) -> bytes:
    """The same error as the only event of a stream that began with 200, as each dialect says it."""
    if row is chat_row:
        return b"data: " + body + b"\n\n"
    error = {**json.loads(body)["error"], "type": "rate_limit_error"}
    return b"event: error\ndata: " + json.dumps({"type": "error", "error": error}).encode() + b"\n\n"


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("row", [chat_row, messages_row])
def test_a_wait_inside_a_200_is_one_too(gating: Gating, row: Any, stream: bool) -> None:
    """The client hears it as after a 429, with the headers that the backend sent."""
    for name, (body, told) in SAID.items():
        with telling(in_stream(body, row), headers=[("request-id", "req_7")]) as backend:
            answer = gating(row("local", backend.url), home=name, retry=ONCE).ask({**ASKED, "stream": stream})

        assert (answer.status, answer.headers.get("retry-after")) == (429, told), name
        assert answer.headers.get("request-id") == "req_7"


def test_a_backend_that_asks_to_wait_inside_a_200_is_left_alone_so_long(gating: Gating) -> None:
    body = in_stream(limit(metadata={"retry_after": 12}), chat_row)
    with Simulator() as sim, telling(body) as backend:
        gate = gating(chat_row("local", backend.url), other(sim), failover=("glm",), retry=ONCE)
        assert gate.ask({**ASKED, "stream": True}).status == 200
        store = gate.store
        assert store is not None
        until(lambda: cool_downs_in(store, time.time()))
        left = cool_downs_in(store, time.time())["local"]

    assert 5 < left <= 12


@pytest.mark.parametrize("stream", [True, False])
def test_an_error_in_another_shape_inside_a_200_is_one_in_each_dialect(gating: Gating, stream: bool) -> None:
    """Relays and some vendors answer with their own shape on each of their paths."""
    for name, body in {"error": limit(metadata={"retry_after": 12}), "base_resp": BUSY}.items():
        with telling(body, kind="application/json") as backend:
            answer = gating(messages_row("local", backend.url), home=name, retry=ONCE).ask({**ASKED, "stream": stream})

        assert (answer.status, answer.json["error"]["type"]) == (429, "rate_limit_error"), name
        assert answer.headers.get("retry-after") == "12", name


def test_the_words_of_an_error_inside_a_200_are_put_once(gating: Gating) -> None:
    """They are in the client's words when they come out of the stream."""
    error = {"code": "content_filter", "message": "against our content management policy"}
    for stream in (True, False):
        body, kind = json.dumps({"error": error}).encode(), "text/event-stream" if stream else "application/json"
        with telling(b"data: " + body + b"\n\n" if stream else body, kind=kind) as backend:
            answer = gating(chat_row("local", backend.url), home=kind[:4], retry=ONCE).ask({**ASKED, "stream": stream})

        assert answer.status == 400
        assert answer.json["error"]["message"] == f"the backend's content filter refused this: {error['message']}"


@pytest.mark.parametrize("row", [chat_row, messages_row])
def test_a_limit_that_ends_at_a_moment_is_waited_for_until_then(gating: Gating, row: Any) -> None:
    """OpenRouter says it in milliseconds since 1970, in the headers that its body repeats."""
    at = int((time.time() + 300) * 1000)
    with refusing(429, limit(metadata={"headers": {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(at)}})) as backend:
        answer = gating(row("local", backend.url), retry=ONCE).ask(ASKED)

    assert 280 <= int(answer.headers["retry-after"]) <= 301


@pytest.mark.parametrize(
    "more",
    [
        {"metadata": {"headers": {"X-RateLimit-Reset": "tomorrow"}, "retry_after": ["x"], "raw": "{"}},
        {"metadata": [1], "details": {"retryDelay": "5s"}},
        {"metadata": {"headers": 3, "retry_after": True, "raw": None}, "details": ["5s", {"retryDelay": None}]},
    ],
)
def test_what_cannot_be_read_is_no_wait(gating: Gating, more: Json) -> None:
    with refusing(429, limit(**more)) as backend:
        answer = gating(chat_row("local", backend.url), retry=ONCE).ask(ASKED)

    assert (answer.status, answer.headers.get("retry-after")) == (429, None)


def test_a_backend_that_asks_for_days_is_asked_again_within_the_hour(gating: Gating) -> None:
    """The client hears what the backend said; clew itself looks again."""
    with Simulator() as sim, refusing(429, limit(), ("retry-after", f"{40 * DAY:.0f}")) as backend:
        gate = gating(chat_row("local", backend.url), other(sim), failover=("glm",), retry=ONCE)
        assert gate.ask(ASKED).status == 200
        store = gate.store
        assert store is not None
        until(lambda: cool_downs_in(store, time.time()))
        left = cool_downs_in(store, time.time())["local"]

    assert 3000 < left <= 3600

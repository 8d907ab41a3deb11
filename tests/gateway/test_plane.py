"""Between the route and the engine: early requests, too many of them, failures, and the end of the process."""

import asyncio
import json
import threading

import pytest

from clew.errors import BackendOverloaded, BackendRejected, BackendTimedOut, ClewError, CredentialsExhausted, RequestInvalid
from tests.gateway.conftest import KEY, KEYED, Gateway, Making, said, settings_with
from tests.waiting import until

pytestmark = pytest.mark.slow


def test_a_request_that_comes_before_the_engine_waits_for_it(making: Making) -> None:
    """The plane listens first."""
    gateway = making(loaded=False)
    peer = gateway.peer().send(gateway.request("POST", "/v1/messages", x_api_key=KEY))
    until(lambda: gateway.plane.running == 1)

    async def load() -> None:
        gateway.plane.serve(gateway.engine)

    gateway.loop.call(load())
    assert peer.response()[0] == 200


def test_more_at_once_than_there_is_room_for_are_told_to_come_again(making: Making) -> None:
    """3.12: the answer is Anthropic's for an overload; what runs is not disturbed, and room is given back."""
    gateway = making(settings_with(KEYED, max_streams=2))
    gateway.engine.hold = asyncio.Event()
    busy = [gateway.peer().send(gateway.request("POST", "/v1/messages", x_api_key=KEY)) for _ in range(2)]
    until(lambda: len(gateway.engine.calls) == 2)
    answer = gateway.ask(path="/v1/messages/count_tokens", x_api_key=KEY)
    assert said(answer) == (503, "overloaded_error")
    assert answer[1]["retry-after"] == "1"
    assert "x-should-retry" not in answer[1]
    assert gateway.ask("GET", "/v1/models", b"", x_api_key=KEY)[0] == 200

    async def go_on() -> None:
        gateway.engine.hold.set()

    gateway.loop.call(go_on())
    assert [peer.response()[0] for peer in busy] == [200, 200]
    assert gateway.ask(x_api_key=KEY)[0] == 200
    until(lambda: gateway.plane.running == 0)


def test_a_client_that_leaves_gives_its_room_back(making: Making) -> None:
    """C1: the engine is cancelled where it waits."""
    gateway = making(settings_with(KEYED, max_streams=1))
    gateway.engine.hold = asyncio.Event()
    peer = gateway.peer().send(gateway.request("POST", "/v1/messages", x_api_key=KEY))
    until(lambda: gateway.plane.running == 1)
    peer.socket.close()
    until(lambda: gateway.plane.running == 0)


@pytest.mark.parametrize(
    ("error", "status", "error_type", "headers"),
    [
        (RequestInvalid("messages: missing", path="messages"), 400, "invalid_request_error", {"x-should-retry": "false"}),
        (BackendTimedOut("glm: silent", phase="gap"), 504, "timeout_error", {}),
        (BackendOverloaded("glm: busy", retry_after=1.2), 529, "overloaded_error", {"retry-after": "2"}),
        (BackendOverloaded("glm: limit", status=429, retry_after=3), 429, "rate_limit_error", {"retry-after": "3"}),
        (BackendOverloaded("glm: limit", status=429), 429, "rate_limit_error", {}),
        (CredentialsExhausted("glm: no key works"), 502, "api_error", {"x-should-retry": "false"}),
        (ClewError("what"), 500, "api_error", {}),
    ],
)
def test_what_went_wrong_is_said_in_the_vendors_shape(
    gateway: Gateway, error: ClewError, status: int, error_type: str, headers: dict[str, str]
) -> None:
    gateway.engine.error = error
    answer = gateway.ask(x_api_key=KEY)
    assert said(answer) == (status, error_type)
    assert json.loads(answer[2])["error"]["message"] == str(error)
    assert {name: value for name, value in answer[1].items() if name in ("retry-after", "x-should-retry")} == headers


@pytest.mark.parametrize("kind", [BackendRejected, BackendOverloaded])
def test_what_a_backend_said_goes_on_in_its_own_words(gateway: Gateway, kind: type) -> None:
    body = b'{"type":"error","error":{"type":"weird_error","message":"its own"}}'
    gateway.engine.error = kind("glm refused", status=422, body=body)
    status, _, got = gateway.ask(x_api_key=KEY)
    assert (status, got) == (422, body)


def test_a_bug_is_a_500_in_the_vendors_shape_and_tells_nothing(gateway: Gateway, caplog: pytest.LogCaptureFixture) -> None:
    gateway.engine.error = ZeroDivisionError("secret")
    answer = gateway.ask(x_api_key=KEY)
    assert said(answer) == (500, "api_error")
    assert b"secret" not in answer[2]
    assert "ZeroDivisionError" in caplog.text


def test_a_request_that_is_not_answered_when_the_process_must_end_is_told_so(gateway: Gateway) -> None:
    """P1 for what has no stream yet: a status can still be sent."""
    gateway.engine.hold = asyncio.Event()
    peer = gateway.peer().send(gateway.request("POST", "/v1/messages", x_api_key=KEY))
    until(lambda: gateway.plane.running == 1)
    closer = threading.Thread(target=lambda: gateway.loop.call(gateway.server.close(grace=0.05)))
    closer.start()
    assert said(peer.response()) == (503, "overloaded_error")
    closer.join(120)
    assert gateway.plane.running == 0


def test_no_key_is_in_what_is_logged(gateway: Gateway, caplog: pytest.LogCaptureFixture) -> None:
    """X12, X18: nor what the client chose to call us."""
    caplog.set_level("DEBUG")
    gateway.ask(x_api_key="canary-key", host="canary.example")
    gateway.ask(x_api_key="canary-key", path="/canary")
    gateway.ask(authorization="Bearer canary-key")
    assert "canary" not in caplog.text

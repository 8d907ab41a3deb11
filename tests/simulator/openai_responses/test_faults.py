"""Faults on demand in Responses: the same words as in the other dialects, and errors inside a stream in all their forms."""

from collections.abc import Callable
from typing import Any

import pytest

from clew.testing import Simulator
from tests.simulator.openai_responses.talking import Talk, events
from tests.simulator.wire import Reply

SIM = Callable[[str], Simulator]
KIND = "openai-responses"


def told(sim: Simulator, fault: str, kind: str = KIND, scenario: str = "thinking", **changes: Any) -> Reply:
    sim.fault(fault)
    return Talk(sim, kind).ask(f"[[scenario:{scenario}]] go").send(**{"stream": True, **changes})


def types(body: bytes) -> list[str]:
    return [event["type"] for event in events(body)]


@pytest.mark.parametrize("form", ["nested", "flat", "failed", ""])
@pytest.mark.parametrize("after", [0, 2, 6])
def test_an_error_inside_a_stream_goes_on_with_the_numbers(sim_of: SIM, form: str, after: int) -> None:
    reply = told(sim_of(KIND), f"error context_length_exceeded after={after}" + (f" form={form}" if form else ""))
    found = events(reply.body)[after:]
    assert reply.status == 200
    if form != "failed":
        error = found.pop(0)
        told_error = error["error"] if form != "flat" else error
        assert (error["type"], told_error["code"]) == ("error", "context_length_exceeded")
        assert told_error["message"].startswith("Your input exceeds the context window")
        assert error["sequence_number"] == after
    if after or form == "failed":
        assert found[0]["type"] == "response.failed"
        assert found[0]["response"]["error"]["code"] == "context_length_exceeded"
        assert found[0]["response"]["status"] == "failed"


@pytest.mark.parametrize(
    ("fault", "code", "type_"),
    [
        ("overloaded_error", "server_is_overloaded", "service_unavailable_error"),
        ("rate_limit_exceeded", "rate_limit_exceeded", "tokens"),
        ("insufficient_quota", "insufficient_quota", "insufficient_quota"),
        ("server_error", "server_error", "server_error"),
    ],
)
def test_the_code_says_what_went_wrong(sim_of: SIM, fault: str, code: str, type_: str) -> None:
    error = events(told(sim_of(KIND), f"error {fault} after=2").body)[2]["error"]
    assert (error["code"], error["type"], bool(error["message"])) == (code, type_, True)


@pytest.mark.parametrize(
    ("fault", "status", "code"),
    [
        ("status 429 retry-after=2", 429, "rate_limit_exceeded"),
        ("status 500", 500, "server_error"),
        ("status 503", 503, "server_is_overloaded"),
        ("status 402", 402, "insufficient_quota"),
        ("error server_is_overloaded", 503, "server_is_overloaded"),
    ],
)
def test_a_status_has_the_vendors_words(sim_of: SIM, fault: str, status: int, code: str) -> None:
    reply = told(sim_of(KIND), fault, stream=False)
    assert (reply.status, reply.json["error"]["code"]) == (status, code)
    assert reply.headers.get("retry-after") == ("2" if "retry-after" in fault else None)


def test_events_can_be_left_out_repeated_and_put_in(sim_of: SIM) -> None:
    sim = sim_of(KIND)
    assert "response.completed" not in types(told(sim, "omit response.completed").body)
    assert types(told(sim, "repeat response.created").body)[:2] == ["response.created"] * 2
    assert types(told(sim, "event odd after=2").body)[2] == "odd"


def test_numbers_usage_and_items_can_be_wrong(sim_of: SIM) -> None:
    sim = sim_of(KIND)
    shifted = [event["output_index"] for event in events(told(sim, "index-gap 3").body) if "output_index" in event]
    assert set(shifted) == {0, 4}
    assert "usage" not in events(told(sim, "no-usage").body)[-1]["response"]
    assert "usage" not in told(sim, "no-usage", stream=False).json
    assert events(told(sim, "no-output").body)[-1]["response"]["output"] == []


@pytest.mark.parametrize(
    ("place", "last"),
    [
        ("content=0", "response.in_progress"),
        ("content=1", "response.output_item.added"),
        ("before=response.completed", "response.output_item.done"),
        ("after=1", "response.created"),
    ],
)
def test_a_place_is_a_number_of_events_or_an_events_name(sim_of: SIM, place: str, last: str) -> None:
    assert types(told(sim_of(KIND), f"cut how=end {place}").body)[-1] == last


@pytest.mark.parametrize("shape", ["event", "line", "events"])
def test_a_flood_goes_into_a_delta(sim_of: SIM, shape: str) -> None:
    body = told(sim_of(KIND), f"flood 20000 shape={shape} content=3").body
    assert len(body) > 20_000
    if shape == "event":
        assert max(len(event.get("delta", "")) for event in events(body)) > 20_000


@pytest.mark.parametrize("fault", ["bad-utf8 after=4", "bad-json after=4"])
def test_an_event_can_be_garbled(sim_of: SIM, fault: str) -> None:
    with pytest.raises(ValueError, match=r"codec|Expecting|Unterminated|delimiter"):
        events(told(sim_of(KIND), fault).body)


@pytest.mark.parametrize("fault", ["drip 7", "lump", "stall 0.01 after=3", "slow-start 0.01"])
def test_another_delivery_is_the_same_answer(sim_of: SIM, fault: str) -> None:
    assert types(told(sim_of(KIND), fault).body)[-1] == "response.completed"


def test_pings_without_end_are_keepalive_events(sim_of: SIM) -> None:
    import socket
    from urllib.parse import urlsplit

    sim = sim_of(KIND)
    sim.fault("pings every=0.001")
    body = b'{"model":"gpt-5.6","input":"Hi.","stream":true}'
    head = f"POST /v1/responses HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer k\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", urlsplit(sim.url).port or 0), timeout=30) as peer:
        peer.sendall(head.encode() + body)
        got = b""
        while got.count(b"event: keepalive\ndata: ") < 3:
            got += peer.recv(65536)


@pytest.mark.parametrize("kind", ["xai-responses", "deepseek-responses", "openrouter-responses"])
def test_some_vendors_errors_are_flat_and_nothing_follows(sim_of: SIM, kind: str) -> None:
    found = events(told(sim_of(kind), "error server_error after=3", kind).body)
    assert (found[-1]["type"], found[-1]["code"], len(found)) == ("error", "server_error", 4)

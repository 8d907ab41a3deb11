"""Faults: the language, and each one over a real socket."""

import http.client
import socket
import time
from urllib.parse import urlsplit

import anthropic
import pytest

from clew.errors import SettingsInvalid
from clew.simulator.fault_effects import apply_faults
from clew.simulator.faults import KINDS, FaultSpec, parse
from clew.simulator.steps import End, Send, SendHead, Silence, Steps, body_of
from clew.testing import Simulator
from tests.counts import examples
from tests.manifest import accepts
from tests.simulator.wire import HEADERS, Reply, ask, call, read_events


def stream(sim: Simulator, fault: str) -> Reply:
    return ask(sim.url, "[[scenario:thinking]]", stream=True, headers={"x-sim-fault": fault})


def whole_stream(sim: Simulator) -> bytes:
    """The body without any fault; the same request has the same ids after a reset."""
    body = ask(sim.url, "[[scenario:thinking]]", stream=True).body
    sim.reset()
    return body


# The language.


def test_a_fault_is_a_word_a_value_and_options() -> None:
    assert parse("status 529 retry-after=2 message='So busy'") == FaultSpec(
        kind="status", status=529, retry_after="2", message="So busy"
    )
    assert parse("cut at=120 how=rst") == FaultSpec(kind="cut", at=120, how="rst")
    assert parse("hang-up") == FaultSpec(kind="hang-up")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "there is no fault ''; there are status, error, cut, "),
        ("earthquake", "there is no fault 'earthquake'; there are status, error, cut, "),
        ("cut speed=3", "fault 'cut' has no option 'speed'; it has at, after, content, before, how"),
        ("cut 1 2", "fault 'cut' has no option '2'; it has at, after, content, before, how"),
        ("lump now", "fault 'lump' has no option 'now'; it has no options"),
        ("cut at=soon", "fault 'cut at=soon': Expected `int | null`"),
        ("cut how=slowly", "fault 'cut how=slowly': Invalid enum value 'slowly'"),
        ("status '529", 'fault "status \'529": No closing quotation'),
    ],
)
def test_a_mistake_in_a_fault_is_named_with_what_is_possible(text: str, words: str) -> None:
    with pytest.raises(SettingsInvalid) as caught:
        parse(text)
    assert str(caught.value).startswith(words)


STEPS: Steps = (
    SendHead(200, (("content-type", "text/event-stream"), ("request-id", "req_1"))),
    Send(b"abc", "one"),
    Silence(0.5),
    Send(b"defg", "two"),
    End(),
)


@pytest.mark.parametrize("kind", KINDS)
def test_every_fault_leaves_steps_that_end_once_and_last(kind: str) -> None:
    text = {"stall": "stall 1 at=4", "content-type": "content-type text/html", "omit": "omit one"}.get(kind, kind)
    spoilt = apply_faults([parse(text)], STEPS, "req_1")
    assert [isinstance(step, End) for step in spoilt].count(True) == 1
    assert isinstance(spoilt[-1], End)


@pytest.mark.parametrize("at", range(9))
def test_a_cut_keeps_exactly_the_bytes_before_it(at: int) -> None:
    """U11."""
    spoilt = apply_faults([FaultSpec(kind="cut", at=at, how="rst")], STEPS, "")
    assert (body_of(spoilt), spoilt[-1]) == (b"abcdefg"[:at], End("rst"))


@pytest.mark.parametrize("at", range(9))
def test_a_stall_changes_no_byte(at: int) -> None:
    spoilt = apply_faults([FaultSpec(kind="stall", at=at, seconds=3)], STEPS, "")
    assert body_of(spoilt) == b"abcdefg"
    assert [step for step in spoilt if step == Silence(3)] == [Silence(3)]


def test_faults_can_be_combined() -> None:
    spoilt = apply_faults([parse("omit one"), parse("cut at=2 how=end")], STEPS, "")
    assert (body_of(spoilt), spoilt[-1]) == (b"de", End("end"))


# Over the wire.


@pytest.mark.parametrize(
    ("status", "kind", "message"),
    [
        (400, "invalid_request_error", "invalid_request_error"),
        (401, "authentication_error", "invalid x-api-key"),
        (403, "permission_error", "permission_error"),
        (404, "not_found_error", "The requested resource could not be found."),
        (429, "rate_limit_error", "This request would exceed your organization's rate limit of"),
        (500, "api_error", "Internal server error"),
        (529, "overloaded_error", "Overloaded"),
    ],
)
def test_a_status_comes_in_the_vendors_envelope(sim: Simulator, status: int, kind: str, message: str) -> None:
    """R62."""
    reply = stream(sim, f"status {status} retry-after=2 should-retry=false")
    assert reply.status == status
    assert (reply.headers["retry-after"], reply.headers["x-should-retry"]) == ("2", "false")
    assert reply.headers["content-type"] == "application/json"
    assert reply.json["type"] == "error"
    assert reply.json["error"]["type"] == kind
    assert reply.json["error"]["message"].startswith(message)
    assert reply.json["request_id"] == reply.headers["request-id"]


def test_too_large_is_said_by_the_edge_in_its_own_shape(sim: Simulator) -> None:
    """R62: bodies in reports lack the outer type."""
    reply = stream(sim, "status 413")
    assert (reply.status, reply.json) == (
        413,
        {"error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}},
    )


def test_a_status_can_have_any_body_and_a_redirect_its_target(sim: Simulator) -> None:
    """U17, U18."""
    page = stream(sim, "status 502 body='<html>Bad gateway</html>' content-type=text/html")
    assert (page.status, page.headers["content-type"], page.body) == (502, "text/html", b"<html>Bad gateway</html>")
    moved = stream(sim, "status 302 location=http://169.254.169.254/ body=")
    assert (moved.status, moved.headers["location"], moved.body) == (302, "http://169.254.169.254/", b"")


@accepts("rule:R69")
@pytest.mark.parametrize("after", [0, 1, 5])
def test_an_error_event_comes_after_so_many_events(sim: Simulator, after: int) -> None:
    """U7: 0 is before everything."""
    told = read_events(whole_stream(sim))
    reply = stream(sim, f"error overloaded_error after={after}")
    assert reply.status == 200
    assert reply.events[:-1] == told[:after]
    assert reply.events[-1] == {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}


def test_an_error_for_an_answer_that_is_not_streamed_is_a_status(sim: Simulator) -> None:
    reply = ask(sim.url, headers={"x-sim-fault": "error overloaded_error after=3"})
    assert (reply.status, reply.json["error"]["message"]) == (529, "Overloaded")


def raw_body(sim: Simulator, fault: str) -> tuple[bytes, str]:
    """What arrives of the body before the connection ends, and how it ends."""
    connection = http.client.HTTPConnection(urlsplit(sim.url).netloc, timeout=120)
    prompt = b'{"model":"m","max_tokens":99,"stream":true,"thinking":{"type":"adaptive"},'
    prompt += b'"messages":[{"role":"user","content":"[[scenario:thinking]]"}]}'
    connection.request("POST", "/v1/messages", prompt, {**HEADERS, "x-sim-fault": fault})
    response = connection.getresponse()
    got = b""
    try:
        while byte := response.read1(1):
            got += byte
    except http.client.IncompleteRead:
        return got, "fin"
    except ConnectionResetError:
        return got, "rst"
    finally:
        connection.close()
    return got, "end"


@pytest.mark.parametrize("how", ["fin", "rst", "end"])
def test_a_cut_ends_in_the_way_that_was_asked_for(sim: Simulator, how: str) -> None:
    full, ended = raw_body(sim, "drip 50")
    assert ended == "end"
    sim.reset()
    assert raw_body(sim, f"cut at=333 how={how}") == (full[:333], how)
    assert [entry["ended"] for entry in sim.journal()] == ["whole" if how == "end" else "cut"]


@pytest.mark.slow
def test_a_stream_can_be_cut_at_every_byte(sim: Simulator) -> None:
    """U11; a sample in the suite, every byte in the soak."""
    full, _ = raw_body(sim, "drip 5000")
    step = max(1, len(full) // examples(20, soak=len(full)))
    for at in range(0, len(full), step):
        sim.reset()
        assert raw_body(sim, f"cut at={at}") == (full[:at], "fin")


def test_no_answer_is_not_even_a_head(sim: Simulator) -> None:
    with pytest.raises(http.client.RemoteDisconnected):
        stream(sim, "no-answer fin")
    with pytest.raises(ConnectionResetError):
        stream(sim, "no-answer rst")


def test_a_stall_and_a_slow_start_take_their_time_and_change_nothing(sim: Simulator) -> None:
    """U8, U10."""
    full = whole_stream(sim)
    for fault in ("stall 0.05 after=3", "slow-start 0.05"):
        begun = time.monotonic()
        assert stream(sim, fault).body == full
        assert time.monotonic() - begun >= 0.05
        sim.reset()


def test_one_byte_chunks_change_nothing(sim: Simulator) -> None:
    """U13."""
    full = whole_stream(sim)
    connection = socket.create_connection(("127.0.0.1", urlsplit(sim.url).port or 0), timeout=120)
    body = b'{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}'
    head = b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nx-api-key: k\r\nx-sim-fault: drip 1\r\nConnection: close\r\n"
    connection.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    got = b""
    while part := connection.recv(65536):
        got += part
    connection.close()
    assert got.count(b"\r\n1\r\n") > 100
    assert stream(sim, "drip 1").body == full


def test_bad_utf8_is_in_the_event_that_was_named(sim: Simulator) -> None:
    parts = stream(sim, "bad-utf8 after=3").body.split(b"\n\n")
    assert [n for n, part in enumerate(parts) if b"\xff" in part] == [3]


def test_events_can_be_left_out_and_said_twice(sim: Simulator) -> None:
    """U12, U14."""
    told = [event["type"] for event in read_events(whole_stream(sim))]
    omitted = [event["type"] for event in stream(sim, "omit message_delta,message_stop").events]
    assert omitted == told[:-2]
    repeated = [event["type"] for event in stream(sim, "repeat message_start").events]
    assert repeated == [told[0], *told]


def test_the_content_type_can_be_a_lie(sim: Simulator) -> None:
    """U18."""
    full = whole_stream(sim)
    reply = stream(sim, "content-type text/html")
    assert (reply.headers["content-type"], reply.body) == ("text/html", full)


def test_hang_up_closes_the_connection_after_a_whole_answer_without_saying_so(sim: Simulator) -> None:
    """U19: the client believes that it can use the connection again."""
    connection = http.client.HTTPConnection(urlsplit(sim.url).netloc, timeout=120)
    body = b'{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}'
    connection.request("POST", "/v1/messages", body, {**HEADERS, "x-sim-fault": "hang-up"})
    response = connection.getresponse()
    assert (response.status, response.getheader("connection")) == (200, None)
    response.read()
    assert connection.sock is not None
    assert connection.sock.recv(1) == b""
    connection.close()


# Three doors.


def test_faults_wait_in_line_for_the_next_requests_on_their_path(sim: Simulator) -> None:
    sim.fault("status 529", times=2)
    sim.fault("status 404", path="/v1/messages/count_tokens")
    assert [ask(sim.url).status for _ in range(3)] == [529, 529, 200]
    body = b'{"model":"claude-opus-4-6","messages":[{"role":"user","content":"hi"}]}'
    assert [call(sim.url, "POST", "/v1/messages/count_tokens", body).status for _ in range(2)] == [404, 200]
    assert [entry["faults"] for entry in sim.journal()] == [["status"], ["status"], [], ["status"], []]


def test_the_control_route_puts_faults_in_line_and_says_what_is_wrong(sim: Simulator) -> None:
    put = call(sim.url, "POST", "/_sim/fault", b'{"fault": "status 500", "times": 2}', {})
    assert put.json == {"ok": True, "waiting": {"/v1/messages": 2}}
    assert ask(sim.url).status == 500
    wrong = call(sim.url, "POST", "/_sim/fault", b'{"fault": "quake"}', {})
    assert wrong.status == 400
    assert wrong.json["error"].startswith("there is no fault 'quake'")
    assert call(sim.url, "POST", "/_sim/fault", b"{", {}).status == 400
    assert call(sim.url, "POST", "/_sim/reset", b"", {}).json == {"ok": True}
    assert ask(sim.url).status == 200


def test_a_bad_fault_in_a_header_is_said_to_the_client(sim: Simulator) -> None:
    reply = ask(sim.url, headers={"x-sim-fault": "quake"})
    assert (reply.status, reply.headers["x-sim-rule"]) == (400, "sim.fault")


@pytest.mark.slow
@accepts("rule:R78")
def test_the_official_client_waits_and_tries_again(sim: Simulator) -> None:
    """R78: 529 is tried again, x-should-retry false is not."""
    client = anthropic.Anthropic(base_url=sim.url, api_key=sim.key)
    sim.fault("status 529 retry-after=0")
    client.messages.create(model="claude-opus-4-6", max_tokens=9, messages=[{"role": "user", "content": "hi"}])
    assert [entry["faults"] for entry in sim.journal()] == [["status"], []]
    sim.reset()
    sim.fault("status 529 should-retry=false")
    with pytest.raises(anthropic.OverloadedError):
        client.messages.create(model="claude-opus-4-6", max_tokens=9, messages=[{"role": "user", "content": "hi"}])
    assert len(sim.journal()) == 1
    client.close()

"""Backends that say what no stream says, too much, packed, elsewhere, or in another language."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from clew.engine import backend_call
from clew.http.client.message import ResponseLimits
from clew.settings.values import Retry
from clew.testing import Simulator
from clew.testing.plugin import StartSimulator
from tests.build import text, user
from tests.clock import Clock
from tests.engine.gate import claude, other
from tests.engine.talk import Direct
from tests.faults.conftest import Gating
from tests.faults.memory import grows_by_less_than
from tests.faults.scene import asked, endings, impatient, kept, outcomes, question, story
from tests.manifest import proves

pytestmark = pytest.mark.slow

ONCE = Retry(retries=0)
ODD_BLOCK = '{"type":"content_block_start","index":0,"content_block":{"type":"odd","x":1}}'


# U14: what no stream says.


@proves("fault:U14")
@pytest.mark.parametrize(
    "fault",
    [
        *("bad-json after=0", "bad-json after=1", "bad-json before=content_block_stop", "bad-json before=message_stop"),
        *("bad-json before=message_delta", "omit message_start", "omit content_block_start", "omit content_block_stop"),
        *("repeat message_start", "repeat content_block_start", "repeat content_block_stop", "index-gap 1 block=1"),
        *("index-gap 1 block=0", "index-gap -1 block=1", f"event content_block_start data='{ODD_BLOCK}' after=2"),
        *('event message_stop data=\'{"type":"message_stop"}\' after=3', "omit message_start,content_block_start"),
    ],
)
@pytest.mark.parametrize("backend", [claude, other])
def test_an_order_that_cannot_be_is_a_failure(clock: Clock, gating: Gating, a: Simulator, fault: str, backend: Any) -> None:
    """U14: told to the client, kept as not whole; the next question is answered."""
    gate = gating(backend(a, "claude"), **impatient(retry=ONCE))
    a.fault(fault)
    answer = gate.ask(question())
    assert story(answer) == "error"
    assert outcomes(gate) in (["cut"], ["failed"])
    clock.pass_time(0.35)  # a failure cools a backend for that long
    assert story(gate.ask(question())) == "whole"


@proves("fault:U14")
@pytest.mark.parametrize(
    "fault",
    [
        *("event odd after=0", "event odd after=1", "event odd after=4", "event odd before=message_stop"),
        *('event odd after=4 data=\'{"type":"odd","deep":[[1]]}\'', "repeat ping"),
    ],
)
def test_what_nobody_knows_is_passed_on_as_it_came(gating: Gating, simulators: StartSimulator, fault: str) -> None:
    """U14: unknown events."""
    spoilt, direct = simulators(realm="a"), simulators(realm="a")
    gate = gating(claude(spoilt), **impatient())
    for simulator in (spoilt, direct):
        simulator.fault(fault)
    answer = gate.ask(question())
    assert answer.raw == direct_answer(direct)
    assert (story(answer), outcomes(gate), asked(spoilt)) == ("whole", ["whole"], [1])


@proves("fault:U14")
def test_an_answer_without_usage_gets_one_and_is_as_it_came_otherwise(gating: Gating, simulators: StartSimulator) -> None:
    """U14: clients read it without a look whether it is there, and break."""
    spoilt, direct = simulators(realm="a"), simulators(realm="a")
    gate = gating(claude(spoilt), **impatient())
    for simulator in (spoilt, direct):
        simulator.fault("no-usage")
    answer, came = gate.ask(question()), Direct(direct).ask(question())
    events = answer.events
    usages = [(event.get("message") or event).pop("usage") for event in events if "usage" in str(event)]
    assert usages[0] == {"input_tokens": 0, "output_tokens": 0}
    assert (usages[1].pop("output_tokens") > 0, usages[1]) == (True, {"output_tokens_estimated": True})
    assert events == came.events
    assert (story(answer), outcomes(gate), asked(spoilt)) == ("whole", ["whole"], [1])


def direct_answer(simulator: Simulator) -> bytes:
    return Direct(simulator).ask(question()).raw


@proves("fault:U14")
@pytest.mark.parametrize("backend", [claude, other])
def test_a_block_of_a_kind_that_nobody_knows_is_passed_on(gating: Gating, simulators: StartSimulator, backend: Any) -> None:
    """U14."""
    gate = gating(backend(simulators(scenario="unknown-block"), "claude"), **impatient())
    answer = gate.ask(question())
    kinds = [event["content_block"]["type"] for event in answer.events if event["type"] == "content_block_start"]
    assert (story(answer), outcomes(gate)) == ("whole", ["whole"])
    assert set(kinds) - {"text", "thinking", "tool_use"} != set()


UNREADABLE = [
    {"type": "thinking", "thinking": "Hm.", "signature": 5},
    {"type": "tool_use", "id": 5, "name": "look", "input": {}},
    {"type": 5},
]


@proves("fault:U14")
@pytest.mark.parametrize("block", UNREADABLE, ids=["signature", "id", "type"])
@pytest.mark.parametrize("again", [False, True], ids=["first", "again"])
def test_a_block_that_nobody_can_read_is_kept_and_passed_on_as_it_came(
    gating: Gating, a: Simulator, block: dict[str, Any], again: bool
) -> None:
    """U14: a vendor's nonsense is the vendor's; it is no fault of the gateway, and nothing else of the answer is lost."""
    gate = gating(claude(a), **impatient(retry=ONCE))
    said = [block, {"type": "text", "text": "Because."}]
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": said}
    if again:
        gate.ask(question(stream=False))
    a.fault(f"status 200 body='{json.dumps(message | {'stop_reason': 'end_turn', 'usage': {}})}'")
    answer = gate.ask(question(stream=False))
    assert (answer.status, answer.json["content"]) == (200, said)
    last = max(kept(gate, 1 + again), key=lambda exchange: exchange.started)
    recording = gate.store and gate.store.recordings(last.principal).by_id(last.id)
    assert last.outcome == "whole"
    assert recording is not None
    assert [json.loads(raw) for raw in recording.blocks] == said


@proves("fault:U14")
@pytest.mark.parametrize("fault", ["bad-json before=content_block_delta", "bad-utf8 before=content_block_delta"])
def test_a_delta_that_cannot_be_read_never_becomes_a_whole_answer(gating: Gating, a: Simulator, fault: str) -> None:
    """U14: all came in one read, so nothing went out before the delta was met: the client is told an error, and the turn is cut."""
    gate = gating(claude(a), **impatient(retry=ONCE))
    a.fault(fault)
    answer = gate.ask(question())
    assert (answer.status, story(answer)) == (502, "error")
    assert b"the data of content_block_delta cannot be read" in answer.raw
    assert outcomes(gate) == ["cut"]


# U15: too much.


@proves("fault:U15")
@pytest.mark.parametrize("shape", ["event", "line"])
@pytest.mark.parametrize("place", ["content=2", "after=0"])
@pytest.mark.parametrize("size", [50_000_000, 0])
def test_an_event_or_a_line_without_end_is_cut_off(gating: Gating, a: Simulator, shape: str, place: str, size: int) -> None:
    """U15: at the bound, and memory stays where it was; the backend is hung up on."""
    gate = gating(claude(a), **impatient(retry=ONCE))
    a.fault(f"flood {size} shape={shape} {place}")
    with grows_by_less_than(40):
        answer = gate.ask(question())
    assert story(answer) == "error"
    assert "over the bound of 4194304" in answer.raw.decode()
    assert endings(a) == ["client left"]


@proves("fault:U15")
@pytest.mark.parametrize("place", ["content=2", "after=1"])
def test_events_without_end_are_cut_off(gating: Gating, a: Simulator, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """U15: an answer has a bound as a whole too, and what came of it is put together without holding up anybody."""
    assert ResponseLimits(body_bytes=64 * 1024 * 1024) == backend_call.LIMITS
    monkeypatch.setattr(backend_call, "LIMITS", ResponseLimits(body_bytes=4 * 1024 * 1024))
    gate = gating(claude(a), **impatient(retry=ONCE))
    a.fault(f"flood 0 shape=events {place}")
    with grows_by_less_than(60):
        answer = gate.ask(question())
    assert (endings(a), outcomes(gate)) == (["client left"], ["cut" if "content" in place else "failed"])
    assert answer.raw.endswith(b'a body of more than 4194304 bytes"}}\n\n') or answer.status == 502


@proves("fault:U15")
def test_a_whole_answer_that_is_too_long_is_refused(gating: Gating, a: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """U15, not streamed."""
    monkeypatch.setattr(backend_call, "LIMITS", ResponseLimits(body_bytes=100))
    gate = gating(claude(a), **impatient(retry=ONCE))
    answer = gate.ask(question(stream=False))
    assert (answer.status, "more than 100 bytes" in answer.json["error"]["message"]) == (502, True)


# U16: packed.


@proves("fault:U16")
@pytest.mark.parametrize("coding", ["gzip", "zstd", "members"])
@pytest.mark.parametrize("stream", [True, False])
def test_what_comes_packed_is_not_unpacked(gating: Gating, a: Simulator, coding: str, stream: bool) -> None:
    """U16: nobody asked for it. A gigabyte of nothing takes neither memory nor time."""
    gate = gating(claude(a), **impatient(retry=ONCE))
    a.fault(f"bomb {100_000 if coding == 'members' else 1 << 30} coding={coding}")
    with grows_by_less_than(60):
        answer = gate.ask(question(stream=stream))
    assert answer.status == 502
    assert "which was not requested" in answer.json["error"]["message"]
    assert ("accept-encoding", "identity") in map(tuple, a.journal()[0]["headers"])


# U17, X8: elsewhere.


class Lure:
    """A listener that nobody should ever call."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.calls = 0
        threading.Thread(target=self._count, daemon=True).start()

    def _count(self) -> None:
        while True:
            try:
                self._listener.accept()[0].close()
            except OSError:
                return
            self.calls += 1

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def lure() -> Iterator[Lure]:
    lure = Lure()
    yield lure
    lure.close()


@proves("fault:U17", "fault:X8")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("stream", [True, False])
def test_a_redirect_is_not_followed(gating: Gating, a: Simulator, lure: Lure, status: int, stream: bool) -> None:
    """U17: 502, which does not repeat where it should have led; nobody was called."""
    gate = gating(claude(a), **impatient())
    a.fault(f"status {status} location={lure.url}/latest/meta-data/ body=")
    answer = gate.ask(question(stream=stream))
    assert (answer.status, answer.json["error"]) == (
        502,
        {"type": "api_error", "message": f"claude answered with a redirect ({status}), which clew does not follow"},
    )
    assert (lure.calls, asked(a), "location" in answer.headers) == (0, [1], False)


@proves("fault:X8")
def test_no_url_in_a_request_is_ever_fetched(gating: Gating, a: Simulator, lure: Lure) -> None:
    """X8: images, documents and servers by URL are the backend's to judge; no header leads elsewhere."""
    gate = gating(claude(a), **impatient())
    image = {"type": "image", "source": {"type": "url", "url": f"{lure.url}/cat.png"}}
    document = {"type": "document", "source": {"type": "url", "url": f"{lure.url}/a.pdf"}}
    body = question(messages=[user(image, document, text("What is it?"))], base_url=lure.url, api_base=lure.url)
    body["mcp_servers"] = [{"type": "url", "url": lure.url, "name": "x"}]
    names = ("x-forwarded-host", "forwarded", "x-original-url", "x-base-url", "x-portkey-custom-host", "x-clew-backend")
    answer = gate.ask(body, headers=dict.fromkeys(names, lure.url))
    assert answer.headers["x-clew-backend"] == "claude"
    sent = a.journal()[0]
    assert sent["body"]["messages"] == body["messages"]
    assert not [value for _, value in sent["headers"] if lure.url in value]
    assert lure.calls == 0


# U18: in another language.

PAGE = "<html><h1>Bad gateway</h1> sk-ant-api03-abcdefghijk and Bearer abc.def</html>"


@proves("fault:U18")
@pytest.mark.parametrize(
    ("fault", "status", "says"),
    [
        ("content-type text/html", 502, "text/html instead of"),
        ("status 200 body=", 502, ""),
        ("status 200 body='[]'", 502, ""),
        ("status 200 body='{'", 502, ""),
        ("status 200 content-type=text/plain body=ok", 502, "text/plain instead of"),
        ('status 200 body=\'{"code":500,"msg":"404 NOT_FOUND","success":false}\'', 502, "404 NOT_FOUND"),
        (f"status 200 content-type=text/html body='{PAGE}'", 502, "<h1>Bad gateway</h1> <secret>"),
        (f"status 502 content-type=text/html body='{PAGE}'", 502, "<h1>Bad gateway</h1> <secret>"),
        (f"status 403 content-type=text/html body='{PAGE}'", 502, "refused every key"),
        (f"status 404 content-type=text/html body='{PAGE}'", 404, "<h1>Bad gateway</h1> <secret>"),
        ("status 500 body=", 500, ""),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_of_the_wrong_kind_is_told_in_the_clients_dialect(
    gating: Gating, a: Simulator, fault: str, status: int, says: str, stream: bool
) -> None:
    """U18: its beginning, without what looks like a key; never passed off as an answer."""
    gate = gating(claude(a), **impatient(retry=ONCE))
    a.fault(fault)
    answer = gate.ask(question(stream=stream))
    assert (answer.status, answer.json["type"], answer.headers["content-type"]) == (status, "error", "application/json")
    assert set(answer.json["error"]) == {"type", "message"}
    assert says in answer.json["error"]["message"]
    assert b"abcdefghijk" not in answer.raw
    assert b"abc.def" not in answer.raw
    assert len(answer.raw) < 600
    assert outcomes(gate) in (["failed"], ["refused"])


@proves("fault:U18")
@pytest.mark.parametrize("body", ["", "[]", "{", '{"success":false}'])
def test_a_count_of_the_wrong_kind_is_told_too(gating: Gating, a: Simulator, body: str) -> None:
    """U18, on the other route."""
    gate = gating(claude(a), **impatient(retry=ONCE))
    a.fault(f"status 200 body='{body}'", path="/v1/messages/count_tokens")
    asking = {name: value for name, value in question().items() if name not in ("stream", "max_tokens")}
    answer = gate.ask(asking, path="/v1/messages/count_tokens")
    assert (answer.status, answer.json["error"]["type"]) == (502, "api_error")


# U19: connections that are gone.


@proves("fault:U19")
@pytest.mark.parametrize("pause", [0.0, 0.05, 0.6])
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.real_time
def test_a_kept_connection_that_the_backend_closed_costs_nobody_anything(
    gating: Gating, a: Simulator, pause: float, stream: bool
) -> None:
    """U19: before the next request, or under it: that goes out once more, and is one attempt."""
    gate = gating(claude(a), **impatient(retry=ONCE))
    a.fault("hang-up 0.3", times=2)
    for n in range(3):
        answer = gate.ask(question(f"{n}", stream=stream))
        assert (answer.status, story(answer)) == (200, "whole")
        time.sleep(pause)
    assert [(each.outcome, each.attempts) for each in kept(gate, 3)] == [("whole", 1)] * 3
    whole = [entry["body"]["messages"][0]["content"] for entry in a.journal() if entry["ended"] == "whole"]
    assert sorted(whole) == ["0", "1", "2"]


@proves("fault:U19")
def test_a_fresh_connection_without_an_answer_is_a_failure_like_any_other(gating: Gating, a: Simulator) -> None:
    """U19: only a kept one can have been stale; whatever else breaks is for the policy, which asks as often as it says."""
    gate = gating(claude(a), **impatient(retry=ONCE))
    a.fault("no-answer fin", times=None)
    answer = gate.ask(question())
    assert (answer.status, json.loads(answer.raw)["error"]["type"]) == (502, "api_error")
    assert asked(a) == [1]

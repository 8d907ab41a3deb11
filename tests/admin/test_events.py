"""Live events: of this process at once, of others through the store, each once, and none lost by coming back."""

import http.client
import json
from typing import Any

import pytest
from msgspec import structs
from starlette.requests import Request

from clew.admin import exchanges
from clew.admin.access import Caller
from clew.store.sqlite.store import SqliteStore
from tests.admin.booth import Booth
from tests.store.turns import NOON, conversation, recorded, turn
from tests.waiting import until

pytestmark = pytest.mark.slow


def next_event(stream: http.client.HTTPResponse) -> tuple[str, str, Any]:
    """Kind, id and value of the next event; comments are passed over."""
    fields: dict[str, str] = {}
    while True:
        line = stream.readline().decode()
        assert line, "the stream ended"
        if line == "\n" and "data" in fields:
            return fields["event"], fields.get("id", ""), json.loads(fields["data"])
        name, _, value = line.rstrip("\n").partition(": ")
        if name:
            fields[name] = value


def listening(stream: http.client.HTTPResponse) -> None:
    """Its first line says so."""
    assert stream.headers["content-type"].startswith("text/event-stream")
    assert stream.readline() == b": still here\n"
    assert stream.readline() == b"\n"


def test_what_this_process_does_is_told_at_once(booth: Booth) -> None:
    """Design §6: /api/events."""
    exchange = turn(recorded("r")).exchange
    with booth.opened("/api/events") as stream:
        listening(stream)
        booth.publish("exchange", exchange)
        booth.publish("note", {"text": "two\nlines"})
        kind, id, value = next_event(stream)
        assert (kind, id, value["id"], value["kept"]) == ("exchange", "x-r", "x-r", 0)
        assert next_event(stream) == ("note", "", {"text": "two\nlines"})


def test_what_another_process_records_is_told_soon_and_only_once(booth: Booth) -> None:
    """Design §6: admin lives in the parent of the workers, which have hubs of their own."""
    first, second = (turn(answer, at=NOON + number) for number, answer in enumerate(conversation(2)))
    with SqliteStore(booth.home.root / "clew.db") as other, booth.opened("/api/events") as stream:
        listening(stream)
        other.record(first).result()
        assert next_event(stream)[1] == "x-r0"
        booth.publish("exchange", first.exchange)
        other.record(second).result()
        assert next_event(stream)[1] == "x-r1"


def test_an_answer_that_takes_its_time_is_told_while_it_does_and_when_it_is_over(booth: Booth) -> None:
    """It changes its place in the store with its end, so what came between is not lost; it is counted once."""
    first, second = (turn(answer, at=NOON + number) for number, answer in enumerate(conversation(2)))
    under_way = structs.replace(first, recording=None, exchange=structs.replace(first.exchange, outcome="open"))
    with SqliteStore(booth.home.root / "clew.db") as other, booth.opened("/api/events") as stream:
        listening(stream)
        for recorded_now, id, outcome in ((under_way, "", "open"), (second, "x-r1", "whole"), (first, "x-r0", "whole")):
            other.record(recorded_now).result()
            _, told, value = next_event(stream)
            assert (told, value["outcome"]) == (id, outcome)
        assert 'outcome="whole",status="2xx"} 2.0' in booth.ask("/metrics").raw.decode()


def test_anyone_who_comes_back_gets_what_it_missed_first(booth: Booth) -> None:
    assert booth.store is not None
    answers = conversation(3)
    for number, answer in enumerate(answers):
        booth.store.record(turn(answer, at=NOON + number)).result()
    with booth.opened("/api/events", headers={"last-event-id": "x-r0"}) as stream:
        listening(stream)
        assert [next_event(stream)[1] for _ in range(2)] == ["x-r1", "x-r2"]


def test_what_happens_while_it_looks_back_is_told_once(booth: Booth) -> None:
    """It listens first and looks back then, so an exchange can be in both."""
    turns = [turn(answer, at=NOON + number) for number, answer in enumerate(conversation(3))]
    assert booth.store is not None
    for each in turns:
        booth.store.record(each).result()
    desk = booth.services
    state = {"caller": Caller("socket")}
    scope = {"type": "http", "headers": [(b"last-event-id", b"x-r0")], "query_string": b"", "state": state}

    async def scene() -> list[bytes]:
        stream = (await exchanges.events(desk, Request(scope))).body_iterator
        said = [await anext(stream)]
        desk.feed.hub.publish("exchange", turns[1].exchange)
        desk.feed.hub.publish("note", {})
        said += [await anext(stream) for _ in range(3)]
        await stream.aclose()
        return [line.partition(b"data:")[0] for line in said]

    assert booth.call(scene()) == [
        b": still here\n\n",
        b"event: exchange\nid: x-r1\n",
        b"event: exchange\nid: x-r2\n",
        b"event: note\n",
    ]


def test_a_switch_is_told(booth: Booth) -> None:
    with booth.opened("/api/events") as stream:
        listening(stream)
        booth.ask("/api/use", method="POST", body={"backend": "glm"})
        assert next_event(stream) == ("switch", "", {"old_backend": "claude", "new_backend": "glm"})


def test_a_quiet_stream_says_that_it_is_still_there(booth: Booth, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchanges, "PING_SECONDS", 0.02)
    with booth.opened("/api/events") as stream:
        listening(stream)
        assert [stream.readline() for _ in range(2)] == [b": still here\n", b"\n"]


def test_a_listener_that_left_is_forgotten(booth: Booth) -> None:
    hub = booth.services.feed.hub
    with booth.opened("/api/events") as stream:
        listening(stream)
        assert hub.listeners == 1
    until(lambda: hub.listeners == 0)


def test_a_browser_that_logged_out_hears_no_more(booth: Booth) -> None:
    """Not even through a connection that it had before."""
    browser = booth.logged_in()
    with booth.opened("/api/events", headers=browser, port=True) as stream:
        listening(stream)
        booth.publish("note", {"text": "before"})
        assert next_event(stream)[0] == "note"
        assert booth.ask("/api/session", method="DELETE", headers=browser, port=True).status == 200
        booth.publish("note", {"text": "after"})
        assert stream.read() == b""
    assert booth.ask("/api/events", headers=browser, port=True).status == 401

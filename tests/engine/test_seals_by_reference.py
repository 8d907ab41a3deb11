"""A seal that only refers to what the store has goes out when the store has it, and not before (design 4, law 8)."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from math import inf

import pytest

from clew.backends.row import Backend
from clew.settings.values import ThinkingSettings
from tests.database import connected
from tests.engine.chatting import DONE, chat_row, chunk, telling
from tests.engine.conftest import Gating
from tests.engine.gate import Gate
from tests.engine.kept import exchange_of
from tests.faults.scene import Client, question, story
from tests.waiting import until

pytestmark = pytest.mark.slow

BY_REFERENCE = ThinkingSettings(seal="reference")
SILENCE = inf
CHAT = (chunk(reasoning_content="Hm."), chunk(content="Yes."))
CHAT_LATER = (chunk(content="Let me see."), 0.05, chunk(reasoning_content="Hm."), chunk(content="Yes."))
CHAT_END = (chunk("stop"), DONE)


def event(kind: str, **fields: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


START = event("message_start", message={"id": "m", "type": "message", "role": "assistant", "content": [], "model": "g"})
END = event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 1}) + event("message_stop")


def said(index: int, kind: str, **deltas: str) -> bytes:
    block = {"type": kind, kind: ""}
    grown = [
        event("content_block_delta", index=index, delta={"type": f"{name}_delta", name: value})
        for name, value in deltas.items()
    ]
    start = event("content_block_start", index=index, content_block=block)
    return b"".join([start, *grown, event("content_block_stop", index=index)])


THOUGHT = {"thinking": "Hm.", "signature": "c2lnbmVk"}
OWN = (START + said(0, "thinking", **THOUGHT) + said(1, "text", text="Yes."),)
OWN_LATER = (
    START + said(0, "text", text="Let me see."),
    0.05,
    said(1, "thinking", **THOUGHT) + said(2, "text", text="Yes."),
)


def own_row(name: str, url: str) -> Backend:
    return Backend(name=name, url=url, dialect="anthropic", realm=name, auth="none")


ROWS = {
    "chat": (chat_row, CHAT, CHAT_END),
    "chat, later": (chat_row, CHAT_LATER, CHAT_END),
    "own": (own_row, OWN, (END,)),
    "own, later": (own_row, OWN_LATER, (END,)),
}


def thoughts_on_disk(gate: Gate) -> int:
    """How many thinking blocks somebody else finds in the file, now."""
    with closing(connected(gate.home / "clew.db")) as file:
        return sum(len(keys) // 32 for (keys,) in file.execute("SELECT keys FROM recordings"))


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.real_time
def test_what_a_seal_refers_to_is_on_disk_before_the_client_has_the_seal(gating: Gating, name: str) -> None:
    """A `kill -9` at this moment leaves no client with a seal that nobody can open."""
    row, parts, end = ROWS[name]
    with telling(*parts, SILENCE, *end) as backend:
        gate = gating(row("glm", backend.url), thinking=BY_REFERENCE)
        client = Client(gate).asks(question())
        client.read_until(b"signature_delta")
        assert thoughts_on_disk(gate) == 1
        client.leaves()


@pytest.mark.real_time
def test_what_was_kept_for_a_seal_is_not_replaced_by_what_lingered_from_before_it(gating: Gating) -> None:
    """A stream is kept as open now and then, and nobody waits for that: it must not take back what a client relies on."""
    with telling(chunk(content="Let me see."), 0.35, *CHAT, SILENCE, *CHAT_END) as backend:
        gate = gating(chat_row("glm", backend.url), thinking=BY_REFERENCE)
        client = Client(gate).asks(question())
        client.read_until(b"signature_delta")
        ends = time.monotonic() + 0.5  # what lingers at that time does so for half of it
        while time.monotonic() < ends:
            assert thoughts_on_disk(gate) == 1
            time.sleep(0.01)
        client.leaves()


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("pause", [0.0, 0.1])
@pytest.mark.real_time
def test_a_stream_with_such_a_seal_is_whole_and_in_order(gating: Gating, name: str, pause: float) -> None:
    """The same events as with seals that carry all, wherever its end comes."""
    row, parts, end = ROWS[name]
    with telling(*parts, pause, *end) as backend:
        gates = [gating(row("glm", backend.url), home=seal, thinking=ThinkingSettings(seal=seal)) for seal in SEALS]
        answers = [gate.ask(question()) for gate in gates]
    assert [story(answer) for answer in answers] == ["whole", "whole"]
    inline, referred = ([(each["type"], each.get("delta", {}).get("type")) for each in one.events] for one in answers)
    assert inline == referred
    assert [exchange_of(*each).outcome for each in zip(gates, answers, strict=True)] == ["whole", "whole"]


SEALS = ("inline", "reference")


@contextmanager
def locked(gate: Gate) -> Iterator[None]:
    with closing(connected(gate.home / "clew.db")) as file:
        file.set_busy_timeout(10_000)
        file.execute("BEGIN IMMEDIATE")
        yield


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.real_time
def test_a_seal_waits_for_a_store_that_is_busy(gating: Gating, name: str) -> None:
    """And all that comes after it, in its order; what comes before it does not."""
    row, parts, end = ROWS[name]
    with telling(*parts, *end) as backend:
        gate = gating(row("glm", backend.url), thinking=BY_REFERENCE)
        with locked(gate):
            client = Client(gate).asks(question())
            until(lambda: b"text/event-stream" in peeked(client))
            until(lambda: b"Let me see." in peeked(client) or "later" not in name)
            time.sleep(0.2)  # what must not come has time to
            before = peeked(client)
        whole = client.read_until(b"message_stop")
        client.leaves()
    assert (b"Let me see." in before, b"signature_delta" in before, b"Yes." in before) == ("later" in name, False, False)
    assert whole.index(b"Hm.") < whole.index(b"signature_delta") < whole.index(b"Yes.")


@pytest.mark.real_time
def test_what_was_redacted_is_on_disk_before_the_client_has_its_seal(gating: Gating) -> None:
    """It stands in the start of its block, and the store keeps a block that has come to its stop."""
    redacted = {"type": "redacted_thinking", "data": "c2VjcmV0"}
    start = event("content_block_start", index=0, content_block=redacted)
    rest = event("content_block_stop", index=0) + said(1, "text", text="Yes.")
    with telling(START, start, 0.3, rest, SILENCE, END) as backend:
        gate = gating(own_row("glm", backend.url), thinking=BY_REFERENCE)
        client = Client(gate).asks(question())
        client.read_until(b"redacted_thinking")
        assert thoughts_on_disk(gate) == 1
        client.leaves()


@pytest.mark.real_time
def test_events_that_come_alone_do_not_overtake_a_seal_that_waits(gating: Gating) -> None:
    """The first read holds the seal, so all of it waits; what comes in reads of its own waits behind it."""
    opening = START + said(0, "thinking", **THOUGHT) + event("content_block_start", index=1, content_block=TEXT)
    words = [closely("content_block_delta", index=1, delta={"type": "text_delta", "text": word}) for word in "abc"]
    with telling(opening, 0.02, words[0], 0.02, words[1], 0.02, words[2], event("content_block_stop", index=1) + END) as own:
        gate = gating(own_row("glm", own.url), thinking=BY_REFERENCE)
        with locked(gate):
            client = Client(gate).asks(question())
            until(lambda: b"text/event-stream" in peeked(client))
            time.sleep(0.15)
        whole = client.read_until(b"message_stop")
        client.leaves()
    marks = (b"message_start", b"signature_delta", b'"a"', b'"b"', b'"c"', b"message_stop")
    assert [whole.count(mark) for mark in marks[1:5]] == [1, 1, 1, 1]
    assert sorted(marks, key=whole.index) == [*marks]


TEXT = {"type": "text", "text": ""}


def closely(kind: str, **fields: object) -> bytes:
    """As the vendor writes it: without white space."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields}, separators=(',', ':'))}\n\n".encode()


def peeked(client: Client) -> bytes:
    """What has come, which stays where it is."""
    try:
        return client.socket.recv(65536, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return b""

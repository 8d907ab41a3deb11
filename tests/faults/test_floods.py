"""Backends that send far more than an answer has: the client is told which bound was passed, and others are answered."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any, NamedTuple

import pytest

from clew.errors import AnswerTooLarge
from clew.model.bounds import (
    MOST_BLOCKS,
    MOST_BYTES_BEFORE,
    MOST_BYTES_HELD,
    MOST_EVENTS_BEFORE,
    MOST_EVENTS_HELD,
    MOST_UPDATES,
)
from clew.settings.values import Retry
from tests.engine.gate import claude
from tests.faults.conftest import Gating
from tests.faults.scene import impatient, kept, question, story
from tests.growth.streams import CHAT, END, MESSAGES, START, block
from tests.growth.test_streams import CHAT_READERS

pytestmark = pytest.mark.slow

ONCE = Retry(retries=0)

Flood = Callable[[bytes], Any]


class Flooding(NamedTuple):
    """A backend that gives one answer, whatever it is asked."""

    url: str
    key: str = "key"


@pytest.fixture
def flooding() -> Iterator[Flood]:
    """Starts such backends; they end with the test."""
    with ExitStack() as stack:

        def start(body: bytes) -> Any:
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            threading.Thread(target=_answer, args=(listener, body), daemon=True).start()
            return Flooding(f"http://127.0.0.1:{listener.getsockname()[1]}")

        yield start


def _answer(listener: socket.socket, body: bytes) -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n" % len(body)
    with suppress(OSError):
        while True:
            connection, _ = listener.accept()
            with connection, suppress(OSError):
                connection.recv(65536)
                connection.sendall(head + body)
                while connection.recv(65536):
                    pass


@pytest.mark.parametrize("filler", ["empty events", "comments", "pings", "events of a new type"])
def test_a_flood_before_the_first_content_is_a_502_that_names_the_bound(
    gating: Gating, flooding: Flood, filler: str
) -> None:
    gate = gating(
        claude(flooding(b"".join(MESSAGES[f"{filler} before the first content"](MOST_EVENTS_BEFORE + 1)))),
        **impatient(retry=ONCE),
    )
    answer = gate.ask(question())
    assert (answer.status, answer.json["error"]["type"]) == (502, "api_error")
    assert f"more than {MOST_EVENTS_BEFORE} events came before the first content" in answer.json["error"]["message"]
    [exchange] = kept(gate)
    assert (exchange.outcome, exchange.status) == ("failed", 502)


@pytest.mark.parametrize("told", ['{"type":"message_delta","delta":{},"usage":{"output_tokens":1}}', '{"type":"new"}'])
def test_a_flood_of_what_an_answer_says_about_itself_ends_in_an_error(gating: Gating, flooding: Flood, told: str) -> None:
    kind = json.loads(told)["type"]
    flood = f"event: {kind}\ndata: {told}\n\n".encode() * (MOST_UPDATES + 1)
    gate = gating(claude(flooding(START + b"".join(block(0)) + flood + b"".join(END))), **impatient(retry=ONCE))
    answer = gate.ask(question())
    assert b"message_stop" not in answer.raw
    assert f"more than {MOST_UPDATES} events about itself" in answer.raw.decode()
    [exchange] = kept(gate)
    assert exchange.outcome == "cut"


def test_pings_between_words_are_not_kept(gating: Gating, flooding: Flood) -> None:
    """A ping says nothing, so there may be any number of them."""
    pings = b'event: ping\ndata: {"type":"ping"}\n\n' * (MOST_UPDATES + 1)
    gate = gating(claude(flooding(START + b"".join(block(0)) + pings + b"".join(END))), **impatient(retry=ONCE))
    answer = gate.ask(question())
    assert b"message_stop" in answer.raw


def test_bytes_before_the_first_content_have_a_bound_too(gating: Gating, flooding: Flood) -> None:
    comment = ": " + "x" * 100_000 + "\n\n"
    gate = gating(
        claude(
            flooding((START.decode() + comment * (MOST_BYTES_BEFORE // 100_000 + 1)).encode() + b"".join([*block(0), *END]))
        ),
        **impatient(retry=ONCE),
    )
    answer = gate.ask(question())
    assert answer.status == 502
    assert f"more than {MOST_BYTES_BEFORE} bytes came before the first content" in answer.json["error"]["message"]


@pytest.mark.parametrize(
    ("filler", "count", "bound"),
    [
        (b"\n", MOST_EVENTS_HELD + 1, f"{MOST_EVENTS_HELD} events"),
        (b": x\n\n", MOST_EVENTS_HELD + 1, f"{MOST_EVENTS_HELD} events"),
        (END[0], MOST_EVENTS_HELD + 1, f"{MOST_EVENTS_HELD} events"),
        (b": " + b"x" * 100_000 + b"\n\n", MOST_BYTES_HELD // 100_000 + 1, f"{MOST_BYTES_HELD} bytes"),
    ],
    ids=["empty events", "comments", "stop reasons", "long comments"],
)
def test_a_flood_after_the_stop_reason_ends_in_an_error_that_names_the_bound(
    gating: Gating, flooding: Flood, filler: bytes, count: int, bound: str
) -> None:
    gate = gating(claude(flooding(b"".join([START, *block(0), END[0], filler * count, *END[1:]]))), **impatient(retry=ONCE))
    answer = gate.ask(question())
    assert story(answer) == "error"
    told = answer.events[-1] if answer.status == 200 else answer.json  # a 502 where one read had all of it
    assert f"more than {bound} came after the stop reason" in told["error"]["message"]
    [exchange] = kept(gate)
    assert exchange.outcome == "cut"


def test_a_flood_after_the_end_costs_the_answer_nothing(gating: Gating, flooding: Flood) -> None:
    gate = gating(
        claude(flooding(b"".join([START, *block(0), *END, b"\n" * (2 * MOST_EVENTS_HELD)]))), **impatient(retry=ONCE)
    )
    assert story(gate.ask(question())) == "whole"


def test_a_flood_of_blocks_ends_in_an_error_that_names_the_bound(gating: Gating, flooding: Flood) -> None:
    gate = gating(claude(flooding(b"".join(MESSAGES["blocks: text"](MOST_BLOCKS + 1)))), **impatient(retry=ONCE))
    answer = gate.ask(question())
    assert (answer.status, story(answer)) == (200, "error")
    assert f"more than {MOST_BLOCKS} blocks" in answer.events[-1]["error"]["message"]
    [exchange] = kept(gate)
    assert exchange.outcome == "cut"


def test_as_many_blocks_as_the_bound_are_an_answer(gating: Gating, flooding: Flood) -> None:
    gate = gating(claude(flooding(b"".join(MESSAGES["blocks: text"](MOST_BLOCKS)))), **impatient(retry=ONCE))
    assert story(gate.ask(question())) == "whole"


@pytest.mark.parametrize("flooded", ["calls", "calls in one delta", "calls that wait for their arguments"])
@pytest.mark.parametrize("reader", ["writer", "translation"])
def test_calls_of_another_dialect_have_the_same_bound(flooded: str, reader: str) -> None:
    with pytest.raises(AnswerTooLarge, match=f"more than {MOST_BLOCKS} blocks"):
        CHAT_READERS[reader](CHAT[flooded](MOST_BLOCKS + 1))

"""What every fault is shown with: a question, an impatient gateway, and the three accounts of what happened.

The simulator's journal is the oracle. What a client was told, what the backend did and what the store keeps must be one
story: nobody may hold an answer for whole that another one knows to be cut.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from threading import Thread
from typing import Any

from clew.model.http import Timeouts
from clew.model.turn import Exchange
from clew.settings.values import GatewaySettings, Retry
from clew.testing import Simulator
from tests.build import Json, user
from tests.engine.gate import KEY, Answer, Gate
from tests.http.conftest import Peer
from tests.waiting import until

__all__ = [
    "MODEL",
    "SOON",
    "Client",
    "asked",
    "asking",
    "endings",
    "impatient",
    "is_asked",
    "kept",
    "outcomes",
    "question",
    "story",
]

MODEL = "claude-opus-5-5"
SOON = 1.0
"""Within what a backend must see that its client is gone."""
PATIENCE = 120.0
"""Seconds for what must become so. It only detects hangs."""

QUICK = Retry(retries=2, first_wait=0.01, most_wait=0.05, budget=20.0, cool_seconds=0.3)


def impatient(*, ping: float = 15.0, first_content: float = 300.0, retry: Retry = QUICK, **timeouts: float) -> Json:
    """Settings for a `Gate` that does not wait for long."""
    return {
        "retry": retry,
        "timeouts": Timeouts(**timeouts),
        "first_content_seconds": first_content,
        "gateway": GatewaySettings(ping_seconds=ping),
    }


def question(words: str = "Why?", **fields: Any) -> Json:
    return {"model": MODEL, "max_tokens": 2000, "stream": True, "messages": [user(words)], **fields}


# The three accounts.


def story(answer: Answer) -> str:
    """What a client makes of an answer: "whole", "error", or "broken" where it was told neither."""
    if answer.status != 200:
        assert answer.json["type"] == "error"
        return "error"
    if answer.headers["content-type"].startswith("application/json"):
        return "whole"
    kinds = answer.kinds
    assert kinds.count("message_stop") + kinds.count("error") <= 1, kinds
    return {"message_stop": "whole", "error": "error"}.get(kinds[-1] if kinds else "", "broken")


def endings(simulator: Simulator) -> list[str]:
    """How each answer of a backend ended, once all have."""
    until(lambda: all(entry["ended"] != "no" for entry in simulator.journal()))
    return [entry["ended"] for entry in simulator.journal()]


def asked(*simulators: Simulator) -> list[int]:
    """How often each of them was asked."""
    return [len(simulator.journal()) for simulator in simulators]


def is_asked(simulator: Simulator, times: int = 1) -> Callable[[], bool]:
    """Whether it was, for `until`."""
    return lambda: asked(simulator) == [times]


def asking(gate: Gate, body: Json, *, path: str = "/v1/messages") -> Future[Answer]:
    """Ask in a thread, so that the test can move its clock meanwhile."""
    answer: Future[Answer] = Future()

    def ask() -> None:
        try:
            answer.set_result(gate.ask(body, path=path))
        except BaseException as error:
            answer.set_exception(error)

    Thread(target=ask, name="client", daemon=True).start()
    return answer


def kept(gate: Gate, count: int = 1) -> Sequence[Exchange]:
    """The exchanges in the store, oldest first, once there are so many, and all are over."""
    store = gate.store
    assert store is not None
    until(lambda: len(over := store.exchanges("local", limit=10_000)) >= count and all(map(_is_over, over)))
    found = store.exchanges("local", limit=10_000)
    assert len(found) == count, found
    return found[::-1]


def _is_over(exchange: Exchange) -> bool:
    return exchange.outcome != "open"


def outcomes(gate: Gate, count: int = 1) -> list[str]:
    return [exchange.outcome for exchange in kept(gate, count)]


class Client(Peer):
    """A raw socket with a question in it. `small` leaves it next to no room for an answer that it does not read."""

    def __init__(self, gate: Gate, *, small: bool = False) -> None:
        self.socket = socket.socket()
        if small:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.settimeout(PATIENCE)
        self.port = int(gate.url.rpartition(":")[2])
        self.socket.connect(("127.0.0.1", self.port))

    def asks(self, body: Any = None, *, path: str = "/v1/messages", key: str = KEY, more: bytes = b"") -> Client:
        raw = body if isinstance(body, bytes) else json.dumps(body or question()).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\ncontent-type: application/json\r\n"
            f"anthropic-version: 2023-06-01\r\nx-api-key: {key}\r\ncontent-length: {len(raw)}\r\n"
        )
        self.send(head.encode() + more + b"\r\n" + raw)
        return self

    def answer(self) -> Answer:
        return Answer(*self.response())

    def leaves(self, *, reset: bool = False) -> float:
        """Closes, with a FIN or a reset. When that was."""
        if reset:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()
        return time.time()

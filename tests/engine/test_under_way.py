"""A stream under way is in the store as open, and becomes whole there; when its gateway dies, it was cut."""

import json
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from clew.model.turn import Exchange
from clew.testing import Simulator
from tests.build import user
from tests.engine.gate import KEY, Gate, claude
from tests.manifest import proves
from tests.waiting import until as waited_for

BODY = {"model": "claude-opus-5-5", "max_tokens": 2000, "stream": True, "messages": [user("hi")]}

pytestmark = pytest.mark.slow


def asked(gate: Gate) -> socket.socket:
    host, port = gate.url.removeprefix("http://").split(":")
    raw = json.dumps(BODY).encode()
    plug = socket.create_connection((host, int(port)), timeout=120)
    head = f"POST /v1/messages HTTP/1.1\r\nhost: {host}:{port}\r\nx-api-key: {KEY}\r\ncontent-type: application/json\r\n"
    plug.sendall(f"{head}anthropic-version: 2023-06-01\r\ncontent-length: {len(raw)}\r\n\r\n".encode() + raw)
    return plug


def until(gate: Gate, wanted: Callable[[Exchange], bool]) -> Exchange:
    store = gate.store
    assert store is not None
    return waited_for(lambda: [exchange for exchange in store.exchanges("local") if wanted(exchange)])[0]


@proves("fault:P3")
def test_it_is_open_while_it_lasts_with_the_blocks_that_are_whole(tmp_path: Path) -> None:
    """reliability 3.5: recoverable up to what was flushed, and marked as not whole."""
    with Simulator() as sim, Gate(tmp_path, claude(sim)) as gate:
        sim.fault("stall 30 content=6")
        with asked(gate):
            open_one = until(gate, lambda exchange: exchange.outcome == "open")
            assert gate.store is not None
            recording = gate.store.recordings("local").by_id(open_one.id)
            assert recording is None or (recording.whole, len(recording.keys)) == (False, 1)
        assert until(gate, lambda exchange: exchange.outcome == "cut").id == open_one.id
        assert len(gate.store.exchanges("local")) == 1


def test_it_becomes_whole(tmp_path: Path) -> None:
    """One exchange, one turn, one count of what it cost."""
    with Simulator() as sim, Gate(tmp_path, claude(sim)) as gate:
        sim.fault("stall 1.6 content=6")
        with asked(gate):
            first = until(gate, lambda exchange: exchange.outcome == "open")
            whole = until(gate, lambda exchange: exchange.outcome == "whole")
        assert gate.store is not None
        assert (whole.id, len(gate.store.exchanges("local")), gate.store.usage_totals("local")[0].calls) == (first.id, 1, 1)
        assert gate.store.verify() == ()

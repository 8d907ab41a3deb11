"""How a chat ends with its gateway: what comes may come to its end, the rest is stopped, marked and kept."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPResponse
from pathlib import Path

import pytest

from clew.testing import Simulator
from tests.admin.chat.served import MODEL, TOOLS, ChatServer, configured, parts_of, read_until, user
from tests.gateway.served import KEY, Served, backend

pytestmark = pytest.mark.slow

SAID = "Look. [[scenario:interleaved]]"


def test_an_answer_that_takes_too_long_is_stopped_and_what_was_finished_of_it_kept(
    claude: Simulator, tmp_path: Path
) -> None:
    claude.reset()
    claude.fault("stall 30 content=6")
    root = configured(tmp_path / "h", {"claude": claude})
    with ChatServer(root) as chat:
        with chat.posted(SAID, tools=TOOLS) as reply:
            read_until(reply, "text-delta")
            chat.call(chat.admin.drain(0.05))
            last = parts_of(reply.read().removeprefix(b"\n"))[-1]
        with chat.posted("Another?", chat="two") as refused:
            assert (refused.status, json.loads(refused.read())["error"]["what"]) == (503, "the gateway is ending")
    assert (last["type"], last["finishReason"], last["messageMetadata"]["outcome"]) == ("finish", "interrupted", "cut")
    with ChatServer(root) as again:
        answered = again.messages()[1]
    assert (answered["metadata"]["outcome"], [part["type"] for part in answered["parts"]]) == (
        "cut",
        ["step-start", "reasoning"],
    )


def test_an_answer_that_ends_in_time_ends_whole(claude: Simulator, tmp_path: Path) -> None:
    claude.reset()
    claude.fault("stall 0.3 content=6")
    with ChatServer(configured(tmp_path / "h", {"claude": claude})) as chat, chat.posted(SAID, tools=TOOLS) as reply:
        read_until(reply, "text-delta")
        chat.call(chat.admin.drain(10))
        assert parts_of(reply.read().removeprefix(b"\n"))[-1]["finishReason"] == "tool-calls"


def test_closing_waits_for_what_is_stopped(claude: Simulator, tmp_path: Path) -> None:
    """Nothing is left open in the store, though nobody drained."""
    claude.reset()
    claude.fault("stall 30 content=6")
    root = configured(tmp_path / "h", {"claude": claude})
    with ChatServer(root) as chat, chat.posted(SAID, tools=TOOLS) as reply:
        read_until(reply, "text-delta")
    with ChatServer(root) as again:
        assert again.messages()[1]["metadata"]["outcome"] == "cut"


@contextmanager
def posted(gateway: Served) -> Iterator[HTTPResponse]:
    """With the gateway's own key, to the admin of a real process."""
    host, _, port = str(gateway.told["admin_url"]).removeprefix("http://").partition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=120)
    body = json.dumps({"id": "one", "messages": [user(SAID)], "model": MODEL, "tools": TOOLS})
    try:
        connection.request("POST", "/api/chat", body, {"content-type": "application/json", "x-api-key": KEY})
        yield connection.getresponse()
    finally:
        connection.close()


@pytest.mark.parametrize("options", [(), ("--workers", "2")], ids=["alone", "with workers"])
def test_a_signal_lets_the_chat_drain_as_the_data_plane_does(claude: Simulator, options: tuple[str, ...]) -> None:
    """The admin is in the parent of the workers, and has an engine there."""
    claude.reset()
    claude.fault("stall 30 content=6")
    config = (
        backend("claude", claude.url, 'realm = "anthropic"\n')
        + "\n[gateway]\ndrain_seconds = 0.2\nclosing_seconds = 60\nadmin_port = 0\n"
    )
    with Served(config, *options) as gateway:
        with posted(gateway) as reply:
            read_until(reply, "text-delta")
            gateway.signal()
            assert parts_of(reply.read().removeprefix(b"\n"))[-1]["finishReason"] == "interrupted"
        assert gateway.ended() == 0
        [exchange] = gateway.exchanges()
        assert (exchange.thread, exchange.outcome) == ("one", "cut")

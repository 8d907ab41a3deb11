"""An answer that comes in one gateway is found, followed and stopped at another one of the same store."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from clew.chat.ui.parts import message_of_parts
from clew.testing import Simulator
from tests.admin.chat.served import TOOLS, ChatServer, configured, parts_of, read_until
from tests.admin.chat.test_going import THINKING
from tests.faults.holding import Held
from tests.postgres import prepared_url
from tests.waiting import until

pytestmark = pytest.mark.slow

URLS: dict[str, Callable[[Path], str]] = {
    "sqlite": lambda folder: f"sqlite:{folder}/shared.db",
    "postgresql": lambda _: prepared_url(),
}


class SharedChat(ChatServer):
    variables: ClassVar = {"CLEW_SECRET": "0123456789abcdef" * 4}


@pytest.fixture
def way(claude: Simulator) -> Iterator[Held]:
    claude.reset()
    with Held(claude.url) as way:
        yield way


@pytest.fixture(params=URLS)
def gateways(request: pytest.FixtureRequest, claude: Simulator, way: Held, tmp_path: Path) -> Iterator[list[ChatServer]]:
    """Two, each with a home of its own. Answers of their backend can be held."""
    backends = {"claude": SimpleNamespace(url=way.url, key=claude.key)}
    store = f'[store]\nurl = "{URLS[request.param](tmp_path)}"'
    with ExitStack() as stack:
        homes = [configured(tmp_path / name, backends, store) for name in ("one", "two")]
        yield [stack.enter_context(SharedChat(home)) for home in homes]


def test_a_running_answer_is_followed_at_another_gateway_to_its_end(gateways: list[ChatServer], way: Held) -> None:
    one, two = gateways
    way.hold(b'"content_block_stop","index":1')
    with one.posted(THINKING, chat="far", tools=TOOLS) as reply:
        heard = read_until(reply, "reasoning-end")
        until(lambda: two.call_api("/api/chat/far").json["running"])
        with two.resumed("far") as other:
            assert other.status == 200
            first = read_until(other, "reasoning-end")
            assert [part["type"] for part in first] == [
                "start",
                "start-step",
                "reasoning-start",
                "reasoning-delta",
                "reasoning-end",
            ]
            assert first[-1] == heard[-1], "whole, with its proof"
            way.release()
            parts = [*first, *parts_of(other.read().removeprefix(b"\n"))]
        reply.read()
    assert message_of_parts(parts) == one.messages("far")[1] == two.messages("far")[1]
    assert parts[-1]["finishReason"] == "tool-calls"
    with two.resumed("far") as other:
        assert (other.status, other.read()) == (204, b"")
    assert two.call_api("/api/chat/far").json["running"] is False


def test_a_running_answer_is_stopped_from_another_gateway(gateways: list[ChatServer], way: Held) -> None:
    one, two = gateways
    way.hold(b'"content_block_stop","index":1')
    with one.posted(THINKING, chat="far", tools=TOOLS) as reply:
        read_until(reply, "reasoning-end")
        followed: list[Any] = []

        def follow() -> None:
            with two.resumed("far") as other:
                followed.extend(parts_of(other.read()))

        until(lambda: two.call_api("/api/chat/far").json["running"])
        following = threading.Thread(target=follow)
        following.start()
        until(lambda: two.call_api("/api/chat/far/stream", method="DELETE").json == {"stopped": True})
        rest = parts_of(reply.read().removeprefix(b"\n"))
        following.join(120)
    assert (rest[-1]["type"], rest[-1]["finishReason"]) == ("finish", "interrupted")
    assert not followed or followed[-1]["type"] == "error"
    for each in gateways:
        assert each.messages("far")[1]["metadata"]["outcome"] == "cut"
        assert each.store.settings("local") == {}, "no note is left"
    assert two.call_api("/api/chat/far/stream", method="DELETE").json == {"stopped": False}

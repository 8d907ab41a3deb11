"""A thread is deleted while its client is still answered: nothing of it is in any file, then and when the answer is over."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from clew import AsyncConversation
from clew.model.turn import Exchange
from clew.store.sqlite.store import SqliteStore
from clew.testing import Simulator
from tests.admin.booth import Unix
from tests.admin.chat.served import ChatServer, parts_of, user
from tests.engine.gate import Answer, post
from tests.engine.talk import MODEL, SHOWN
from tests.faults.holding import Held
from tests.faults.scene import question
from tests.gateway.served import KEY, Served, backend
from tests.manifest import proves
from tests.waiting import until

pytestmark = pytest.mark.slow

SAID = "My canary is called Pimpernel."
CANARY = b"Pimpernel"
STREAM, WHOLE = b'"index":1', b"HTTP/1.1 200"
"""Up to where an answer comes before it is held: behind its first block, or with nothing of what it says."""


class Scene:
    """A gateway in a process of its own, with one client, and a way to its backend that can be held."""

    def __init__(self, way: Held, gateway: Served) -> None:
        self.way, self.gateway = way, gateway
        self.store = SqliteStore(gateway.home / "clew.db")
        self._clients = ThreadPoolExecutor(4)
        self.count = 0

    def close(self) -> None:
        self._clients.shutdown()
        self.store.close()

    def session(self) -> str:
        """The name of a new one, which is its canary too."""
        self.count += 1
        return f"Pimpernel{self.count:03}"

    def ask(self, session: str, words: str = "", *, agent: str = "", **more: Any) -> Future[Answer]:
        headers = {"x-api-key": KEY, "x-claude-code-session-id": session, "x-claude-code-agent-id": agent}
        body = question(words or f"My canary is called {session}.", thinking=SHOWN, **more)
        return self._clients.submit(post, self.gateway.url, body, path="/v1/messages", headers=headers)

    def thread(self, session: str, agent: str = "") -> str | None:
        return self.store.thread_of("local", session, agent)

    def kept(self, session: str) -> str:
        """Its thread, once that is there: on a slow disk an answer may end before it is written."""
        return until(lambda: self.thread(session))

    def exchange(self, answer: Answer) -> Exchange | None:
        return self.store.exchange("local", answer.headers["x-clew-exchange"])

    def delete(self, thread: str, how: str) -> None:
        """By the gateway itself, or by a process that knows nothing of it but the file."""
        if how == "DELETE":
            connection = Unix(Path(self.gateway.told["socket"]))
            connection.request("DELETE", f"/api/threads/{thread}")
            assert json.loads(connection.getresponse().read()) == {"forgotten": thread}
            connection.close()
        else:
            done = self.gateway.clew(*how.split(), thread, "--yes")
            assert done.returncode == 0, done.stderr

    def left(self, session: str) -> list[bytes]:
        """Its canary, if that is anywhere. The simulator repeats in its answer what it was told."""
        return left_in(self.gateway.home, session.encode())


def left_in(home: Path, *words: bytes) -> list[bytes]:
    raw = b"".join(file.read_bytes() for file in home.rglob("*") if file.is_file())
    return [each for each in words if each in raw]


@pytest.fixture
def scene(one: Scene) -> Iterator[Scene]:
    yield one
    one.way.release()


@pytest.fixture(scope="module")
def one() -> Iterator[Scene]:
    """For all of these tests."""
    with ExitStack() as stack:
        way = stack.enter_context(Held(stack.enter_context(Simulator()).url))
        config = backend("claude", way.url, 'realm = "anthropic"\n') + "\n[gateway]\nadmin_port = 0\n"
        made = Scene(way, stack.enter_context(Served(config)))
        stack.callback(made.close)
        yield made


@proves("fault:X16")
@pytest.mark.parametrize("how", ["DELETE", "forget"])
def test_a_stream_that_goes_on_brings_nothing_back(scene: Scene, how: str) -> None:
    """It was kept as open, with the blocks that were whole; it ends as ever for its client, and unheard for the store."""
    scene.way.hold(STREAM)
    asked = scene.ask(session := scene.session())
    until(lambda: (thread := scene.thread(session)) and scene.store.passages("local", thread)[0].recording)
    assert scene.left(session) == [session.encode()]
    scene.delete(str(scene.thread(session)), how)
    assert (scene.left(session), asked.done()) == ([], False)
    scene.way.release()
    answer = asked.result(120)
    assert answer.kinds[-1] == "message_stop"
    until(lambda: scene.exchange(answer))
    exchange = scene.exchange(answer)
    assert exchange is not None
    assert (exchange.kind, exchange.outcome, exchange.thread, exchange.usage is not None) == ("forgotten", "whole", "", True)
    assert (scene.thread(session), scene.left(session)) == (None, [])
    assert "its conversation was deleted meanwhile, so none of its text is kept" in scene.gateway.clew("log").stdout


@proves("fault:X16")
def test_an_answer_that_is_not_streamed_brings_nothing_back(scene: Scene) -> None:
    """Nothing of it is in the store before its end, so nobody can know of it. What is said afterwards is kept."""
    session = scene.session()
    assert scene.ask(session).result(120).status == 200
    scene.way.hold(WHOLE)
    asked = scene.ask(session, stream=False)
    assert scene.way.held.wait(120)
    scene.delete(scene.kept(session), "forget")
    scene.way.release()
    answer = asked.result(120)
    until(lambda: scene.exchange(answer))
    assert (scene.thread(session), scene.left(session)) == (None, [])
    assert scene.ask(session, "And now something new.").result(120).status == 200
    thread = scene.kept(session)  # by the session's name, which is there again
    assert [len(passage.asked) for passage in scene.store.passages("local", thread)] == [1]
    assert scene.store.verify() == ()


@proves("fault:X16")
def test_an_agent_that_was_just_asked_is_forgotten_with_its_thread(scene: Scene) -> None:
    """Where that is wanted: nothing of the agent is in the store yet."""
    session = scene.session()
    assert scene.ask(session).result(120).status == 200
    scene.way.hold(WHOLE)
    asked = scene.ask(session, agent="scout", stream=False)
    assert scene.way.held.wait(120)
    scene.delete(scene.kept(session), "forget --agents")
    scene.way.release()
    until(lambda: scene.exchange(asked.result(120)))
    assert (scene.thread(session, "scout"), scene.left(session)) == (None, [])


def settings(home: Path, way: Held) -> Path:
    home.mkdir(mode=0o700)
    (home / "clew.toml").write_text(f'[backends.claude]\npreset = "anthropic"\nurl = "{way.url}"\nkey = "sim-test-key"\n')
    return home


@proves("fault:X16")
def test_a_conversation_goes_on_without_what_was_deleted(scene: Scene, tmp_path: Path) -> None:
    """Somebody else deletes it while it is answered. Its owner has the answer; the next question is a thread of its own."""
    home = settings(tmp_path / "home", scene.way)

    async def talk() -> tuple[str, str]:
        async with AsyncConversation.open(
            home=home, model=MODEL, environ={}, thinking=SHOWN, max_tokens=4000
        ) as conversation:
            scene.way.hold(STREAM)
            asked = asyncio.ensure_future(conversation.ask(SAID).message())
            await asyncio.to_thread(scene.way.held.wait, 20)
            await asyncio.to_thread(deleted, home, conversation.thread)
            assert left_in(home, CANARY) == []
            scene.way.release()
            first = (await asked).content
            assert left_in(home, CANARY, first[:30].encode()) == []
            await conversation.ask("Something new.")
            return conversation.thread, first

    thread, first = asyncio.run(talk())
    assert left_in(home, CANARY, first[:30].encode()) == []
    with SqliteStore(home / "clew.db") as store:
        [found] = store.threads("local")
        assert (found.id, found.title, found.turns) == (thread, "Something new.", 1)
        assert [each.kind for each in store.exchanges("local")] == ["messages", "forgotten"]
        assert store.verify() == ()


def deleted(home: Path, thread: str) -> None:
    """By another process, as far as the store can tell."""
    with SqliteStore(home / "clew.db") as store:
        assert store.forget("local", thread, at=time.time()).result(120)


@proves("fault:X16")
def test_a_chat_that_another_process_deletes_ends_for_its_listener_and_is_not_kept(scene: Scene, tmp_path: Path) -> None:
    home = settings(tmp_path / "home", scene.way)
    with ChatServer(home) as chat:
        scene.way.hold(STREAM)
        with chat.posted([user(SAID)], chat="my-chat") as reply:
            assert scene.way.held.wait(120)
            deleted(home, "my-chat")
            scene.way.release()
            parts = parts_of(reply.read())
        assert parts[-1]["type"] == "finish"
        until(lambda: [each.kind for each in chat.store.exchanges("local")] == ["forgotten"])
        assert (chat.store.threads("local"), chat.store.verify()) == ([], ())
        text = "".join(part.get("delta", "") for part in parts if part["type"] == "text-delta")
        assert left_in(home, CANARY, text[:30].encode(), b"my-chat") == []

"""What is particular to conversations over a gateway: who may, how they find it, and what happens when one side is gone."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from clew import AsyncConversation, TextDelta
from clew.chat.local import LocalThreadService
from clew.chat.remote.protocol import OpenedThread
from clew.chat.remote.service import RemoteAnswerReader, RemoteThreadService
from clew.errors import BackendBroken, BackendOverloaded, BackendUnreachable, RequestInvalid, SettingsInvalid
from clew.settings.home import Home
from clew.settings.named_keys import NamedKeys
from clew.settings.processes import RegisteredGateway, register, unregister
from clew.store.sqlite.store import SqliteStore
from clew.testing import Simulator
from clew.wire.sse import SseReader
from tests.chat.conversation.gateway import Gateway
from tests.engine.talk import MODEL, SHOWN, TOOLS
from tests.gateway.served import Served, backend
from tests.manifest import proves, public
from tests.waiting import until

pytestmark = pytest.mark.slow

SAID = {"role": "user", "content": "Look. [[scenario:interleaved]]"}
BODY = {"asked": [SAID], "model": MODEL, "wishes": {"thinking": SHOWN, "tools": TOOLS, "max_tokens": 4000}}


@pytest.fixture
def gateway(home: Path) -> Iterator[Gateway]:
    with Gateway(home, key="the-gateways-own") as gateway:
        yield gateway


def at(gateway: Gateway, key: str, thread: str = "") -> AbstractAsyncContextManager[AsyncConversation]:
    return AsyncConversation.open(thread, url=gateway.url, key=key, environ={}, model=MODEL)


@contextmanager
def asked(gateway: Gateway, method: str, path: str, body: Any = None) -> Iterator[http.client.HTTPResponse]:
    """A request by hand; what comes back is the test's to read."""
    connection = http.client.HTTPConnection(gateway.url.removeprefix("http://"), timeout=120)
    try:
        headers = {"authorization": f"Bearer {gateway.token}", "content-type": "application/json"}
        connection.request(method, f"/api/conversations{path}", None if body is None else json.dumps(body), headers)
        yield connection.getresponse()
    finally:
        connection.close()


def outcomes(gateway: Gateway, thread: str) -> list[tuple[str, int]]:
    """How each turn ended, and how many blocks came of it."""
    store = gateway.runtime.store
    assert store is not None
    found = {each.id: each.outcome for each in store.exchanges("local", thread=thread)}
    passages = store.passages("local", thread)
    return [(found[each.exchange], len(each.recording.blocks) if each.recording else 0) for each in passages]


@proves("req:S4-5", "req:S4-6", "req:S4-7")
def test_a_turn_is_told_when_it_is_kept_and_again_when_it_is_over(gateway: Gateway) -> None:
    """The wire itself: `turn`, pieces in the order of their making, `end`."""
    with asked(gateway, "POST", "/t1/turns", BODY) as response:
        assert (response.status, response.getheader("content-type")) == (200, "text/event-stream; charset=utf-8")
        events = [(event.name.decode(), json.loads(event.data)) for event in SseReader().feed(response.read())]
    names = [name for name, _ in events]
    assert [name for n, name in enumerate(names) if name != names[n - 1]] == [
        *("turn", "thinking", "text", "thinking", "call", "end"),
    ]
    first, last = events[0][1], events[-1][1]
    assert (first["thread"]["id"], first["turn"]["exchange"]["outcome"]) == ("t1", "open")
    assert (last["turn"]["exchange"]["outcome"], last["turn"]["whole"]) == ("whole", True)
    assert [block["type"] for block in last["turn"]["answer"]] == ["thinking", "text", "thinking", "tool_use"]
    with asked(gateway, "GET", "/t1") as response:
        opened = json.loads(response.read())
    assert opened["turns"] == [last["turn"]]
    assert opened["place"] == {"backends": {"claude": "", "deepseek": "deepseek-flash"}, "active": "claude"}
    with asked(gateway, "GET", "/t1?known=1") as response:
        assert json.loads(response.read())["turns"] is None


@public("gateway")
@proves("req:S4-9")
@pytest.mark.parametrize(
    ("fault", "after", "kept"),
    [
        ("slow-start 30", "turn", 0),
        ("stall 30 content=3", "thinking", 0),
        ("stall 30 content=7", "text", 1),
        ("stall 30 before=message_delta", "call", 4),
    ],
)
def test_a_client_that_is_gone_leaves_what_was_finished(
    gateway: Gateway, a: Simulator, fault: str, after: str, kept: int
) -> None:
    """S4-9: at every step; the backend is let go, and the turn is marked as cut, with its whole blocks."""
    a.fault(fault)
    with asked(gateway, "POST", "/t2/turns", BODY) as response:
        while f"event: {after}".encode() not in response.readline():
            pass
    until(lambda: outcomes(gateway, "t2") == [("cut", kept)], 120)
    until(lambda: all(entry["ended"] not in ("no", "whole") for entry in a.journal()), 120)
    until(lambda: (gateway.answering(), len(gateway.services.answers)) == (0, 0), 10)


def test_a_client_that_is_gone_before_anything_was_told_stops_the_answer_too(gateway: Gateway, a: Simulator) -> None:
    a.fault("slow-start 30", times=None)
    for _ in range(3):
        with asked_in_haste(gateway, "/t5/turns", BODY):
            pass

    def over() -> bool:
        return gateway.answering() == 0 and all(outcome in ("cut", "failed") for outcome, _ in outcomes(gateway, "t5"))

    until(over, 10)


@contextmanager
def asked_in_haste(gateway: Gateway, path: str, body: Any) -> Iterator[None]:
    """A client that asks, and does not wait for a word."""
    connection = http.client.HTTPConnection(gateway.url.removeprefix("http://"), timeout=120)
    headers = {"authorization": f"Bearer {gateway.token}", "content-type": "application/json"}
    connection.request("POST", f"/api/conversations{path}", json.dumps(body), headers)
    yield
    connection.close()


def test_a_gateway_that_is_killed_loses_nothing_that_was_said(a: Simulator) -> None:
    """The caller hears of it; anyone who opens the conversation later finds the question, and asks it again."""

    async def talk(served: Served) -> str:
        usual: Any = {"model": MODEL, "thinking": SHOWN, "tools": TOOLS}
        async with AsyncConversation.open(home=served.home, environ={}, url="auto", **usual) as conversation:
            assert type(conversation.service) is RemoteThreadService
            await conversation.ask("Hello.")
            a.fault("stall 30 content=7")
            answer = conversation.ask("What I said last. [[scenario:interleaved]]")
            await anext(answer)
            served.process.kill()
            with pytest.raises(BackendBroken):
                await answer.message()
            return conversation.thread

    async def again(served: Served, thread: str) -> list[Any]:
        async with AsyncConversation.open(thread, home=served.home, environ={}, url="auto", model=MODEL) as conversation:
            assert type(conversation.service) is LocalThreadService
            found = [turn.outcome for turn in conversation.turns]
            await conversation.retry()
            return [found, [turn.outcome for turn in conversation.turns]]

    with Served(backend("claude", a.url, 'preset = "anthropic"')) as served:
        thread = asyncio.run(talk(served))
        served.process.wait(120)
        assert asyncio.run(again(served, thread)) == [["whole", "cut"], ["whole", "whole"]]


def test_an_answer_that_comes_can_be_stopped_by_anyone_who_knows_its_turn(gateway: Gateway, a: Simulator) -> None:
    a.fault("stall 30 content=7")
    with asked(gateway, "POST", "/t3/turns", BODY) as response:
        reader, events = SseReader(), list[Any]()
        while not any(event.name == b"text" for event in events):
            events += reader.feed(response.read1(65536))
        turn = json.loads(events[0].data)["turn"]["id"]
        with asked(gateway, "DELETE", f"/t3/turns/{turn}") as stopped:
            assert json.loads(stopped.read())["exchange"]["outcome"] == "cut"
        events += reader.feed(response.read())
    assert (events[-1].name, json.loads(events[-1].data)["trouble"]) == (b"end", None)
    with asked(gateway, "DELETE", f"/t3/turns/{turn}") as again:
        assert (again.status, json.loads(again.read())["exchange"]["outcome"]) == (200, "cut")


def test_a_gateway_that_ends_keeps_what_was_finished_and_says_so(home: Path, a: Simulator) -> None:
    async def talk(gateway: Gateway) -> str:
        async with at(gateway, gateway.token) as conversation:
            a.fault("stall 30 content=7")
            answer = conversation.ask(SAID["content"])
            while not isinstance(await anext(answer), TextDelta):
                pass
            ending = asyncio.create_task(asyncio.to_thread(gateway.__exit__))
            with pytest.raises(BackendOverloaded):
                await answer.message()
            await ending
            assert [turn.outcome for turn in conversation.turns] == ["cut"]
            return conversation.thread

    thread = asyncio.run(talk(Gateway(home).__enter__()))
    with SqliteStore(home / "clew.db") as store:
        assert [each.outcome for each in store.exchanges("local", thread=thread)] == ["cut"]


def test_a_gateway_that_drains_lets_an_answer_come_to_its_end_and_takes_no_other(gateway: Gateway, a: Simulator) -> None:
    """As the data plane and the chat do."""

    async def talk() -> None:
        async with at(gateway, gateway.token) as conversation:
            a.fault("stall 0.3 content=7")
            answer = conversation.ask(SAID["content"])
            while not isinstance(await anext(answer), TextDelta):
                pass
            draining = asyncio.create_task(asyncio.to_thread(lambda: (gateway.drain(20), gateway.answering())))
            message = await answer.message()
            assert await draining == (None, 0)
            assert (message.stop_reason, conversation.turns[-1].outcome) == ("end_turn", "whole")
            with pytest.raises(BackendOverloaded):
                await conversation.ask("Another?")

    asyncio.run(talk())


def test_an_answer_is_kept_before_its_end_is_told_also_by_a_gateway_in_a_hurry(home: Path) -> None:
    """Law 8 lets a gateway's answers end without the store; a conversation's do not."""

    async def talk(gateway: Gateway) -> list[str]:
        store, seen = gateway.runtime.store, list[str]()
        assert store is not None
        async with at(gateway, gateway.token) as conversation:
            for _ in range(5):
                await conversation.ask("Hello.")
                [last] = store.exchanges("local", thread=conversation.thread, limit=1)
                seen.append(last.outcome)
        return seen

    with Gateway(home, commit_seconds=0.0) as gateway:
        assert asyncio.run(talk(gateway)) == ["whole"] * 5


def test_a_gateway_that_is_not_there_is_said_to_be_so(home: Path) -> None:
    async def talk() -> None:
        async with AsyncConversation.open(url="http://127.0.0.1:9", environ={}, model=MODEL):
            pass

    with pytest.raises(BackendUnreachable, match=r"127\.0\.0\.1:9"):
        asyncio.run(talk())


def test_a_key_opens_what_is_its_principals_own_and_nothing_else(home: Path) -> None:
    """The gateway's own key is the owner's; a named one has threads of its own; a wrong one has none."""
    _, key = NamedKeys(Home(home)).add("app", principal="ann")

    async def talk(gateway: Gateway) -> None:
        async with at(gateway, "the-gateways-own") as conversation:
            await conversation.ask("Hello.")
            thread = conversation.thread
        with pytest.raises(RequestInvalid, match="there is no thread"):
            async with at(gateway, key, thread):
                pass
        async with at(gateway, key) as own:
            await own.ask("Hello.")
            store = gateway.runtime.store
            assert store is not None
            assert [each.id for each in store.threads("ann")] == [own.thread]
        async with at(gateway, gateway.token, thread) as again:
            assert len(again.turns) == 1
        with pytest.raises(SettingsInvalid, match="no valid key"):
            async with at(gateway, "wrong"):
                pass

    with Gateway(home, key="the-gateways-own") as gateway:
        asyncio.run(talk(gateway))


def test_the_gateway_of_a_home_is_found_while_it_runs(home: Path, gateway: Gateway) -> None:
    """By its socket, without a key; otherwise the conversation is held in this process."""

    async def found(**more: Any) -> type:
        async with AsyncConversation.open(home=home, environ={}, url="auto", model=MODEL, **more) as conversation:
            await conversation.ask("Hello.")
            return type(conversation.service)

    place = {"admin_url": gateway.url, "socket": str(gateway.admin.socket)}
    entry = register(Home(home), RegisteredGateway(pid=os.getpid(), url="http://127.0.0.1:1", started=1.0, **place))
    assert asyncio.run(found()) is RemoteThreadService
    assert asyncio.run(found(config=home / "clew.toml")) is LocalThreadService
    unregister(Home(home), entry)
    assert asyncio.run(found()) is LocalThreadService
    entry = register(
        Home(home), RegisteredGateway(pid=os.getpid(), url="http://127.0.0.1:1", socket=str(home / "run" / "gone.sock"))
    )
    assert asyncio.run(found()) is LocalThreadService


def test_a_key_that_no_header_can_hold_is_refused(gateway: Gateway) -> None:
    async def talk() -> None:
        async with at(gateway, "a\nkey"):
            pass

    with pytest.raises(SettingsInvalid, match="a key has only"):
        asyncio.run(talk())


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"asked": [{"role": "assistant", "content": "I"}]}, "not a user message"),
        ({"asked": [{"role": "user", "content": ""}]}, "nothing to send"),
        ({"asked": ["Hello"]}, "not a user message"),
        ({"follows": "nowhere"}, "there is no turn 'nowhere'"),
        ({"backend": "nobody"}, "there is no backend 'nobody'"),
        ({"unknown": 1}, "unknown"),
        ({"wishes": {"max_tokens": "many"}}, "max_tokens"),
    ],
)
def test_what_cannot_be_asked_is_refused_and_leaves_nothing(gateway: Gateway, change: Any, why: str) -> None:
    with asked(gateway, "POST", "/t4/turns", {**BODY, **change}) as response:
        told = json.loads(response.read())["error"]
    assert (response.status, why in told["why"]) == (400, True)
    assert outcomes(gateway, "t4") == []


def test_a_caller_that_was_refused_looks_for_no_turn(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """The gateway said that there is none; and one that has no room now is not asked fifty times more."""
    looked: list[str] = []

    async def wait_for_end(desk: RemoteThreadService, find: Callable[[], str]) -> None:
        looked.append(find())

    async def talk() -> None:
        async with at(gateway, gateway.token) as conversation:
            gateway.drain(0)
            monkeypatch.setattr(RemoteThreadService, "wait_for_end", wait_for_end)
            with pytest.raises(BackendOverloaded):
                await conversation.ask("Why?")

    asyncio.run(talk())
    assert looked == []


def test_a_conversation_that_is_not_there_cannot_be_read(gateway: Gateway) -> None:
    paths = [("GET", "/nowhere"), ("GET", "/nowhere/sent"), ("DELETE", "/nowhere/turns/1")]
    for method, path in paths:
        with asked(gateway, method, path) as response:
            told = json.loads(response.read())["error"]
        assert (response.status, told["kind"], told["message"]) == (
            *(400, "RequestInvalid", "there is no thread that begins with 'nowhere'"),
        )
    with asked(gateway, "POST", f"/{'x' * 65}/turns", BODY) as response:
        assert response.status == 400


@pytest.mark.parametrize("before", [0, 1], ids=["first", "second"])
@pytest.mark.parametrize("error", [asyncio.CancelledError, BackendBroken])
def test_a_caller_that_was_cut_off_before_the_first_word_sees_its_turn(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, before: int, error: type[BaseException]
) -> None:
    """What the gateway made of it is here without another look, and the conversation goes on from there."""

    async def cut(hearing: RemoteAnswerReader) -> None:
        await hearing._asking.__aenter__()
        hearing._end()
        raise error("cut")

    async def talk() -> None:
        async with at(gateway, gateway.token) as conversation:
            for _ in range(before):
                await conversation.ask("Before.")
            with monkeypatch.context() as patch:
                patch.setattr(RemoteAnswerReader, "begin", cut)
                with pytest.raises(error):
                    await conversation.ask("Why?")
            turns = conversation.turns
            assert ([turn.outcome for turn in turns[:-1]], turns[-1].outcome == "open") == (["whole"] * before, False)
            assert conversation.messages[2 * before] == {"role": "user", "content": "Why?"}
            await conversation.ask("And then?")
            assert conversation.turns[-1].outcome == "whole"

    asyncio.run(talk())


def test_a_caller_that_was_cut_off_takes_nobody_elses_turn_for_its_own(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else went on from the same turn meanwhile: who was cut off stays where it was, and sees a branch."""

    async def talk() -> None:
        async with at(gateway, gateway.token) as mine:
            await mine.ask("Before.")
            async with at(gateway, gateway.token, mine.thread) as theirs:

                async def cut(hearing: RemoteAnswerReader) -> None:
                    patch.undo()
                    await theirs.ask("Theirs.")
                    raise BackendBroken("cut")

                with monkeypatch.context() as patch:
                    patch.setattr(RemoteAnswerReader, "begin", cut)
                    with pytest.raises(BackendBroken, match="cut"):
                        await mine.ask("Mine.")
            assert [message["content"] for message in mine.messages if message["role"] == "user"] == ["Before."]
            assert len(theirs.turns) == 2

    asyncio.run(talk())


def test_anyone_who_looks_for_a_turn_does_not_read_the_whole_conversation_again_and_again(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A question that never arrived is looked for fifty times: a thread of any length says each time that nothing is new."""
    read: list[bool] = []
    take = RemoteThreadService.take

    def taken(desk: RemoteThreadService, opened: OpenedThread) -> None:
        read.append(opened.turns is not None)
        take(desk, opened)

    async def cut(hearing: RemoteAnswerReader) -> None:
        monkeypatch.setattr(RemoteThreadService, "take", taken)
        raise BackendBroken("cut")

    async def talk() -> None:
        async with at(gateway, gateway.token) as conversation:
            await conversation.ask("Before.")
            monkeypatch.setattr(RemoteAnswerReader, "begin", cut)
            with pytest.raises(BackendBroken, match="cut"):
                await conversation.ask("Why?")

    asyncio.run(talk())
    assert (len(read) > 1, any(read)) == (True, False)

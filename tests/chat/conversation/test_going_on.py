"""A conversation that goes on: elsewhere, later, from another turn, beside another one."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from clew import AsyncConversation
from clew.errors import BackendOverloaded, RequestInvalid, SettingsInvalid
from clew.store.sqlite.store import SqliteStore
from clew.testing import Simulator
from tests.chat.conversation.conftest import Opening
from tests.chat.formats.stored import exported, imported
from tests.engine.chatting import pieces
from tests.engine.gate import Gate, claude
from tests.engine.talk import MODEL, Talk, refusals
from tests.manifest import proves, public
from tests.waiting import until

pytestmark = pytest.mark.slow


async def runs(conversation: AsyncConversation) -> Any:
    """Give every call its result, once."""
    return await conversation.results({call.id: "127.0.0.1 localhost" for call in conversation.calls})


def sent(simulator: Simulator) -> list[Any]:
    """The messages of the last request."""
    return json.loads(simulator.body(simulator.journal()[-1]["n"]))["messages"]


def thoughts(message: Any) -> list[Any]:
    content = message["content"]
    return [block for block in content if block["type"] == "thinking"] if isinstance(content, list) else []


@public("library", "gateway")
@proves("req:C17")
def test_the_backend_is_switched_in_mid_loop_and_back(opening: Opening, a: Simulator, b: Simulator) -> None:
    """C17: A → B → A inside one tool loop: no rejection, and A has its blocks back byte for byte, B its own."""

    async def talk() -> tuple[Any, ...]:
        async with opening() as conversation:
            await conversation.ask("Look. [[scenario:interleaved]]")
            first = conversation.messages[1]
            conversation.use("deepseek", model="deepseek-reasoner")
            await runs(conversation)
            second = conversation.messages[3]
            await runs(conversation) if conversation.calls else await conversation.ask("And now?")
            conversation.use("claude", model=MODEL)
            await conversation.ask("And you?")
            return first, second, conversation.messages, conversation.turns, await conversation.as_sent("deepseek")

    first, second, messages, turns, view = asyncio.run(talk())
    assert (refusals(a), refusals(b)) == ([], [])
    assert [turn.backend for turn in turns] == ["claude", "deepseek", "deepseek", "claude"]
    assert thoughts(first)
    assert thoughts(second)
    assert messages[1] == first == sent(a)[1]
    assert all(not thoughts(message) for message in sent(a)[2:])
    assert [change.what for change in turns[3].changes if change.step == "thinking"] != []
    assert messages[3] == second
    went = json.loads(b.body(b.journal()[-1]["n"]))["messages"]
    spoken = "".join(block["thinking"] for block in thoughts(second))
    assert [message["reasoning_content"] for message in went if message.get("reasoning_content")] == [spoken]
    assert [same for _, whose, same, _ in pieces(b) if whose == "own"] == [True]
    left_out = [change.why for change in view.changes if change.step == "thinking" and change.what == "left out"]
    assert left_out == ["made by claude"] * len([*thoughts(messages[1]), *thoughts(messages[7])])
    assert list(view.messages)[: len(went)] == went


def test_each_backend_is_asked_for_its_own_model(opening: Opening) -> None:
    async def talk() -> list[tuple[str, str]]:
        async with opening() as conversation:
            seen = [(conversation.backend, conversation.model)]
            for backend, model in (("deepseek", "deepseek-chat"), ("claude", ""), ("deepseek", "")):
                conversation.use(backend, model=model)
                seen.append((conversation.backend, conversation.model))
            return seen

    other = ("deepseek", "deepseek-chat")
    assert asyncio.run(talk()) == [("claude", MODEL), other, ("claude", MODEL), other]


def test_what_was_said_through_a_gateway_is_gone_on_with(home: Path, opening: Opening, a: Simulator) -> None:
    """One store, one principal: the thread is found, and its thinking goes back as it came."""
    with Gate(home, claude(a)) as gate:
        talk = Talk(gate, headers={"x-claude-code-session-id": "s1"})
        talk.asks("Look. [[scenario:interleaved]]")
        assert gate.store is not None
        [thread] = gate.store.threads("local")

    async def go_on() -> list[Any]:
        async with opening(thread.id) as conversation:
            assert conversation.messages == talk.messages
            await runs(conversation)
            return conversation.messages

    messages = asyncio.run(go_on())
    assert refusals(a) == []
    assert sent(a)[1] == messages[1]
    with SqliteStore(home / "clew.db") as store:
        assert [(each.id, each.session, each.turns) for each in store.threads("local")] == [(thread.id, "s1", 2)]


def test_a_conversation_in_which_nothing_was_said_has_nothing_to_send(opening: Opening) -> None:
    async def talk() -> tuple[Any, ...]:
        async with opening() as conversation:
            view = await conversation.as_sent()
            return view.messages, view.changes, conversation.turns, conversation.branches, conversation.messages

    assert asyncio.run(talk()) == ((), (), [], [], [])


def test_a_backend_that_there_is_not_cannot_be_used(opening: Opening) -> None:
    async def talk() -> None:
        async with opening() as conversation:
            with pytest.raises(SettingsInvalid, match="there are: claude, deepseek"):
                conversation.use("nobody")

    asyncio.run(talk())


@proves("req:S4-7")
def test_a_conversation_is_opened_again_where_it_was(opening: Opening, a: Simulator) -> None:
    """Closed in mid-loop: the same messages, calls and model."""

    async def begin() -> tuple[Any, ...]:
        async with opening(backend="claude") as conversation:
            await conversation.ask("Look. [[scenario:interleaved]]")
            await conversation.rename("The hosts")
            return conversation.thread, conversation.messages, conversation.calls, conversation.turns

    async def go_on(thread: str) -> tuple[Any, ...]:
        async with opening(thread, model="") as conversation:
            found = (conversation.thread, conversation.messages, conversation.calls, conversation.turns)
            assert (conversation.title, conversation.backend, conversation.model) == ("The hosts", "claude", MODEL)
            await runs(conversation)
            assert [turn.outcome for turn in conversation.turns] == ["whole", "whole"]
            return found

    before = asyncio.run(begin())
    assert asyncio.run(go_on(before[0][:16])) == before
    assert refusals(a) == []


def test_a_backend_that_was_used_is_for_this_conversation_and_does_not_pin_the_thread(
    opening: Opening, home: Path, b: Simulator
) -> None:
    """Anyone who opens the thread again, or goes on with it through a gateway, has the active backend."""

    async def ask() -> str:
        async with opening(backend="deepseek", model="deepseek-chat") as conversation:
            await conversation.ask("One.")
            await conversation.ask("Two.")
            assert [turn.backend for turn in conversation.turns] == ["deepseek", "deepseek"]
            return conversation.thread

    async def open_again(thread: str) -> str:
        async with opening(thread) as conversation:
            return conversation.backend

    thread = asyncio.run(ask())
    with SqliteStore(home / "clew.db") as store:
        assert store.pin_of("local", thread) == ""
        assert asyncio.run(open_again(thread)) == "claude"
        assert store.pin("local", thread, "deepseek").result(60)
    assert asyncio.run(open_again(thread)) == "deepseek"


@proves("req:S4-33")
def test_a_thread_must_exist_to_be_opened(opening: Opening) -> None:
    """S4-33: the conversation must exist."""

    async def talk() -> None:
        async with opening("1a1e3"):
            pass

    with pytest.raises(RequestInvalid, match="there is no thread"):
        asyncio.run(talk())


def test_branches_keep_what_was_said(opening: Opening, a: Simulator) -> None:
    """Edit, go back and go on: every line stays, each with its own thinking."""

    async def talk() -> None:
        async with opening() as conversation:
            await conversation.ask("One.")
            await conversation.ask("Two.")
            old = conversation.messages
            first, second = conversation.turns
            await conversation.edit(second, "Two, but shorter.")
            assert [message["content"] for message in conversation.messages[::2]] == ["One.", "Two, but shorter."]
            assert conversation.messages[:2] == old[:2]
            conversation.branch(first)
            await conversation.ask("Three.")
            assert [turn.asked[0]["content"] for turn in conversation.branches] == ["Two.", "Two, but shorter.", "Three."]
            conversation.branch(second)
            assert conversation.messages == old
            await conversation.retry()
            assert len(conversation.branches) == 4
            await conversation.ask("Four.")
            assert sent(a)[-1] == {"role": "user", "content": "Four."}
            with pytest.raises(RequestInvalid, match="there is no turn"):
                conversation.branch("nowhere")

    asyncio.run(talk())
    assert refusals(a) == []


def test_a_conversation_with_a_question_that_failed_is_exported_and_imported(
    home: Path, opening: Opening, a: Simulator
) -> None:
    """Where it was said; as a question without an answer in the formats for others; and all of it in our own."""

    async def fail() -> str:
        async with opening() as conversation:
            await conversation.ask("One.")
            a.fault("status 529")
            with pytest.raises(BackendOverloaded):
                await conversation.ask("Two.")
            return conversation.thread

    async def again(thread: str) -> list[Any]:
        async with opening(thread) as conversation:
            assert [turn.outcome for turn in conversation.turns] == ["whole", "refused"]
            await conversation.retry()
            return [message["content"] for message in conversation.messages[::2]]

    thread = asyncio.run(fail())
    with SqliteStore(home / "clew.db") as store:
        shapes = {name: exported(store, name) for name in ("anthropic", "openai", "claude-code", "markdown", "clew")}
        assert store.forget("local", thread, at=time.time()).result(120)
        imported(store, shapes["clew"])
        assert store.verify() == ()
    for name in ("anthropic", "openai"):
        assert [message["role"] for message in json.loads(shapes[name])["messages"]] == ["user", "assistant"]
    assert shapes["claude-code"].count(b'"role":"assistant"') == len(stored_answer(shapes["anthropic"]))
    assert "no answer" in shapes["markdown"].decode()
    assert asyncio.run(again(thread)) == ["One.", "Two."]


def stored_answer(raw: bytes) -> list[Any]:
    """The blocks of the only answer: a line each in a transcript."""
    return json.loads(raw)["messages"][1]["content"]


def test_a_branch_that_failed_is_found_after_a_restart(opening: Opening, a: Simulator) -> None:
    """What it would have followed is kept with it, so a second try asks the same."""

    async def fail() -> str:
        async with opening() as conversation:
            await conversation.ask("One.")
            await conversation.ask("Two.")
            a.fault("status 529")
            with pytest.raises(BackendOverloaded):
                await conversation.edit(conversation.turns[1], "Two, but shorter.")
            return conversation.thread

    async def again(thread: str) -> list[Any]:
        async with opening(thread) as conversation:
            await conversation.retry()
            return [message["content"] for message in conversation.messages[::2]]

    assert asyncio.run(again(asyncio.run(fail()))) == ["One.", "Two, but shorter."]


def test_two_conversations_at_once_do_not_mix(opening: Opening, a: Simulator) -> None:
    """Law 7: the same words, at the same time, on one store."""

    async def talk(conversation: AsyncConversation) -> list[Any]:
        for words in ("Hello.", "Look. [[scenario:text]]", "And?"):
            await conversation.ask(words)
        return conversation.messages

    async def both() -> None:
        async with opening() as one, opening() as two:
            first, second = await asyncio.gather(talk(one), talk(two))
            assert one.thread != two.thread
            assert [len(first), len(second)] == [6, 6]
            for conversation, messages in ((one, first), (two, second)):
                passages = opening.store(conversation).passages("local", conversation.thread)
                answers = [passage.recording for passage in passages]
                assert [answer.followed if answer else "?" for answer in answers] == [
                    None,
                    *[passage.exchange for passage in passages[:2]],
                ]
                assert [[json.loads(raw) for raw in answer.blocks] for answer in answers if answer] == [
                    message["content"] for message in messages[1::2]
                ]

    asyncio.run(both())
    assert refusals(a) == []


def test_what_others_say_in_a_thread_meanwhile_is_seen_and_two_answers_to_one_are_branches(opening: Opening) -> None:
    """Two that hold the same conversation: anyone who is behind goes on from where they are, and nothing is refused or lost."""

    async def talk() -> None:
        async with opening() as one:
            await one.ask("One.")
            async with opening(one.thread) as two:
                await two.ask("Two, said elsewhere.")
                assert len(one.turns) == 1
                await one.ask("Two, said here.")
                assert [turn.asked[0]["content"] for turn in one.turns] == ["One.", "Two, said here."]
                said = ["Two, said elsewhere.", "Two, said here."]
                assert [turn.asked[0]["content"] for turn in one.branches] == said
                await two.refresh()
                assert [turn.asked[0]["content"] for turn in two.turns] == ["One.", "Two, said elsewhere."]
                assert [turn.asked[0]["content"] for turn in two.branches] == said

    asyncio.run(talk())


def test_anyone_who_looks_again_goes_on_to_the_newest_turn_from_there(opening: Opening, a: Simulator) -> None:
    async def talk() -> None:
        async with opening() as one:
            await one.ask("One.")
            async with opening(one.thread) as two:
                await two.ask("Two.")
                await two.ask("Three.")
                await one.refresh()
                assert one.messages == two.messages
                await one.ask("Four.")
                await two.rename("All of it")
                await one.refresh()
                assert (one.title, len(one.branches)) == ("All of it", 1)

    asyncio.run(talk())
    assert refusals(a) == []


KILLED = """
import asyncio, sys
from clew import AsyncConversation
async def main(home):
    async with AsyncConversation.open(home=home, environ={}, model="claude-opus-5-5") as conversation:
        await conversation.ask("Hello.")
        print(conversation.thread, flush=True)
        sys.stdin.readline()
        await conversation.ask("What I said last.")
asyncio.run(main(sys.argv[1]))
"""


@proves("req:S4-2", "req:S4-8")
def test_a_process_that_is_killed_loses_nothing_that_was_said(home: Path, opening: Opening, a: Simulator) -> None:
    """kill -9 between question and answer: it is there, marked as open, and is asked again."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", KILLED, str(home)], **pipes) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        thread = process.stdout.readline().strip()
        a.fault("slow-start 60")
        process.stdin.write("\n")
        process.stdin.flush()
        wait_for_the_second(home, thread)
        os.kill(process.pid, signal.SIGKILL)
    a.reset()

    async def again() -> tuple[Any, ...]:
        async with opening(thread) as conversation:
            before = conversation.turns, conversation.messages[-1]
            await conversation.retry()
            return *before, conversation.turns, conversation.messages

    turns, last, after, messages = asyncio.run(again())
    assert last == {"role": "user", "content": "What I said last."}
    assert [turn.outcome for turn in turns] == ["whole", "cut"]
    assert [turn.outcome for turn in after] == ["whole", "whole"]
    assert [message["role"] for message in messages] == ["user", "assistant"] * 2


def wait_for_the_second(home: Path, thread: str) -> None:
    with SqliteStore(home / "clew.db") as store:
        until(lambda: len(store.passages("local", thread)) == 2)

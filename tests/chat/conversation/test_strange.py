"""Backends that say what nobody should: a conversation hears what can be heard, and goes on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from clew import AsyncConversation, TextDelta, ThinkingDelta
from clew.errors import BackendError
from tests.admin.chat.served import ChatServer, configured
from tests.chat.conversation.conftest import Opening
from tests.chat.conversation.gateway import Gateway
from tests.engine.chatting import telling

pytestmark = pytest.mark.slow

USAGE = {"input_tokens": 3, "output_tokens": 5}


def event(type: str, **members: Any) -> bytes:
    return f"event: {type}\ndata: {json.dumps({'type': type, **members})}\n\n".encode()


def answer(*blocks: bytes) -> bytes:
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5-5", "content": [], "usage": USAGE}
    end = event("message_delta", delta={"stop_reason": "end_turn"}, usage=USAGE) + event("message_stop")
    return b"".join([event("message_start", message=head), *blocks, end])


def block(kind: str, *pieces: Any) -> bytes:
    start = event("content_block_start", index=0, content_block={"type": kind, kind: "", "signature": "c2ln"})
    deltas = [event("content_block_delta", index=0, delta={"type": f"{kind}_delta", kind: piece}) for piece in pieces]
    return b"".join([start, *deltas, event("content_block_stop", index=0)])


@contextmanager
def home_of(said: bytes, root: Path) -> Iterator[Path]:
    """A home whose one backend says this, whatever it is asked."""
    with telling(said) as teller:
        vars(teller)["key"] = "sk-ant-strange"
        yield configured(root / "h", {"claude": teller})


@contextmanager
def over_gateway(said: bytes, root: Path) -> Iterator[Opening]:
    with home_of(said, root) as home, Gateway(home) as gateway:
        yield Opening(home, gateway)


@contextmanager
def in_process(said: bytes, root: Path) -> Iterator[Opening]:
    with home_of(said, root) as home:
        yield Opening(home)


PLACES = {"here": in_process, "gateway": over_gateway}


def opened(place: str, said: bytes, root: Path) -> AbstractContextManager[Opening]:
    return PLACES[place](said, root)


async def heard(conversation: AsyncConversation) -> list[str]:
    answer = conversation.ask("Hello.")
    return [said.text async for said in answer if isinstance(said, TextDelta | ThinkingDelta)]


HALVES = {
    "cut between them": (["Hi \ud83d", "\ude00!"], ["Hi ", "😀!"]),
    "one that never came": (["Hi", " \ud83d"], ["Hi", " ", "\ufffd"]),
    "nothing but a half": (["\ud83d", "\ude00"], ["😀"]),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", ["text", "thinking"])
@pytest.mark.parametrize("case", HALVES)
def test_a_character_that_comes_in_halves_is_heard_whole(place: str, kind: str, case: str, tmp_path: Path) -> None:
    """Some vendors cut between the two escapes of an emoji: what is told is text, and all of it is what is kept."""
    pieces, told = HALVES[case]

    async def talk(opening: Opening) -> None:
        async with opening() as conversation:
            assert await heard(conversation) == told
            assert conversation.messages[1]["content"][0][kind] == "".join(told)

    with opened(place, answer(block(kind, *pieces)), tmp_path) as opening:
        asyncio.run(talk(opening))


def test_a_character_that_comes_in_halves_is_told_whole_in_a_chat(tmp_path: Path) -> None:
    """The same in a UI message stream."""
    with home_of(answer(block("text", *HALVES["cut between them"][0])), tmp_path) as home, ChatServer(home) as chat:
        assert [part["delta"] for part in chat.post("Hello.") if part["type"] == "text-delta"] == ["Hi ", "😀!"]


WRONG = {"a number": 5, "nothing": None, "an object": {}}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("wrong", WRONG)
def test_a_stream_that_breaks_the_rules_is_broken_off_and_the_conversation_goes_on(
    place: str, wrong: str, tmp_path: Path
) -> None:
    """What came before is told, the turn is marked, the next question can be asked, and closing comes to its end."""

    async def talk(opening: Opening) -> None:
        async with opening() as conversation:
            for _ in range(2):
                with pytest.raises(BackendError, match=r"delta\.text must be str"):
                    await heard(conversation)
                assert conversation.turns[-1].outcome == "cut"

    with opened(place, answer(block("text", "Hi", WRONG[wrong])), tmp_path) as opening:
        asyncio.run(asyncio.wait_for(talk(opening), 120))

"""Whatever is done with a conversation, in whichever order: over a gateway it is what it is in one's own process."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew import AsyncConversation
from clew.chat.turns import Turn
from clew.errors import BackendError, RequestInvalid
from clew.testing import Simulator
from tests.chat.conversation.conftest import Opening
from tests.chat.conversation.gateway import Gateway
from tests.counts import examples
from tests.engine.talk import refusals

pytestmark = pytest.mark.slow

STEPS = st.one_of(
    st.tuples(st.just("ask"), st.sampled_from(["One.", "Two.", "Three."])),
    st.tuples(st.just("fail"), st.sampled_from(["status 529", "status 400", "cut before=message_delta how=fin"])),
    st.tuples(st.sampled_from(["retry", "refresh"]), st.just("")),
    st.tuples(st.sampled_from(["edit", "branch"]), st.integers(0, 5)),
    st.tuples(st.just("rename"), st.sampled_from(["A", "B"])),
)


async def does(conversation: AsyncConversation, simulator: Simulator, step: tuple[str, Any]) -> None:
    """One step; what cannot be done is refused in the same way everywhere."""
    what, how = step
    turns = conversation.branches or conversation.turns
    with suppress(BackendError, RequestInvalid):
        match what:
            case "ask":
                await conversation.ask(how)
            case "fail":
                simulator.fault(how)
                await conversation.ask("What?")
            case "retry":
                await conversation.retry()
            case "refresh":
                await conversation.refresh()
            case "edit":
                await conversation.edit(turns[how % len(turns)] if turns else "", "Otherwise.")
            case "branch":
                conversation.branch(turns[how % len(turns)] if turns else "")
            case _:
                await conversation.rename(how)


def looks(conversation: AsyncConversation) -> tuple[Any, ...]:
    """All that can be seen of it, without names that chance made."""
    return (
        [*map(shape, conversation.turns)],
        [*map(shape, conversation.branches)],
        conversation.title,
        [(message["role"], len(message["content"])) for message in conversation.messages],
        (conversation.backend, conversation.model, len(conversation.calls)),
    )


def shape(turn: Turn) -> tuple[Any, ...]:
    answer = len(turn.answer.raw_content) if turn.answer and isinstance(turn.answer.raw_content, list) else None
    return turn.asked, answer, turn.outcome, turn.backend, turn.model, turn.attempts, turn.changes, turn.usage is None


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Simulator, Path, Gateway]]:
    """A simulator, a home and its gateway, for all walks."""
    home = tmp_path_factory.mktemp("walk")
    home.chmod(0o700)
    with Simulator() as simulator:
        backend = f'[backends.claude]\npreset = "anthropic"\nurl = "{simulator.url}"\nkey = "{simulator.key}"\n'
        (home / "clew.toml").write_text(f"{backend}[retry]\nretries = 0\ncool_seconds = 0.01\n")
        with Gateway(home) as gateway:
            yield simulator, home, gateway


@settings(max_examples=examples(10), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(steps=st.lists(STEPS, min_size=1, max_size=10))
def test_a_conversation_elsewhere_is_the_same(one: tuple[Simulator, Path, Gateway], steps: list[tuple[str, Any]]) -> None:
    simulator, home, gateway = one
    plain: dict[str, Any] = {"tools": (), "thinking": None}

    async def walk() -> list[str]:
        async with Opening(home)(**plain) as here, Opening(home, gateway)(**plain) as there:
            for step in steps:
                await does(here, simulator, step)
                simulator.reset()
                await does(there, simulator, step)
                simulator.reset()
                assert looks(here) == looks(there), step
            return [conversation.thread for conversation in (here, there) if conversation.turns]

    async def opened_otherwise(threads: list[str]) -> None:
        """Each where the other was held."""
        for thread, opening in zip(threads, (Opening(home, gateway), Opening(home)), strict=False):
            async with opening(thread, **plain) as conversation, Opening(home)(thread, **plain) as again:
                assert looks(conversation) == looks(again)

    threads = asyncio.run(walk())
    asyncio.run(opened_otherwise(threads))
    assert gateway.runtime.store is not None
    assert gateway.runtime.store.verify() == ()
    assert refusals(simulator) == []

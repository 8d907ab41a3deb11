"""A thread whose client sent betas: it goes on in clew's own chat with the betas that it needs."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from clew.model.turn import TurnRecord
from clew.store.sqlite.store import SqliteStore
from clew.store.values import Passage
from clew.testing import Simulator
from tests.build import user
from tests.chat.conversation.conftest import Opening
from tests.chat.formats.stored import exported, imported
from tests.engine.gate import Gate, claude
from tests.engine.talk import Talk, refusals

pytestmark = pytest.mark.slow

SENT = ("claude-code-20250219", "per-turn-control-2026-07-01")
EFFORT = {"role": "system", "content": [], "output_config": {"effort": "low"}}
"""What Claude Code puts into its history, and what only a beta allows."""


@pytest.fixture
def thread(home: Path, a: Simulator) -> str:
    """Held by another client over a gateway that ended since."""
    with Gate(home, claude(a)) as gate:
        talk = Talk(gate, headers={"anthropic-beta": ",".join(SENT)})
        talk.messages.append(user("One."))
        talk.messages.append(EFFORT)
        talk.step()
    with SqliteStore(home / "clew.db") as store:
        [found] = store.threads("local")
    return found.id


def go_on(opening: Opening, thread: str, backend: str = "") -> Any:
    async def talk() -> Any:
        async with opening(thread, backend=backend) as conversation:
            return await conversation.ask("Two.")

    return asyncio.run(talk())


def betas(simulator: Simulator) -> list[str]:
    """Of the last request that came."""
    headers = dict(simulator.journal()[-1]["headers"])
    return headers.get("anthropic-beta", "").split(",")


def test_a_thread_goes_on_with_the_betas_that_its_requests_were_sent_with(
    opening: Opening, thread: str, a: Simulator
) -> None:
    assert go_on(opening, thread).role == "assistant"
    assert betas(a) == [*SENT]
    assert refusals(a) == []


def test_the_betas_stay_with_the_thread_while_another_vendor_answers(
    opening: Opening, thread: str, a: Simulator, b: Simulator
) -> None:
    go_on(opening, thread, "deepseek")
    go_on(opening, thread, "claude")
    assert betas(a) == [*SENT]
    assert refusals(a) + refusals(b) == []


def test_the_betas_come_along_in_our_own_format(home: Path, here: Opening, thread: str, a: Simulator) -> None:
    with SqliteStore(home / "clew.db") as store:
        raw = exported(store)
        store.forget("local", thread, at=time.time()).result(120)
        imported(store, raw)
    go_on(here, thread)
    assert betas(a) == [*SENT]


def test_a_thread_from_before_betas_were_kept_goes_on_with_those_that_its_messages_need(
    home: Path, here: Opening, thread: str, a: Simulator
) -> None:
    """The field stays where it is: without it, thinking that was made after it would be refused."""
    with SqliteStore(home / "clew.db") as store:
        [exchange] = store.exchanges("local", thread=thread)
        [passage] = store.passages("local", thread)
        store.forget("local", thread, at=time.time()).result(120)
        store.record(_without_betas(exchange, passage), brought_back=True).result(120)
    assert go_on(here, thread).role == "assistant"
    assert betas(a) == ["mid-conversation-output-config-2026-07-01"]
    assert refusals(a) == []


def _without_betas(exchange: Any, passage: Passage) -> TurnRecord:
    return TurnRecord(exchange=structs.replace(exchange, betas=()), recording=passage.recording, asked=passage.asked)


def test_a_thread_that_needs_no_beta_sends_none(here: Opening, a: Simulator) -> None:
    assert go_on(here, "").role == "assistant"
    assert "anthropic-beta" not in dict(a.journal()[-1]["headers"])

"""A backend in another dialect breaks off inside a block: the library, the chat server and the command tell no half block."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from clew import Agent, AsyncConversation, TextDelta, ThinkingDelta, tool
from clew.errors import BackendError
from clew.testing import Simulator
from tests.admin.chat.served import ChatServer, kinds
from tests.cli.homes import Home
from tests.engine.breaking import BLOCKS, breaking
from tests.manifest import proves, public

pytestmark = pytest.mark.slow

MODEL = "claude-opus-5-5"
SHOWN = {"thinking": ThinkingDelta, "text": TextDelta, "tool_use": None}
PARTS = {
    "thinking": ["reasoning-start", "reasoning-delta"],
    "text": ["reasoning-start", "reasoning-delta", "reasoning-end", "text-start", "text-delta"],
    "tool_use": ["reasoning-start", "reasoning-delta", "reasoning-end", "tool-input-start", "tool-input-delta"],
}


@contextmanager
def at_home(home: Path, block: str) -> Iterator[Home]:
    """A home whose only backend breaks off inside such a block."""
    with breaking("chat", block, "closed") as backend:
        row = f'[backends.local]\ndialect = "openai-chat"\nurl = "{backend.url}/v1"\nkey = "{Simulator.key}"\nmodel = "m"\n'
        made = Home(home, f"{row}[retry]\nretries = 0\ncool_seconds = 0.01\n")
        made.config.chmod(0o600)
        yield made


@public("library")
@proves("req:S3-22")
@pytest.mark.parametrize("block", BLOCKS)
def test_the_library_raises_and_keeps_whole_blocks_alone(tmp_path: Path, block: str) -> None:
    """What came of the block is told as deltas; a call is told when it is whole, so never."""

    async def listen(conversation: AsyncConversation, heard: list[Any]) -> None:
        async for event in conversation.ask("5"):
            heard.append(event)

    async def talk(home: Path) -> None:
        async with AsyncConversation.open(model=MODEL, home=home, environ={}) as conversation:
            heard: list[Any] = []
            with pytest.raises(BackendError):
                await listen(conversation, heard)
            assert {*map(type, heard)} == {ThinkingDelta, SHOWN[block]} - {None}
            kept = [[each["type"] for each in message["content"]] for message in conversation.messages[1:]]
            assert (kept, conversation.calls) == ([] if block == "thinking" else [["thinking"]], ())

    with at_home(tmp_path / "home", block) as home:
        asyncio.run(talk(home.root))


@proves("req:S3-22")
def test_an_agent_does_not_run_half_a_call(tmp_path: Path) -> None:
    ran: list[str] = []

    @tool
    def Read(file_path: str) -> str:
        """Reads a file."""
        ran.append(file_path)
        return "x"

    with at_home(tmp_path / "home", "tool_use") as home, pytest.raises(BackendError):
        Agent(model=MODEL, tools=[Read], retries=0).run("5", home=home.root, environ={})
    assert ran == []


@proves("req:S3-22")
@pytest.mark.parametrize("block", BLOCKS)
def test_the_chat_server_ends_no_part_that_broke_off(tmp_path: Path, block: str) -> None:
    """No `text-end`, no `reasoning-end` with a signature, no `tool-input-available`; the error is told."""
    with at_home(tmp_path / "home", block) as home, ChatServer(home.root) as chat:
        told = kinds(chat.post("5"))
        shown = chat.messages()
    said = [kind for kind in told if kind.startswith(("reasoning", "text", "tool"))]
    assert (said, "error" in told) == (PARTS[block], True), told
    kept = [part["type"] for message in shown[1:] for part in message["parts"] if part["type"] != "step-start"]
    assert kept == ([] if block == "thinking" else ["reasoning"]), shown


@public("cli")
@proves("req:S3-22")
@pytest.mark.parametrize("block", BLOCKS)
def test_the_command_says_that_it_broke_off(tmp_path: Path, block: str) -> None:
    with at_home(tmp_path / "home", block) as home:
        done = home.clew("ask", "--json", "--model", MODEL, "5")
    told = json.loads(done.stdout)
    assert (done.exit_code, told["outcome"]) == (3, "cut"), done.output
    assert "broke off" in done.stderr or "closed" in done.stderr, done.stderr

"""Conversations in a home of their own, on simulated backends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from clew import AsyncConversation
from clew.store import Store
from clew.testing import Simulator
from clew.testing.plugin import StartSimulator
from tests.chat.conversation.gateway import Gateway
from tests.engine.talk import MODEL, SHOWN, TOOLS


class Opening:
    """Opens conversations in a home, as often as a test likes: here, or over the gateway that runs there."""

    def __init__(self, home: Path, gateway: Gateway | None = None) -> None:
        self._home = home
        self._gateway = gateway

    def __call__(self, thread: str = "", **wishes: Any) -> AbstractAsyncContextManager[AsyncConversation]:
        usual = {"model": MODEL, "tools": TOOLS, "thinking": SHOWN, "max_tokens": 4000, "home": self._home, "environ": {}}
        there = {"url": self._gateway.url, "key": self._gateway.token} if self._gateway else {}
        return AsyncConversation.open(thread, **{**usual, **there, **wishes})

    def store(self, conversation: AsyncConversation) -> Store:
        """Where it is kept."""
        found: Any = self._gateway.runtime if self._gateway else conversation.service
        return found.store


STRICT = {"prefix_enforcement": "on"}


@pytest.fixture
def a(simulators: StartSimulator) -> Simulator:
    """A first-party Claude host that checks what came before each block."""
    return simulators(stance=STRICT)


@pytest.fixture
def b(simulators: StartSimulator) -> Simulator:
    """A vendor that speaks Chat Completions, and wants its reasoning back."""
    return simulators(kind="deepseek-chat", realm="deepseek")


@pytest.fixture
def home(tmp_path: Path, a: Simulator, b: Simulator) -> Path:
    """Claude is active, DeepSeek is there too. Nothing is tried twice."""
    settings = f"""
active = "claude"
[backends.claude]
preset = "anthropic"
url = "{a.url}"
key = "{a.key}"
[backends.deepseek]
preset = "deepseek"
dialect = "openai-chat"
url = "{b.url}/v1"
key = "{b.key}"
[retry]
retries = 0
cool_seconds = 0.01
"""
    (tmp_path / "clew.toml").write_text(settings)
    tmp_path.chmod(0o700)
    return tmp_path


@pytest.fixture(params=["here", "gateway"])
def opening(request: pytest.FixtureRequest, home: Path) -> Iterator[Opening]:
    """Opens conversations there, in this process and over a gateway: the same holds for both."""
    if request.param == "here":
        yield Opening(home)
        return
    with Gateway(home) as gateway:
        yield Opening(home, gateway)


@pytest.fixture
def here(home: Path) -> Opening:
    """Opens conversations in this process alone, for a look at what it does."""
    return Opening(home)

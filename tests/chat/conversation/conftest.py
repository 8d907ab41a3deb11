"""Conversations in a home of their own, on simulated backends."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from clew import AsyncConversation
from clew.testing import Simulator
from clew.testing.plugin import StartSimulator
from tests.engine.talk import MODEL, SHOWN, TOOLS

Opening = Callable[..., AbstractAsyncContextManager[AsyncConversation]]

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


@pytest.fixture
def opening(home: Path) -> Opening:
    """Opens conversations there, as often as a test likes."""

    def open(thread: str = "", **wishes: Any) -> AbstractAsyncContextManager[AsyncConversation]:
        usual = {"model": MODEL, "tools": TOOLS, "thinking": SHOWN, "max_tokens": 4000}
        return AsyncConversation.open(thread, home=home, environ={}, **{**usual, **wishes})

    return open

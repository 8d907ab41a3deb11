from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.testing import Simulator
from tests.admin.chat.served import ChatServer, configured


@pytest.fixture(scope="module")
def claude() -> Iterator[Simulator]:
    """A Claude host for all tests of a module."""
    with Simulator() as simulator:
        yield simulator


@pytest.fixture(scope="module")
def shared_chat(claude: Simulator, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChatServer]:
    """One server for a module: each test has a chat of its own there."""
    root = configured(tmp_path_factory.mktemp("chat") / "h", {"claude": claude})
    with ChatServer(root) as server:
        yield server


@pytest.fixture
def chat(shared_chat: ChatServer, claude: Simulator) -> ChatServer:
    """That server, and no fault waits in its backend."""
    claude.reset()
    return shared_chat


@pytest.fixture
def own_chat(claude: Simulator, tmp_path: Path) -> Iterator[ChatServer]:
    """A server of the test's own."""
    claude.reset()
    with ChatServer(configured(tmp_path / "h", {"claude": claude})) as server:
        yield server

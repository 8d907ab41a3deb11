"""The page's own module, as it stands, in a shell: it asks, hears, and says what went wrong."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.testing import Simulator
from tests.admin.booth import KEY
from tests.admin.chat.served import MODEL, ChatServer, configured
from tests.clients.installed import NODE

pytestmark = pytest.mark.slow

FILE = Path(__file__).parents[2] / "examples/page/chat.mjs"


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChatServer]:
    with (
        Simulator() as claude,
        ChatServer(
            configured(tmp_path_factory.mktemp("page") / "h", {"claude": claude}, f'[chat]\nmodel = "{MODEL}"')
        ) as server,
    ):
        yield server


def run(chat: ChatServer, key: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [NODE, FILE, chat.admin.url, key, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env={"PATH": "/usr/bin:/bin"})


def test_it_asks_and_tells_thinking_apart_from_the_answer(chat: ChatServer) -> None:
    done = run(chat, KEY, "Hello.", "[[scenario:thinking]]")
    assert (done.returncode, bool(done.stdout.strip()), bool(done.stderr.strip())) == (0, True, True)
    [thread] = chat.call_api("/api/chat").json["threads"]
    [_, answered] = chat.messages(thread["id"])
    thought, said = (part["text"] for part in answered["parts"][1:])
    assert (done.stderr.strip(), done.stdout.strip()) == (thought, said)


def test_it_says_what_is_wrong(chat: ChatServer) -> None:
    done = run(chat, "not-a-key", "Hello.")
    assert done.returncode == 1
    assert "no valid key" in done.stderr

"""Images and documents by URL: clew fetches none of them, whatever they name, and says what a backend does not take."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from threading import Thread
from typing import Any

import pytest

from clew.settings.values import Retry
from clew.testing import Simulator
from tests.build import Json, tool_result, tool_use, user
from tests.engine.chatting import DONE, chat_row, chunk, telling
from tests.engine.gate import claude, other
from tests.faults.conftest import Gating
from tests.faults.scene import MODEL

pytestmark = pytest.mark.slow


class Tripwire:
    """A port that notes anyone who connects, and would send them elsewhere."""

    def __init__(self) -> None:
        self.met = 0
        self._plug = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._plug.getsockname()[1]}"
        Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                peer, _ = self._plug.accept()
            except OSError:
                return
            self.met += 1
            peer.sendall(b"HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/\r\ncontent-length: 0\r\n\r\n")
            peer.close()

    def close(self) -> None:
        self._plug.close()


@pytest.fixture
def wire() -> Iterator[Tripwire]:
    tripwire = Tripwire()
    yield tripwire
    tripwire.close()


def urls(wire: Tripwire) -> list[str]:
    return [
        f"{wire.url}/cat.png",
        f"{wire.url.replace('127.0.0.1', 'localhost')}/redirect",
        "http://169.254.169.254/latest/meta-data/",
    ]


WRONG = [
    "file:///etc/passwd",
    "FILE:///etc/passwd",
    "ftp://127.0.0.1/x",
    "gopher://127.0.0.1:70/x",
    "//127.0.0.1/x",
    "/etc/passwd",
    "",
]


def image(url: str) -> Json:
    return {"type": "image", "source": {"type": "url", "url": url}}


def document(url: str) -> Json:
    return {"type": "document", "source": {"type": "url", "url": url}}


def asked(block: Json, *, in_result: bool = False) -> Json:
    look: Json = {"type": "text", "text": "Look."}
    if not in_result:
        return {"model": MODEL, "max_tokens": 100, "stream": True, "messages": [user(look, block)]}
    called: Json = {"role": "assistant", "content": [tool_use("toolu_1", file_path="x")]}
    result = {**tool_result("toolu_1", ""), "content": [block]}
    return {"model": MODEL, "max_tokens": 100, "stream": True, "messages": [user("Look."), called, user(result)]}


def backend_said() -> bytes:
    return chunk(role="assistant", content="A cat.") + chunk("stop") + DONE


@pytest.mark.parametrize("in_result", [False, True], ids=["asked", "as a result"])
@pytest.mark.parametrize("block", [image, document])
def test_a_url_for_a_chat_backend_is_passed_on_or_refused_and_never_fetched(
    gating: Gating, wire: Tripwire, block: Any, in_result: bool
) -> None:
    with telling(backend_said()) as backend:
        gate = gating(chat_row("local", backend.url), retry=Retry(retries=0))
        for url in urls(wire):
            before = len(backend.asked)
            answer = gate.ask(asked(block(url), in_result=in_result))
            if answer.status == 200 and block is image:
                assert url in json.dumps(backend.asked[-1])
            elif answer.status == 200:
                assert url not in json.dumps(backend.asked[-1]), "a text stands in its place"
            else:
                assert (answer.status, len(backend.asked)) == (400, before), answer.raw
    assert wire.met == 0


@pytest.mark.parametrize("url", WRONG)
def test_an_image_by_anything_but_the_web_is_refused_by_its_path(gating: Gating, url: str) -> None:
    """A backend on this machine or in this network may open whatever it is told to."""
    with telling(backend_said()) as backend:
        gate = gating(chat_row("local", backend.url), retry=Retry(retries=0))
        answer = gate.ask(asked(image(url)))
        assert (answer.status, backend.asked) == (400, [])
    assert "messages.0.content.1.source" in answer.json["error"]["message"]
    assert "http" in answer.json["error"]["message"]


@pytest.mark.parametrize("row", [claude, other])
@pytest.mark.parametrize("block", [image, document])
def test_a_url_for_a_backend_of_the_same_dialect_goes_as_it_came(
    gating: Gating, a: Simulator, wire: Tripwire, row: Any, block: Any
) -> None:
    gate = gating(row(a), retry=Retry(retries=0))
    for url in [*urls(wire), *WRONG[:2]]:
        gate.ask(asked(block(url)))
        assert url in json.dumps(a.journal()[-1]["request"] if "request" in a.journal()[-1] else a.journal()[-1])
    assert wire.met == 0

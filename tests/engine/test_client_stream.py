"""ClientStream: what goes to the client from inside the backend's reads, and who is set going by it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from clew.engine.client_stream import ClientStream
from clew.exchange.answering import BackendAnswer
from clew.http.client.connection import ClientConnection
from clew.http.responder import Responder


class Backend:
    """A backend's answer, which may be stopped and set going."""

    heard_at = shown_at = 0.0

    def __init__(self) -> None:
        self.said: list[str] = []

    def pause(self) -> None:
        self.said.append("pause")

    def resume(self) -> None:
        self.said.append("resume")


class Client:
    """Takes whatever comes."""

    started = True

    def __init__(self) -> None:
        self.got: list[bytes] = []

    def push(self, data: bytes) -> bool:
        self.got.append(data)
        return True

    def flow(self) -> Callable[[bytes], bool]:
        return self.push


class Scene:
    """An answer with a seal that waits for the store."""

    def __init__(self) -> None:
        self.source, self.client, self.waiting = Backend(), Client(), list[Callable[[], None]]()
        self.stream = ClientStream(cast("Responder", self.client), cast("BackendAnswer", None), 1.0)
        refers = self.stream.secure(self.waiting.append)
        push = self.stream.flow(cast("ClientConnection", self.source))
        refers()
        push(b"sealed")

    def is_kept(self) -> tuple[list[bytes], list[str]]:
        self.waiting.pop()()
        return self.client.got, self.source.said


def test_what_waited_for_the_store_goes_out_when_it_is_kept_and_the_source_goes_on() -> None:
    """Design 4, law 8."""

    async def scene() -> None:
        assert Scene().is_kept() == ([b"sealed"], ["pause", "resume"])

    asyncio.run(scene())


def test_an_answer_that_is_over_sets_nothing_going_when_the_store_has_it() -> None:
    """Its connection may be somebody else's by then, who has stopped it for a client that is behind."""

    async def scene() -> None:
        over = Scene()
        over.stream.close()
        assert over.is_kept() == ([b"sealed"], ["pause"])

    asyncio.run(scene())

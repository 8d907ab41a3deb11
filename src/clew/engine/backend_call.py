"""A request to a backend and its answer, as they go over a connection of the pool. Nothing here waits: each step gives a
function that says whether its value is there yet (`Poll`)."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from functools import lru_cache, partial
from typing import Final, TypeAlias

from clew.engine.client_stream import ClientStream
from clew.errors import BackendBroken, BackendTimedOut, BackendUnreachable
from clew.exchange.commands import Ask, ReadBody
from clew.exchange.streamed import MOST_BYTES
from clew.http.client.connection import ClientConnection
from clew.http.client.exchange import ChunkFlow
from clew.http.client.message import ClientRequest, ResponseLimits
from clew.pipeline.stream.answer_stream import AnswerStream
from clew.upstream.endpoint import Endpoint, endpoint_of
from clew.upstream.pool import Pool, PooledCall
from clew.upstream.reply import backend_error_of

WAITING: Final = object()
"""There is no value yet."""

Poll: TypeAlias = Callable[[], object]
"""The value that is waited for, or WAITING. Raises what went wrong instead."""

_endpoint_of = lru_cache(maxsize=256)(endpoint_of)
"""Bases come from the settings alone, so there are few."""

LIMITS = ResponseLimits(body_bytes=MOST_BYTES)

END_SECONDS = 0.25
"""How long a backend may keep the connection open after the end event before it is closed."""


class _AnswerSink:
    """Where the reads of an open stream go. There may be thousands, and functions with closures take three times as much."""

    __slots__ = ("_after_read", "_answer", "_asked", "_client", "_push")

    def __init__(
        self,
        answer: AnswerStream,
        client: ClientStream,
        push: Callable[[bytes], object],
        asked: BackendCall,
        after_read: Callable[[], None] | None,
    ) -> None:
        self._answer = answer
        self._client = client
        self._push = push
        self._asked = asked
        self._after_read = after_read

    def put(self, data: bytes) -> None:
        new = self._answer.feed(data)
        if new and not self._push(new):
            self._client.falls_behind()
        if self._answer.ended:
            self._asked.end_soon()
        if self._after_read is not None:
            self._after_read()


class BackendCall(ABC):
    """One at a time, as often as an exchange asks somebody; and the commands of the exchange that are about it."""

    _poll: Poll | None = None
    """Looks whether the command that waits is done. None: no command waits, or one that only waits for its timer."""
    head_at = 0.0
    """When the head of the answer came, on the loop's clock."""
    _asked: PooledCall | None = None
    _dialling: asyncio.Task[ClientConnection] | None = None
    _on: ClientConnection | None = None
    """The connection that the request went out on."""
    _grace: asyncio.TimerHandle | None = None
    _size = 0

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._pieces: list[bytes] = []

    @abstractmethod
    def news(self) -> None:
        """Something happened that the waiting command may have waited for."""

    def _wait_for(self, poll: Poll) -> object:
        """The value, if it is there already."""
        value = poll()
        if value is WAITING:
            self._poll = poll
        return value

    def ask(self, command: Ask) -> object:
        """Send it; the head of the answer is waited for."""
        head = command.head
        endpoint = _endpoint_of(command.route.backend.url)
        request = ClientRequest(method=b"POST", target=head.target, headers=head.headers, body=command.body)
        self._asked = asked = self._pool.ask(endpoint, request, timeouts=command.timeouts, limits=LIMITS)
        on = asked.begin()
        if on is None:
            self._dial(asked.open())
        else:
            self._listen(on)
        return self._wait_for(self._head)

    def _dial(self, work: Coroutine[None, None, ClientConnection]) -> None:
        self._dialling = asyncio.get_running_loop().create_task(work)
        self._dialling.add_done_callback(lambda _: self.news())

    def _listen(self, on: ClientConnection) -> None:
        self._on = on
        on.listener = self

    def _head(self) -> object:
        dialling, asked = self._dialling, self._asked
        assert asked is not None
        if dialling is not None:
            if not dialling.done():
                return WAITING
            self._dialling = None
            if dialling.cancelled():
                raise BackendUnreachable(f"{asked.endpoint}: this gateway is shutting down")
            self._listen(dialling.result())
        on = self._on
        assert on is not None, "no backend was asked"
        if on.heard is not None:
            self.head_at, asked.request = on.heard_at, None
            return on.heard
        if on.error is not None and asked.is_stale(on.error):
            self._on = None
            self._dial(asked.open_again())
            return WAITING
        self._check(on)
        return WAITING

    @property
    def _endpoint(self) -> Endpoint:
        assert self._asked is not None, "no backend was asked"
        return self._asked.endpoint

    def _check(self, on: ClientConnection) -> None:
        """Raises BackendError if it failed."""
        if on.error is not None:
            raise backend_error_of(on.error, self._endpoint) from on.error

    def _taken(self) -> object:
        """What came of the body; b"" at its end."""
        on = self._on
        assert on is not None, "no backend was asked"
        if data := on.take():
            return data
        self._check(on)
        return b"" if on.is_over else WAITING

    def read_body(self, command: ReadBody) -> object:
        """All of the body. Raises BackendBroken when it is too long."""
        self._pieces, self._size = [], 0
        self._add(command.begun, command.most)
        return self._wait_for(partial(self._read, command.most))

    def _read(self, most: int) -> object:
        on = self._on
        assert on is not None, "no backend was asked"
        while (data := on.whole()) is None and (data := self._taken()) is not WAITING:
            assert isinstance(data, bytes)
            self._add(data, most)
        if not isinstance(data, bytes):
            return WAITING
        self._add(data, most)
        return b"".join(self._pieces)

    def _add(self, data: bytes, most: int) -> None:
        if data:
            self._pieces.append(data)
            self._size += len(data)
        if self._size > most:
            raise BackendBroken(f"{self._endpoint}: a body of more than {most} bytes")

    def no_content(self, within: float) -> BackendTimedOut:
        return BackendTimedOut(f"{self._endpoint}: no content within {within:g} s", phase="first content")

    def _pour(
        self, answer: AnswerStream, client: ClientStream, *, hides: bool, after_read: Callable[[], None] | None
    ) -> Poll:
        """The rest of the body to the client, from inside the reads. `after_read`: called after each that was fed to it."""
        on = self._on
        assert on is not None, "no backend was asked"
        sink = _AnswerSink(answer, client, client.flow(on, hides=hides), self, after_read)
        if not on.is_over:
            out = client.framed()
            on.pour(sink.put, None if out is None else ChunkFlow(answer, out, client))
        elif rest := on.take():
            sink.put(rest)
        if answer.ended:
            self.end_soon()
        return partial(self._passed, answer)

    def end_soon(self) -> None:
        """All was said: the end of the body is waited for a moment only."""
        on = self._on
        if on is not None and self._grace is None and not on.is_over:
            self._grace = asyncio.get_running_loop().call_later(END_SECONDS, on.abort)

    def _passed(self, answer: AnswerStream) -> object:
        on = self._on
        assert on is not None, "no backend was asked"
        if not on.is_over:
            return WAITING
        if on.sink_error is not None:
            raise on.sink_error  # not the backend's fault
        if not answer.ended:
            self._check(on)
        return None

    def end_call(self) -> None:
        """Keep the connection if the answer was read to its end, else close it. Once that is so, it may be another's."""
        if self._grace is not None:
            self._grace.cancel()
            self._grace = None
        if self._dialling is not None:
            self._dialling.cancel()
            self._dialling = None
        if self._on is not None:
            assert self._asked is not None
            self._on.listener = None
            self._asked.end()
        self._on = self._asked = None

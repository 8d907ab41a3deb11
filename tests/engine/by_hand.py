"""An engine without sockets: a test says, byte for byte, what a client asks and how a backend answers."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

from clew.engine.engine import Engine
from clew.engine.services import EngineServices
from clew.engine.snapshot import Snapshot
from clew.errors import ClewError
from clew.exchange.call import Call
from clew.http.client.connection import ClientConnection
from clew.http.message import HttpRequest, request_of
from clew.http.responder import WireResponder
from clew.http.transport_writer import TransportWriter
from clew.model.turn import Exchange, TurnRecord
from clew.pipeline.attempts import CoolDowns
from clew.store import Store
from clew.upstream.pool import Pool, PooledCall, PoolSettings
from tests.engine.kept_by_hand import KeptByHand

__all__ = ["ByHand", "Plug", "Seen", "in_use", "resting"]

_DATE = re.compile(rb"\r\ndate: [^\r]*")
_TURNS = 60


class Seen(NamedTuple):
    """What one question led to: what went to the backend, what the client got, what is told of it, and what is kept."""

    sent: tuple[bytes, ...]
    got: bytes
    told: tuple[Exchange, ...]
    error: str
    kept: tuple[TurnRecord, ...] = ()


class Plug:
    """A transport that keeps what is written."""

    def __init__(self, wrote: Callable[[bytes], None] = lambda data: None) -> None:
        self.written = b""
        self.closed = False
        self._wrote = wrote

    def write(self, data: bytes) -> None:
        self.written += data
        self._wrote(data)

    def writelines(self, parts: Sequence[bytes]) -> None:
        self.write(b"".join(parts))

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    abort = close

    def get_write_buffer_size(self) -> int:
        return 0

    def set_write_buffer_limits(self, **limits: int) -> None: ...
    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...


class Client(TransportWriter):
    """A client's connection, and its one request."""

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(asyncio.get_running_loop())
        self.responder = WireResponder(self, request.method, request.path, request.version, True)
        self.plug = Plug()
        self._transport = cast("asyncio.Transport", self.plug)
        self.done = asyncio.Event()
        self.error = ""

    def close(self) -> None:
        self.plug.close()

    reset = close

    def hand_over(self, work: Awaitable[None]) -> None:
        self._loop.create_task(self._await(work))

    async def _await(self, work: Awaitable[None]) -> None:
        try:
            await work
        except (Exception, asyncio.CancelledError) as error:
            self.error = str(error)
        if self.responder.holder is None:
            self.done.set()

    def released(self) -> None:
        self.done.set()


class _Pool(Pool):
    """Its connections lead to a script."""

    def __init__(self, played: Callable[[ClientConnection, bytes], None]) -> None:
        super().__init__()
        self.now = lambda: 0.0  # so that no connection has rested for long
        self._played = played

    async def _dial(self, asking: PooledCall) -> ClientConnection:
        connection = ClientConnection()
        plug = Plug(lambda data: self._played(connection, data))
        connection.connection_made(cast("asyncio.BaseTransport", plug))
        return connection


def in_use(pool: Pool) -> int:
    """Slots that nobody gave back yet."""
    return sum(PoolSettings().connections - connections.slots.free for connections in pool._endpoints.values())


def resting(hand: ByHand) -> int:
    """Connections that wait for the next request."""
    pool: Any = hand.engine.services.pool
    return sum(len(connections.resting) for connections in pool._endpoints.values())


class ByHand:
    """One engine. `snapshot` may be another one for each question."""

    def __init__(self, snapshot: Snapshot, store: KeptByHand | None = None) -> None:
        self.snapshot = snapshot
        self.client: Client | None = None
        """Whose question is answered."""
        self.slowly = False
        """Each piece of an answer comes in a turn of the loop of its own."""
        self._store = store
        self._id = ""
        self._told: list[Exchange] = []
        self._sent: list[bytes] = []
        self._answers: Sequence[Sequence[bytes]] = ()
        self._ends: Sequence[bool] = ()
        parts = EngineServices(
            pool=_Pool(self._play),
            snapshot=lambda: self.snapshot,
            store=cast("Store | None", store),
            commit_seconds=0.01,
            finished=lambda exchange, recording: self._told.append(exchange),
            new_id=lambda: self._id,
            wall=lambda: 7.0,
            clock=lambda: 5.0,
            jitter=lambda: 0.0,
        )
        self.engine = Engine(parts)

    async def asks(
        self, id: str, call: Call, body: bytes, answer: Sequence[bytes], *, ends: bool = False, then: Sequence[bytes] = ()
    ) -> Seen:
        """`answer` comes read by read, and with `ends` the connection ends behind it. `then`: what anyone who is asked next
        says, if it is something else."""
        self._id, self._answers, self._ends = id, [answer, then or answer], [ends, ends and not then]
        self._told, self._sent = [], []
        before = len(self._store.turns) if self._store else 0
        self.engine.services.cool_downs = CoolDowns()
        self.client = client = Client(request_of(method="POST", target="/v1/messages", headers=(), body=body))
        try:
            call.body = body
            work = self.engine.answer(call, client.responder)
        except ClewError as error:
            return Seen((), b"", (), str(error))
        if work is not None:
            client.hand_over(work)
        async with asyncio.timeout(120):
            await client.done.wait()
            for _ in range(_TURNS):  # a connection that ended is lost a few turns later
                await asyncio.sleep(0)
        got = _DATE.sub(b"", client.plug.written)
        kept = tuple(self._store.turns[before:]) if self._store else ()
        return Seen(tuple(self._sent), got, tuple(self._told), client.error, kept)

    def _play(self, connection: ClientConnection, data: bytes) -> None:
        self._sent.append(data)
        loop = asyncio.get_running_loop()
        again = len(self._sent) > 1
        steps: list[Callable[[], object]] = [partial(self._comes, connection, piece) for piece in self._answers[again]]
        if self._ends[again]:
            steps += (connection.eof_received, partial(connection.connection_lost, None))
        if self.slowly:
            loop.call_soon(_step_by_step, loop, steps)
        else:
            for step in steps:
                loop.call_soon(step)

    def _comes(self, connection: ClientConnection, piece: bytes) -> None:
        transport: Any = connection
        if not transport._transport.is_closing():
            connection.data_received(piece)


def _step_by_step(loop: asyncio.AbstractEventLoop, steps: Sequence[Callable[[], object]]) -> None:
    if steps:
        steps[0]()
        loop.call_soon(_step_by_step, loop, steps[1:])

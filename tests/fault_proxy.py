"""A proxy between a store and its PostgreSQL that does what networks do: it delays, swallows, cuts and refuses.

It listens on a port of 127.0.0.1 and leads to the socket of a server of `tests.postgres`. It has a thread and a loop of its
own; faults are switched from the test's thread and hold for what passes afterwards, on old connections too.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any, Literal, TypeAlias

from tests.postgres import PostgresServer

Fault: TypeAlias = Literal["none", "silent", "deaf", "refusing"]
"""`silent`: nothing passes, in either direction, and nobody is told (a partition; new connections are taken and get no word).
`deaf`: what clients say arrives, and no reply comes back. `refusing`: connections are closed at once."""

_SIZE = 65536


class FaultProxy:
    """`url` leads to the server by way of the faults."""

    def __init__(self, server: PostgresServer) -> None:
        self._target = str(server.folder / ".s.PGSQL.5432")
        self._fault: Fault = "none"
        self._switched = asyncio.Event()
        self.delay = 0.0
        """Seconds that each reply takes longer."""
        self.lose_reply_to = b""
        """The reply to the next message with these bytes is lost, and the connection with it."""
        self.lost = 0
        self.round_trips = 0
        """How often something was asked after a reply. It counts what one connection does while the others are silent."""
        self._is_answered = True
        self._links: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fault proxy", daemon=True)
        self._thread.start()
        self._server = self._call(lambda: asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port: int = self._server.sockets[0].getsockname()[1]

    def url(self, database_url: str, options: str = "") -> str:
        """The address of a database of the server, through this proxy."""
        name = database_url.split("/")[3].partition("?")[0]
        return f"postgresql://postgres@127.0.0.1:{self.port}/{name}?{options}"

    @property
    def fault(self) -> Fault:
        return self._fault

    @fault.setter
    def fault(self, fault: Fault) -> None:
        async def switch() -> None:
            self._fault = fault
            self._switched.set()
            self._switched = asyncio.Event()

        self._call(switch)

    def cut(self) -> None:
        """End all connections."""

        async def close_all() -> None:
            for writer in [*self._links]:
                writer.transport.abort()

        self._call(close_all)

    def close(self) -> None:
        self.fault = "refusing"
        self.cut()

        async def end() -> None:
            self._server.close()
            tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        self._call(end)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _call(self, make: Callable[[], Any]) -> Any:
        async def run() -> Any:
            return await make()

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(60)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._links.add(writer)
        back: asyncio.StreamWriter | None = None
        try:
            if self._fault == "refusing":
                return
            await self._while("silent")
            answers, back = await asyncio.open_unix_connection(self._target)
            self._links.add(back)
            losing = asyncio.Event()
            ways = [
                asyncio.ensure_future(self._ask(reader, back, losing)),
                asyncio.ensure_future(self._reply(answers, writer, losing)),
            ]
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
        except OSError:
            pass
        finally:
            for each in filter(None, (writer, back)):
                self._links.discard(each)
                with suppress(Exception):
                    each.close()

    async def _while(self, *faults: Fault) -> None:
        """Wait until none of these holds."""
        while self._fault in faults:
            await self._switched.wait()

    async def _wait(self, seconds: float) -> None:
        passed = self._loop.create_future()
        timer = self._loop.call_later(seconds, passed.set_result, None)
        try:
            await passed
        finally:
            timer.cancel()

    async def _ask(self, reader: asyncio.StreamReader, back: asyncio.StreamWriter, losing: asyncio.Event) -> None:
        while data := await reader.read(_SIZE):
            if self.lose_reply_to and self.lose_reply_to in data:
                self.lose_reply_to = b""
                losing.set()
            self.round_trips, self._is_answered = self.round_trips + self._is_answered, False
            await self._while("silent")
            back.write(data)
            await back.drain()

    async def _reply(self, answers: asyncio.StreamReader, writer: asyncio.StreamWriter, losing: asyncio.Event) -> None:
        while data := await answers.read(_SIZE):
            if losing.is_set():
                self.lost += 1
                return
            await self._wait(self.delay)
            await self._while("silent", "deaf")
            self._is_answered = True
            writer.write(data)
            await writer.drain()


@contextmanager
def fault_proxy(server: PostgresServer) -> Generator[FaultProxy]:
    proxy = FaultProxy(server)
    try:
        yield proxy
    finally:
        proxy.close()

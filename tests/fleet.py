"""Several gateways on one PostgreSQL, behind a balancer that takes any of them for each request.

Nothing is sticky: two requests of one client reach two gateways. `kill` is a `kill -9` of one of them, and a start brings it
back with the home that it had. Where none is meant to be left out, `use` waits until all of them have taken the backend.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from clew.engine.choices import ACTIVE
from clew.store.postgres.store import PostgresStore
from clew.testing.simulator import Background
from tests.forking import ClewProcess
from tests.waiting import until

SECRET: Final = "0123456789abcdef" * 4
"""That gateways which share a database share too."""
_PART: Final = 65536


class Balancer:
    """Listens on a port, and passes each request to one of several ports by chance, on a connection of its own."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._background = Background()
        self.ports: list[int] = []
        """Of those that take requests. One that is gone is passed over."""
        self.passed: list[int] = []
        """To which port each request went."""

    def __enter__(self) -> Self:
        self._background.__enter__()
        self._server = self._background.call(self._listen())
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._background.call(self._end())  # a loop of uvloop's that has a listener does not close
        self._background.__exit__(kind, error, trace)

    async def _end(self) -> None:
        self._server.close()

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=1 << 20)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back: asyncio.StreamWriter | None = None
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            body = await reader.readexactly(_length(head))
            answers, back = await self._connected()
            back.write(_closing(head, back.get_extra_info("peername")[1]) + body)
            passing = asyncio.ensure_future(_pass(answers, writer))
            leaving = asyncio.ensure_future(reader.read(1))  # a client says nothing more, so this is its end
            await asyncio.wait((passing, leaving), return_when=asyncio.FIRST_COMPLETED)
            for task in (passing, leaving):
                task.cancel()
            await asyncio.gather(passing, leaving, return_exceptions=True)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            for each in filter(None, (back, writer)):
                with suppress(OSError):
                    each.close()

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """To a gateway that takes connections. Raises OSError if there is none."""
        for port in self._chance.sample(self.ports, len(self.ports)):
            with suppress(ConnectionRefusedError):
                streams = await asyncio.open_connection("127.0.0.1", port)
                self.passed.append(port)
                return streams
        raise ConnectionRefusedError("no gateway takes connections")


async def _pass(answers: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while part := await answers.read(_PART):
        writer.write(part)
        await writer.drain()


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0


def _closing(head: bytes, port: int) -> bytes:
    """The same head for this gateway, on a connection that serves one request."""
    lines = [line for line in head.split(b"\r\n") if line and not line.lower().startswith((b"connection:", b"host:"))]
    return b"\r\n".join([*lines, b"host: 127.0.0.1:%d" % port, b"connection: close", b"", b""])


class Fleet:
    """`with Fleet(config, folder, database) as fleet:`. Its folder has the gateways' homes: one for each."""

    def __init__(
        self, config: Path, folder: Path, database: str, *, environ: Mapping[str, str], count: int = 3, seed: int = 0
    ) -> None:
        self.homes: Sequence[Path] = [folder / f"home-{number}" for number in range(count)]
        self.database = database
        self.deaths = 0
        self._config = config
        self._environ = {**environ, "CLEW_SECRET": SECRET}
        self._chance = random.Random(seed)
        self._balancer = Balancer(self._chance)
        self._running: dict[Path, tuple[subprocess.Popen[Any], int]] = {}

    def __enter__(self) -> Self:
        self._balancer.__enter__()
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for home in [*self._running]:
            self._kill(home)
        self._balancer.__exit__(kind, error, trace)

    @property
    def is_running(self) -> bool:
        return bool(self._running)

    def one(self) -> int:
        """The process number of one of them."""
        process, _ = self._chance.choice([*self._running.values()])
        return process.pid

    @property
    def port(self) -> int:
        return self._balancer.port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def shares(self) -> list[int]:
        """How many requests each gateway got, the least first."""
        passed = self._balancer.passed
        return sorted(passed.count(port) for port in dict.fromkeys(passed))

    def environment(self, home: Path) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], **self._environ, "CLEW_HOME": str(home)}

    def start(self) -> None:
        """Those that do not run."""
        for home in self.homes:
            if home not in self._running:
                self._running[home] = self._started(home)
        self._balancer.ports = [port for _, port in self._running.values()]

    def kill(self) -> None:
        """`kill -9` of one of them, by chance. It stays away until it is started."""
        self.deaths += 1
        self._kill(self._chance.choice([*self._running]))

    def restart(self) -> None:
        """One dies, and is there again."""
        self.kill()
        self.start()

    def use(self, backend: str) -> None:
        """As `clew use`, with more patience: until all that live have taken it."""
        with PostgresStore(self.database) as store:
            store.set(ACTIVE, backend, at=time.time()).result(120)
            living = {process.pid for process, _ in self._running.values()}
            until(lambda: {each.pid for each in store.gateways() if each.active == backend} >= living)

    def waiting(self) -> list[str]:
        """Turns that are on one machine alone."""
        return [file.name for home in self.homes for file in home.glob("spool/*.turn")]

    def _started(self, home: Path) -> tuple[subprocess.Popen[Any], int]:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        asked = ["serve", "--config", self._config, "--port", "0", "--no-admin", "--json"]
        with (home / "log").open("a") as log:
            pipes: Any = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": log, "text": True}
            process = ClewProcess(asked, patient=True, env=self.environment(home), **pipes)
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, (home / "log").read_text()[-2000:]
        return process, int(json.loads(line)["url"].rpartition(":")[2])

    def _kill(self, home: Path) -> None:
        process, _ = self._running.pop(home)
        process.kill()
        process.wait(120)
        assert process.stdout is not None
        process.stdout.close()

"""A gateway's admin inside a test, with the settings of a home: in a thread with a loop of its own."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Self

from clew.admin.listening import Admin, serve_admin
from clew.admin.services import AdminServices
from clew.engine.runtime import Runtime, build_runtime
from clew.settings.home import Home
from clew.settings.load import load
from clew.testing.simulator import Background

__all__ = ["Gateway"]


class Gateway:
    """Enter it, and talk to its `url`, with its `token`."""

    def __init__(self, home: Path, key: str = "", commit_seconds: float = 120.0) -> None:
        self._home = Home(home)
        self._key = key
        self._commit_seconds = commit_seconds
        self._background = Background()
        self.runtime: Runtime
        self.admin: Admin

    def __enter__(self) -> Self:
        self._background.__enter__()
        self._background.call(self._start())
        return self

    def __exit__(self, *error: object) -> None:
        self._background.call(self._stop())
        self._background.__exit__(None, None, None)

    async def _start(self) -> None:
        environ = {"CLEW_HOME": str(self._home.root)}
        loaded, home = load(None, environ), self._home.make()
        self.runtime = runtime = await build_runtime(loaded, home, environ=environ, commit_seconds=self._commit_seconds)
        runtime.keep_up()
        self.admin = await serve_admin(
            current=runtime.current,
            store=runtime.store,
            hub=runtime.hub,
            home=self._home,
            port=0,
            name="t",
            runtime=runtime,
            key=self._key,
        )

    async def _stop(self) -> None:
        await self.admin.close()
        await self.runtime.close()

    @property
    def url(self) -> str:
        return self.admin.url

    @property
    def token(self) -> str:
        return self.admin.token

    @property
    def services(self) -> AdminServices:
        """Of the admin, which is loaded if nobody connected yet."""

        async def load() -> AdminServices:
            return (await self.admin.load()).services

        return self._background.call(load())

    def drain(self, seconds: float) -> None:
        self._background.call(self.admin.drain(seconds))

    def answering(self) -> int:
        """Answers of conversations that are not over."""

        async def count() -> int:
            return sum(task.get_name() == "clew conversation" for task in asyncio.all_tasks())

        return self._background.call(count())

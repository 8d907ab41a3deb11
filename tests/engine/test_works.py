"""What others change about a process that runs: whom it trusts on the way out, and what it remembers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from clew.engine.call import Call
from clew.engine.works import build_works
from clew.errors import BackendUnreachable
from clew.settings.home import Home
from clew.settings.load import load
from clew.store import SqliteStore
from clew.upstream.endpoint import Endpoint
from tests.store.turns import recorded, turn
from tests.upstream.certificates import Certificate
from tests.upstream.conftest import certificate, play
from tests.upstream.peers import Play, saying, site
from tests.upstream.test_pool import OK, fetch

__all__ = ["certificate", "play"]

pytestmark = pytest.mark.slow


def test_a_ca_file_is_taken_over_by_a_gateway_that_runs(play: Play[Any], certificate: Certificate, tmp_path: Path) -> None:
    """As all else in the file: from the next connection on."""
    file, environ = tmp_path / "clew.toml", {"CLEW_HOME": str(tmp_path)}
    file.write_text('[store]\nurl = "off"\n')

    async def scene() -> None:
        works = await build_works(load(file, environ), Home(tmp_path).make(), file=file, environ=environ, logs=False)
        async with site(saying(OK), context=certificate.context()) as place:
            endpoint = Endpoint("localhost", place.port, True)
            with pytest.raises(BackendUnreachable):
                await fetch(works.pool, endpoint)
            file.write_text(f'ca_file = "{certificate.file}"\n[store]\nurl = "off"\n')
            for _ in range(2):  # a file is read once it has been left alone
                await asyncio.to_thread(works.current.glance)
            assert await fetch(works.pool, endpoint) == (200, b"hello")
        await works.close()

    play(scene())


def test_what_another_process_deletes_is_forgotten_here_too(play: Play[Any], tmp_path: Path) -> None:
    """`clew forget` beside a gateway, or another of its workers."""
    environ, home = {"CLEW_HOME": str(tmp_path)}, Home(tmp_path).make()
    long = b'{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"%b"}]}' % (b"A canary sings. " * 2000)

    async def scene() -> None:
        works = await build_works(load(None, environ), home, environ=environ, logs=False)
        histories = works.engine.parts.histories
        histories.read(Call(body=long))
        assert histories.bytes > len(long)
        with SqliteStore(home.store) as other:
            other.record(turn(recorded("r", thread="t"))).result(5)
            other.forget("local", "t", at=2e9).result(5)
        await asyncio.to_thread(works.current.glance)
        assert histories.bytes == 0
        await works.close()

    play(scene())

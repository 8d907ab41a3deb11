"""What others change about a process that runs: whom it trusts on the way out, what it keeps, and what it remembers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clew.engine.runtime import Runtime, build_runtime
from clew.errors import BackendUnreachable
from clew.exchange.call import Call
from clew.model.turn import Bodies
from clew.settings.home import Home
from clew.settings.load import load
from clew.store.sqlite.store import SqliteStore
from clew.upstream.endpoint import Endpoint
from tests.store.test_bodies import WHOLE
from tests.store.turns import recorded, turn
from tests.upstream.certificates import Certificate, make_certificate
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
        runtime = await build_runtime(load(file, environ), Home(tmp_path).make(), file=file, environ=environ, logs=False)
        async with site(saying(OK), context=certificate.context()) as place:
            endpoint = Endpoint("localhost", place.port, True)
            with pytest.raises(BackendUnreachable):
                await fetch(runtime.pool, endpoint)
            file.write_text(f'ca_file = "{certificate.file}"\n[store]\nurl = "off"\n')
            for _ in range(2):  # a file is read once it has been left alone
                await asyncio.to_thread(runtime.current.poll)
            assert await fetch(runtime.pool, endpoint) == (200, b"hello")
        await runtime.close()

    play(scene())


def test_a_ca_file_that_comes_after_the_settings_that_name_it_is_taken_over(
    play: Play[Any], certificate: Certificate, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As one that is replaced; until then it is said once that it is not there."""
    file, late, environ = tmp_path / "clew.toml", tmp_path / "late.pem", {"CLEW_HOME": str(tmp_path)}
    file.write_text('[store]\nurl = "off"\n')

    async def polls(runtime: Runtime) -> None:
        for _ in range(3):
            await asyncio.to_thread(runtime.current.poll)

    async def scene() -> None:
        runtime = await build_runtime(load(file, environ), Home(tmp_path).make(), file=file, environ=environ, logs=False)
        async with site(saying(OK), context=certificate.context()) as place:
            file.write_text(f'ca_file = "{late}"\n[store]\nurl = "off"\n')
            await polls(runtime)
            assert "ca_file: there is no such file" in runtime.current.problem
            late.write_bytes(certificate.file.read_bytes())
            await polls(runtime)
            assert runtime.current.problem == ""
            assert await fetch(runtime.pool, Endpoint("localhost", place.port, True)) == (200, b"hello")
        await runtime.close()

    play(scene())
    assert caplog.text.count("there is no such file") == 1


def test_another_ca_file_of_the_same_name_is_taken_over_too(
    play: Play[Any], certificate: Certificate, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    """A renewed authority; one that cannot be used changes nothing, and is said; and who is not trusted any more is not
    asked any more, on a connection that rests neither."""
    other = make_certificate(tmp_path_factory.mktemp("other"), "DNS:localhost")
    file, trusted, environ = tmp_path / "clew.toml", tmp_path / "ca.pem", {"CLEW_HOME": str(tmp_path)}
    file.write_text(f'ca_file = "{trusted}"\n[store]\nurl = "off"\n')
    trusted.write_bytes(other.file.read_bytes())

    async def replaced(runtime: Runtime, text: bytes) -> None:
        trusted.with_suffix(".new").write_bytes(text)
        trusted.with_suffix(".new").replace(trusted)
        for _ in range(2):  # a file is read once it has been left alone
            await asyncio.to_thread(runtime.current.poll)

    async def scene() -> None:
        runtime = await build_runtime(load(file, environ), Home(tmp_path).make(), file=file, environ=environ, logs=False)
        async with site(saying(OK), context=certificate.context()) as place:
            endpoint = Endpoint("localhost", place.port, True)
            with pytest.raises(BackendUnreachable):
                await fetch(runtime.pool, endpoint)
            await replaced(runtime, certificate.file.read_bytes())
            assert await fetch(runtime.pool, endpoint) == (200, b"hello")
            await replaced(runtime, b"nothing of the kind")
            assert "ca_file: there is no certificate in that file" in runtime.current.problem
            assert await fetch(runtime.pool, endpoint) == (200, b"hello")
            await replaced(runtime, other.file.read_bytes())
            assert runtime.current.problem == ""
            with pytest.raises(BackendUnreachable):
                await fetch(runtime.pool, endpoint)
        await runtime.close()

    play(scene())


def test_what_another_process_deletes_is_forgotten_here_too(play: Play[Any], tmp_path: Path) -> None:
    """`clew forget` beside a gateway, or another of its workers."""
    environ, home = {"CLEW_HOME": str(tmp_path)}, Home(tmp_path).make()
    long = b'{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"%b"}]}' % (b"A canary sings. " * 2000)

    async def scene() -> None:
        runtime = await build_runtime(load(None, environ), home, environ=environ, logs=False)
        histories = runtime.engine.services.histories
        histories.read(Call(body=long))
        assert histories.bytes > len(long)
        with SqliteStore(home.root / "clew.db") as other:
            other.record(turn(recorded("r", thread="t"))).result(120)
            other.forget("local", "t", at=2e9).result(120)
        await asyncio.to_thread(runtime.current.poll)
        assert histories.bytes == 0
        await runtime.close()

    play(scene())


def follow(text: str, then: str, home: Path, judge: Callable[[Runtime], None]) -> None:
    """A process that began with `text`, and has read `then` since."""
    file, environ = home / "clew.toml", {"CLEW_HOME": str(home)}
    file.write_text(text)

    async def scene() -> None:
        runtime = await build_runtime(load(file, environ), Home(home).make(), file=file, environ=environ, logs=False)
        file.write_text(then)
        for _ in range(2):  # a file is read once it has been left alone
            await asyncio.to_thread(runtime.current.poll)
        judge(runtime)
        await runtime.close()

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("began", "then", "title", "bodies"),
    [
        ("", "content = false", "", None),
        ("content = false", "", "A title", WHOLE),
        ("", 'bodies = "off"', "A title", None),
        ('bodies = "off"', 'bodies = "all"', "A title", WHOLE),
    ],
)
def test_what_is_to_be_kept_is_taken_over_too(
    tmp_path: Path, began: str, then: str, title: str, bodies: Bodies | None
) -> None:
    """Anyone who does not want to be recorded any more need not stop anything for it."""
    said = turn(recorded("r"), exchange="x", bodies=WHOLE)

    def judge(runtime: Runtime) -> None:
        assert runtime.store is not None
        runtime.store.record(said).result(120)

    follow(f"[store]\n{began}\n", f"[store]\n{then}\n", tmp_path, judge)
    with SqliteStore(tmp_path / "clew.db") as store:
        assert (store.threads("local")[0].title, store.bodies("local", "x")) == (title, bodies)


def test_what_only_a_start_can_change_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The rest of the file holds all the same."""

    def judge(runtime: Runtime) -> None:
        assert runtime.current.settings.gateway.drain_seconds == 7

    then = "[gateway]\nport = 4000\nworkers = 2\ndrain_seconds = 7\n"
    follow("[gateway]\nport = 3000\n", then, tmp_path, judge)
    assert "restart the gateway to apply: gateway.port, gateway.workers" in caplog.messages

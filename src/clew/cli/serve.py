"""`clew serve`: the gateway, until Ctrl-C.

Whatever is slow is imported when clients can already connect. One process does it all, unless `--workers` asks for more:
then this one is their parent, and has the admin.
"""

from __future__ import annotations

import asyncio
import errno
import os
import time
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clew.cli.endings import Failed, told

if TYPE_CHECKING:
    from clew.admin.server import Admin
    from clew.gateway.plan import Plan
    from clew.gateway.process import Gateway
    from clew.gateway.report import Report
    from clew.gateway.signals import Ending
    from clew.gateway.workers import Workers
    from clew.gateway.works import Works
    from clew.settings.home import Home
    from clew.settings.load import Loaded
    from clew.settings.running import Running

__all__ = ["serve"]

_EXAMPLES = """\b
Examples:
  clew serve                      with what clew.toml says, or with the keys that the environment has
  clew serve --demo               three simulated backends: nothing to configure, no key needed
  clew serve --port 8080 --workers 2
  CLEW_KEY=… clew serve --host 0.0.0.0     others may call it; say by which name in `hosts`

\b
SIGTERM or Ctrl-C lets running answers finish; a second one ends at once.

\b
Exit status: 0 ended by a signal, 1 it cannot listen or keep anything, 2 wrong usage,
5 the config or the keys cannot be used.
"""
_CLOSE_SECONDS = 2.0
_HASTE_SECONDS = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stage:
    """What was asked for, looked up."""

    plan: Plan
    loaded: Loaded
    home: Home
    environ: Mapping[str, str]
    workers: int
    admin: bool
    admin_is_asked_for: bool
    as_json: bool


@click.command(epilog=_EXAMPLES)
@click.option("--config", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="The settings file.")
@click.option("--host", metavar="ADDRESS", help="Where to listen; this machine alone unless the settings say otherwise.")
@click.option("--port", type=click.IntRange(0, 65535), metavar="N", help="For clients: 2539, or the next that is free.")
@click.option("--admin-port", type=click.IntRange(0, 65535), metavar="N", help="For the page and the API: 2540.")
@click.option("--workers", type=click.IntRange(1, 64), metavar="N", help="Processes that share the port.")
@click.option("--demo", is_flag=True, help="Three simulated backends, in a home of its own.")
@click.option("--no-admin", is_flag=True, help="For clients only: no page, no API.")
@click.option("--json", "as_json", is_flag=True, help="Say where it listens in one line of JSON.")
def serve(**options: Any) -> None:
    """Run the gateway: clients in front, any backend behind, switched while they talk."""
    from clew.http.loops import run

    with told():
        run(_serve(options))


async def _serve(options: Mapping[str, Any]) -> None:
    from clew.gateway.signals import Ending

    ending = Ending()
    ending.watch()
    async with _staged(options) as stage:
        await (_alone(stage, ending) if stage.workers == 1 else _with_workers(stage, ending))


# What was asked for.


@asynccontextmanager
async def _staged(options: Mapping[str, Any]) -> AsyncGenerator[_Stage]:
    if not options["demo"]:
        yield _stage(options, options["config"], os.environ)
        return
    from clew.cli.demo import demo

    async with demo(os.environ) as (file, environ):
        yield _stage(options, file, environ)


def _stage(options: Mapping[str, Any], file: Path | None, environ: Mapping[str, str]) -> _Stage:
    from clew.gateway.plan import Plan
    from clew.settings.home import home_of
    from clew.settings.load import load

    loaded = load(file, environ)
    wanted = loaded.settings.gateway
    given = {name: options[name] for name in ("host", "port", "admin_port") if options[name] is not None}
    plan = Plan(
        name=str(os.getpid()),
        host=given.get("host", wanted.host),
        port=given.get("port", wanted.port),
        admin_port=given.get("admin_port", wanted.admin_port),
        port_is_asked_for="port" in given or "gateway.port" in loaded.origins,
        named_file=str(file.absolute()) if file else "",
    )
    return _Stage(
        plan=plan,
        loaded=loaded,
        home=home_of(environ),
        environ=environ,
        workers=options["workers"] or wanted.workers,
        admin=not options["no_admin"],
        admin_is_asked_for="admin_port" in given or "gateway.admin_port" in loaded.origins,
        as_json=options["as_json"],
    )


# Serving.


async def _alone(stage: _Stage, ending: Ending) -> None:
    from clew.gateway.process import opened

    with _listening_at(stage.plan):
        gateway = await opened(stage.plan, stage.loaded, stage.home, environ=stage.environ)
    try:
        async with (
            gateway.load() as works,
            _beside(stage, works, gateway.url, gateway.key, ending, lambda: _own(gateway)),
        ):
            await ending.asked.wait()
            await gateway.drain(ending)
    finally:
        await gateway.server.close(grace=0)


def _own(gateway: Gateway) -> Sequence[Report]:
    from clew.gateway.report import Report

    return (Report(running=gateway.plane.running),)


async def _with_workers(stage: _Stage, ending: Ending) -> None:
    """The parent has the port, but takes no connection: the workers do."""
    import msgspec

    from clew.gateway.plan import check_exposure, url_of
    from clew.gateway.process import claim
    from clew.gateway.workers import Workers
    from clew.settings.gateway_key import load_key

    check_exposure(stage.plan, stage.home.make(), stage.environ)  # here, or every worker fails of it, one after the other
    with _listening_at(stage.plan):
        claimed = claim(stage.plan, reuse_port=True)
    with claimed as place:
        plan = msgspec.structs.replace(stage.plan, port=place.getsockname()[1], port_is_asked_for=True)
        key = load_key(stage.home, stage.environ)
        drain = stage.loaded.settings.gateway.drain_seconds
        workers = Workers(plan, stage.workers, stage.environ, drain)
        async with _kept(workers, ending) as running, _built(plan, stage, key) as works:
            if await _somebody_listens(workers, running):
                async with _beside(stage, works, url_of(plan.host, plan.port), key, ending, workers.reports):
                    await running
            await running


@asynccontextmanager
async def _kept(workers: Workers, ending: Ending) -> AsyncGenerator[asyncio.Future[None]]:
    """What keeps the workers; none of them is left behind it."""
    running = asyncio.ensure_future(workers.run(ending))
    try:
        yield running
    finally:
        running.cancel()
        await asyncio.wait({running})


@asynccontextmanager
async def _built(plan: Plan, stage: _Stage, key: str) -> AsyncGenerator[Works]:
    """The parent's own works, for the admin."""
    from clew.gateway.works import build_works

    works = await build_works(plan, stage.loaded, stage.home, environ=stage.environ, hidden=(key,))
    try:
        works.keep_up()
        yield works
    finally:
        await works.close()


async def _somebody_listens(workers: Workers, running: asyncio.Future[None]) -> bool:
    """Waits for it; not beyond the end of all workers, who may be told to end before one of them listens."""
    listening = asyncio.ensure_future(workers.listening.wait())
    await asyncio.wait({listening, running}, return_when=asyncio.FIRST_COMPLETED)
    listening.cancel()
    return not running.done()


def _greet(stage: _Stage, gateway: Running, key: str, admin: Admin | None) -> None:
    """Only now: with the store, the keys and both ports in hand, nothing that is said here can fail a moment later."""
    from clew.cli.greeting import admin_line, as_json, greeting

    for warning in (*stage.loaded.warnings, *_unseen(stage)):
        click.echo(f"warning: {warning}", err=True)
    if stage.as_json:
        click.echo(as_json(gateway))
        return
    click.echo(greeting(stage.loaded, gateway.url, key, stage.home, stage.plan.host))
    if admin:
        click.echo(admin_line(admin.login_url, str(admin.socket)))


def _unseen(stage: _Stage) -> Iterator[str]:
    """Workers and their parent meet in the store."""
    if stage.workers > 1 and stage.admin and stage.home.store_at(stage.loaded.settings.store.url) is None:
        yield (
            "without a store the admin knows of its workers only how many requests are under way: none that is over, "
            "no metrics of them, no backend that is left alone"
        )


@asynccontextmanager
async def _beside(
    stage: _Stage, works: Works, url: str, key: str, ending: Ending, planes: Callable[[], Sequence[Report]]
) -> AsyncGenerator[None]:
    """The admin, and the entry in the registry of what runs. `planes`: how each data plane fares, here or in the workers."""
    from clew.settings.running import Running, register, unregister

    admin = await _admin(stage, works, key, planes) if stage.admin else None
    place = {"admin_url": admin.url, "socket": str(admin.socket)} if admin else {}
    named = {"name": stage.plan.name, "config": stage.loaded.place}
    begun = Running(pid=os.getpid(), url=url, started=time.time(), **named, **place)
    gateway = register(stage.home, begun)
    draining = asyncio.ensure_future(_drained(admin, works, ending))
    try:
        _greet(stage, gateway, key, admin)
        yield
    finally:
        unregister(stage.home, gateway)
        if not ending.asked.is_set():
            draining.cancel()
        with suppress(asyncio.CancelledError):
            await draining
        if admin:
            with suppress(TimeoutError):
                await asyncio.wait_for(admin.close(), _HASTE_SECONDS if ending.insisted.is_set() else _CLOSE_SECONDS)


async def _drained(admin: Admin | None, works: Works, ending: Ending) -> None:
    """The chat ends as the data plane does: what comes may come to its end, for as long as the settings say."""
    await ending.asked.wait()
    if admin is None:
        return
    draining = asyncio.ensure_future(admin.drain(works.current.settings.gateway.drain_seconds))
    insisting = asyncio.ensure_future(ending.insisted.wait())
    await asyncio.wait({draining, insisting}, return_when=asyncio.FIRST_COMPLETED)
    for task in (draining, insisting):
        task.cancel()


async def _admin(stage: _Stage, works: Works, key: str, planes: Callable[[], Sequence[Report]]) -> Admin:
    """On its usual port, or on any other if that is taken and nobody asked for it."""
    from clew.admin.server import serve_admin
    from clew.web import routes

    ports = (stage.plan.admin_port,) if stage.admin_is_asked_for else (stage.plan.admin_port, 0)
    for port in ports:
        try:
            return await serve_admin(
                current=works.current,
                store=works.store,
                hub=works.hub,
                home=stage.home,
                port=port,
                name=stage.plan.name,
                planes=planes,
                works=works,
                pages=routes,
                key=key,
            )
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
    taken = f"port {stage.plan.admin_port} is in use: choose another with --admin-port, or a free one with --admin-port 0"
    raise Failed(taken)


@contextmanager
def _listening_at(plan: Plan) -> Generator[None]:
    try:
        yield
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            why = f"port {plan.port} is in use: choose another with --port, or a free one with --port 0"
        else:
            why = f"cannot listen on {plan.host}: {error.strerror or error}"
        raise Failed(why) from error

"""What runs beside the data plane of `clew serve`: the admin, the entry in the registry of what runs; and the greeting."""

from __future__ import annotations

import asyncio
import errno
import sys
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from clew.cli.busy_ports import moved, taken
from clew.cli.stage import Stage
from clew.store.kinds import OFF

if TYPE_CHECKING:
    from clew.admin.server import Admin
    from clew.engine.works import Works
    from clew.gateway.ending import Ending
    from clew.gateway.registration import ProcessRegistration
    from clew.gateway.workers import WorkerReport
    from clew.settings.gateway_key import KeyTable
    from clew.settings.running import Running

__all__ = ["Front", "beside"]

_CLOSING = 0.2
"""Of `closing_seconds`, for the admin: the store comes after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Front:
    """What clients meet, here or in the workers."""

    url: str
    key: str
    """The operator's own, for the line that is printed."""
    keys: KeyTable
    presence: ProcessRegistration
    planes: Callable[[], Sequence[WorkerReport]]
    """How each data plane fares."""


@asynccontextmanager
async def beside(stage: Stage, works: Works, front: Front, ending: Ending) -> AsyncGenerator[None]:
    """The admin, and where it is in the registry of what runs."""
    admin = await _admin(stage, works, front) if stage.admin else None
    place = {"admin_url": admin.url, "socket": str(admin.socket)} if admin else {}
    gateway = front.presence.enter(front.url, **place)
    draining = asyncio.ensure_future(_drained(admin, works, ending, front.planes))
    try:
        _greet(stage, gateway, front.key, admin)
        yield
    finally:
        front.presence.close()
        if not ending.asked.is_set():
            draining.cancel()
        with suppress(asyncio.CancelledError):
            await draining
        if admin:
            with suppress(TimeoutError):
                await asyncio.wait_for(admin.close(), works.current.settings.gateway.closing_seconds * _CLOSING)


async def _drained(admin: Admin | None, works: Works, ending: Ending, planes: Callable[[], Sequence[WorkerReport]]) -> None:
    """The chat ends as the data plane does: what comes may come to its end, for as long as the settings say."""
    await ending.asked.wait()
    seconds = works.current.settings.gateway.drain_seconds
    _say_what_is_waited_for(admin.open_streams if admin else sum(plane.running for plane in planes()), seconds)
    if admin is None:
        return
    draining = asyncio.ensure_future(admin.drain(seconds))
    insisting = asyncio.ensure_future(ending.insisted.wait())
    await asyncio.wait({draining, insisting}, return_when=asyncio.FIRST_COMPLETED)
    for task in (draining, insisting):
        task.cancel()


def _say_what_is_waited_for(answers: int, seconds: float) -> None:
    """To whoever pressed Ctrl-C, and wonders why nothing happens."""
    if answers and sys.stderr.isatty():
        who = "1 answer is finishing" if answers == 1 else f"{answers} answers are finishing"
        click.echo(f"\n{who} ({seconds:g} s at most); Ctrl-C again ends now", err=True)


async def _admin(stage: Stage, works: Works, front: Front) -> Admin:
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
                planes=front.planes,
                works=works,
                pages=routes,
                keys=front.keys,
            )
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
    raise taken(stage.plan.admin_port, stage.home, "--admin-port")


def _greet(stage: Stage, gateway: Running, key: str, admin: Admin | None) -> None:
    """Only now: with the store, the keys and both ports in hand, nothing that is said here can fail a moment later."""
    from clew.cli.greeting import admin_line, as_json, greeting

    for warning in (*stage.loaded.warnings, *_unseen(stage), *_moved(stage, gateway)):
        click.echo(f"warning: {warning}", err=True)
    if stage.as_json:
        click.echo(as_json(gateway))
        return
    click.echo(greeting(stage.loaded, gateway.url, key, stage.home, stage.plan.host))
    if admin:
        click.echo(admin_line(admin.login_url, str(admin.socket)))


def _moved(stage: Stage, gateway: Running) -> Iterator[str]:
    yield from moved(stage.plan.port, gateway.url, stage.home)
    if gateway.admin_url:
        yield from moved(stage.plan.admin_port, gateway.admin_url, stage.home)


def _unseen(stage: Stage) -> Iterator[str]:
    """Workers and their parent meet in the store."""
    if stage.workers > 1 and stage.admin and stage.loaded.settings.store.url == OFF:
        yield (
            "without a store the admin knows of its workers only how many requests are under way: none that is over, "
            "no metrics of them, no backend that is left alone"
        )

"""What runs beside the data plane of `clew serve`: the admin, the entry in the registry, and the greeting.

On a terminal the greeting's line to copy holds the key. Anywhere else (a journal, a container's log) it names where the key
is: a log is read by more people than a terminal.
"""

from __future__ import annotations

import asyncio
import errno
import os
import shlex
import sys
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from clew.cli.command import Failed
from clew.gateway.ending import READY, STOPPING, notify
from clew.store.kinds import OFF

if TYPE_CHECKING:
    from clew.admin.listening import Admin
    from clew.engine.runtime import Runtime
    from clew.gateway.ending import Ending
    from clew.gateway.plan import Plan
    from clew.gateway.process import ProcessRegistration
    from clew.gateway.workers import WorkerReport
    from clew.settings.home import Home
    from clew.settings.key_table import KeyTable
    from clew.settings.load import Loaded
    from clew.settings.processes import RegisteredGateway


_CLOSING = 0.2
"""The part of `closing_seconds` that the admin has: the store comes after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSetup:
    """The options of `clew serve`, the settings and the environment, looked up once."""

    plan: Plan
    loaded: Loaded
    home: Home
    environ: Mapping[str, str]
    workers: int
    admin: bool
    admin_is_asked_for: bool
    as_json: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DataPlaneAccess:
    """The data plane as clients meet it, in this process or in the workers."""

    url: str
    key: str
    """The operator's own, for the line that is printed."""
    keys: KeyTable
    registration: ProcessRegistration
    planes: Callable[[], Sequence[WorkerReport]]
    """The present state of each data plane."""


@asynccontextmanager
async def admin_beside(setup: ServeSetup, runtime: Runtime, access: DataPlaneAccess, ending: Ending) -> AsyncGenerator[None]:
    """Run the admin, and enter its address in the registry of running gateways."""
    admin = await _start_admin(setup, runtime, access) if setup.admin else None
    address = {"admin_url": admin.url, "socket": str(admin.socket)} if admin else {}
    gateway = access.registration.enter(access.url, **address)
    draining = asyncio.ensure_future(_drain_admin(admin, runtime, ending, access.planes))
    try:
        _greet(setup, gateway, access.key, admin)
        notify(READY, os.environ)
        yield
    finally:
        access.registration.close()
        if not ending.asked.is_set():
            draining.cancel()
        with suppress(asyncio.CancelledError):
            await draining
        if admin:
            with suppress(TimeoutError):
                await asyncio.wait_for(admin.close(), runtime.current.settings.gateway.closing_seconds * _CLOSING)


async def _start_admin(setup: ServeSetup, runtime: Runtime, access: DataPlaneAccess) -> Admin:
    """The admin on its usual port, or on another if that is taken and was not asked for."""
    from clew.admin.listening import serve_admin
    from clew.web import routes

    port = setup.plan.admin_port
    for each in (port,) if setup.admin_is_asked_for else (port, 0):
        try:
            return await serve_admin(
                current=runtime.current,
                store=runtime.store,
                hub=runtime.hub,
                home=setup.home,
                port=each,
                name=setup.plan.name,
                planes=access.planes,
                has_workers=setup.workers > 1,
                runtime=runtime,
                pages=routes,
                keys=access.keys,
            )
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
    raise port_taken(port, setup.home, "--admin-port")


async def _drain_admin(
    admin: Admin | None, runtime: Runtime, ending: Ending, planes: Callable[[], Sequence[WorkerReport]]
) -> None:
    """Let the chat end as the data plane does: answers may finish, for as long as the settings say."""
    await ending.asked.wait()
    notify(STOPPING, os.environ)
    wanted = runtime.current.settings.gateway
    answers = admin.open_streams if admin else sum(plane.running for plane in planes())
    if answers and sys.stderr.isatty():  # somebody pressed Ctrl-C, and wonders why nothing happens
        what = "1 answer is finishing" if answers == 1 else f"{answers} answers are finishing"
        click.echo(f"\n{what} ({wanted.seconds_to_drain:g} s at most); Ctrl-C again ends now", err=True)
    if admin is None:
        return
    await ending.wait_unless_insisted(wanted.keep_accepting_seconds)
    draining = asyncio.ensure_future(admin.drain(wanted.drain_seconds))
    insisting = asyncio.ensure_future(ending.insisted.wait())
    await asyncio.wait({draining, insisting}, return_when=asyncio.FIRST_COMPLETED)
    for task in (draining, insisting):
        task.cancel()


# Ports that are in use


def port_taken(port: int, home: Home, option: str) -> Failed:
    """The error where no other port will do: who has the port, and what to do."""
    from clew.gateway.plan import gateway_on, owner_of

    here = gateway_on(port, home)
    instead = f"use that one, end it with `kill {here.pid}`, or choose" if here else "choose"
    return Failed(
        f"port {port} is in use by {owner_of(port, home)}: {instead} another with {option}, or a free one with {option} 0"
    )


def moved_warning(wanted: int, url: str, home: Home) -> Iterator[str]:
    """A warning if a listener does not have the port that it usually has."""
    from clew.gateway.plan import owner_of

    if wanted not in (0, urlsplit(url).port):
        yield (
            f"port {wanted} is in use by {owner_of(wanted, home)}, so {url} is taken instead: "
            f"a client that calls port {wanted} reaches the other program"
        )


# The greeting


def _greet(setup: ServeSetup, gateway: RegisteredGateway, key: str, admin: Admin | None) -> None:
    """Print how to call the gateway. Store, keys and both ports are open by now, so nothing that is said can fail later."""
    import msgspec

    from clew.cli.output import visible_json

    warnings = [*setup.loaded.warnings]
    if setup.workers > 1 and setup.admin and setup.loaded.settings.store.url == OFF:  # they meet in the store
        warnings.append(
            "without a store, the web UI knows only how many requests the other workers have: it shows none of their "
            "finished requests, no metrics of them, and no paused backends"
        )
    warnings += moved_warning(setup.plan.port, gateway.url, setup.home)
    if gateway.admin_url:
        warnings += moved_warning(setup.plan.admin_port, gateway.admin_url, setup.home)
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
    if setup.as_json:  # for scripts: the addresses, and no secret
        click.echo(visible_json(msgspec.json.encode(gateway)).decode())
        return
    click.echo(greeting(setup.loaded, gateway.url, key, setup.home, setup.plan.host))
    if admin:  # the link lets one browser in, once
        click.echo(f"web UI: {admin.login_url}" if admin.login_url else f"admin: {admin.socket}")


def greeting(loaded: Loaded, url: str, key: str, home: Home, host: str) -> str:
    """How to call the gateway, and which backends it has."""
    from clew.cli.installation import active_now
    from clew.gateway.client import line_to_copy
    from clew.gateway.plan import WILDCARDS
    from clew.settings.home import CONFIG_VARIABLE, HOME_VARIABLE, home_of
    from clew.settings.load import config_file
    from clew.settings.own_keys import KEY_VARIABLE

    on_terminal, settings = sys.stdout.isatty(), loaded.settings
    if not on_terminal:
        is_given = os.environ.get(KEY_VARIABLE, "").strip() == key
        key = f"${KEY_VARIABLE}" if is_given else f"$(cat {shlex.quote(str(home.key))})"
    line = line_to_copy(settings, url, key, expands=not on_terminal)
    active = active_now(settings, home)
    names: list[str] = []
    for name in (*settings.backends, *settings.disabled):
        words = [*(["active"] if name == active else []), *(["disabled"] if name in settings.disabled else [])]
        names.append(f"{name} ({', '.join(words)})" if words else name)
    others = f", and on every other address of this machine ({host})" if host in WILDCARDS else ""
    # The variables that a second shell needs: a demo may have a home of its own, and `--config` names a file.
    needed = {} if home.root == home_of(os.environ).root else {HOME_VARIABLE: str(home.root)}
    usual = config_file({**os.environ, **needed})
    if loaded.file and (usual is None or loaded.file.absolute() != usual.absolute()):
        needed[CONFIG_VARIABLE] = str(loaded.file.absolute())
    prefix = "".join(f"{name}={shlex.quote(value)} " for name, value in needed.items())
    switches = f"`{prefix}clew use NAME` switches"
    return f"clew listens on {url}{others}\n  {line}\nbackends: {', '.join(names)}; {switches}"

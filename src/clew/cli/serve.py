"""`clew serve`: the gateway, until Ctrl-C.

Modules that are slow to load are imported when clients can already connect. One process does everything, unless `--workers`
asks for more: then this process is their parent, and has the admin.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clew.cli.command import Failed, report_errors
from clew.cli.serve_admin import DataPlaneAccess, ServeSetup, admin_beside, port_taken

if TYPE_CHECKING:
    import socket

    from clew.engine.runtime import Runtime
    from clew.gateway.ending import Deadline, Ending
    from clew.gateway.plan import Plan
    from clew.gateway.process import ProcessRegistration
    from clew.gateway.workers import Workers


_EXAMPLES = """\b
Examples:
  clew serve                      with the backends of clew.toml, or with the keys in the environment
  clew serve --demo               three simulated backends: nothing to configure, no key needed
  clew serve --port 8080 --workers 2
  CLEW_KEY=… clew serve --host 0.0.0.0     other machines may call it; `[gateway] hosts` lists its names

\b
SIGTERM or Ctrl-C: running answers may finish. A second one stops the gateway at once.

\b
Exit status: 0 ended by a signal, 1 it cannot listen, or could not write everything, 2 wrong usage, 5 the config or the keys
cannot be used.
"""


@click.command(epilog=_EXAMPLES)
@click.option("--config", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="The settings file.")
@click.option("--host", metavar="ADDRESS", help="The address to listen on. Default: this machine only.")
@click.option("--port", type=click.IntRange(0, 65535), metavar="N", help="For clients: 2539, or the next that is free.")
@click.option("--admin-port", type=click.IntRange(0, 65535), metavar="N", help="For the web UI and the admin API: 2540.")
@click.option("--workers", type=click.IntRange(1, 64), metavar="N", help="How many processes share the port.")
@click.option("--demo", is_flag=True, help="Run with three simulated backends, in a separate home directory.")
@click.option("--no-admin", is_flag=True, help="Serve clients only: no web UI and no admin API.")
@click.option("--debug", is_flag=True, help="Write debug lines to the log, as CLEW_DEBUG=1 does.")
@click.option("--json", "as_json", is_flag=True, help="Print the addresses as one line of JSON.")
def serve(**options: Any) -> None:
    """Run the gateway: clients call it, and it calls the backend that you choose, also in the middle of a conversation."""
    from clew.gateway.ending import Deadline
    from clew.http.loops import run

    with report_errors(), Deadline() as deadline:
        run(_serve(options, deadline))


async def _serve(options: Mapping[str, Any], deadline: Deadline) -> None:
    from clew.gateway.ending import Ending
    from clew.settings.variables import with_debug

    ending = Ending()
    async with AsyncExitStack() as stack:
        stack.enter_context(ending.handle_signals(deadline))
        file, environ = options["config"], os.environ
        if options["demo"]:
            from clew.cli.sim import demo

            file, environ = await stack.enter_async_context(demo(os.environ))
        setup = _look_up(options, file, with_debug(environ, debug=options["debug"]))
        await (_serve_alone if setup.workers == 1 else _serve_with_workers)(setup, ending, deadline)
    deadline.finish()


def _look_up(options: Mapping[str, Any], file: Path | None, environ: Mapping[str, str]) -> ServeSetup:
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
    return ServeSetup(
        plan=plan,
        loaded=loaded,
        home=home_of(environ),
        environ=environ,
        workers=options["workers"] or wanted.workers,
        admin=not options["no_admin"],
        admin_is_asked_for="admin_port" in given or "gateway.admin_port" in loaded.origins,
        as_json=options["as_json"],
    )


@contextmanager
def _port_errors(setup: ServeSetup) -> Generator[None]:
    """End the command with a sentence if the gateway cannot listen."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise port_taken(setup.plan.port, setup.home, "--port") from error
        raise Failed(f"cannot listen on {setup.plan.host}: {error.strerror or error}") from error


# In one process


async def _serve_alone(setup: ServeSetup, ending: Ending, deadline: Deadline) -> None:
    from clew.gateway.process import open_gateway
    from clew.gateway.workers import WorkerReport

    with _port_errors(setup):
        gateway = await open_gateway(setup.plan, setup.loaded, setup.home, environ=setup.environ)
    gateway.limit(deadline)
    access = DataPlaneAccess(
        url=gateway.url,
        key=gateway.key,
        keys=gateway.keys,
        registration=gateway.registration,
        planes=lambda: (WorkerReport(running=gateway.plane.running),),
    )
    try:
        async with gateway.load() as runtime, admin_beside(setup, runtime, access, ending):
            await ending.asked.wait()
            await gateway.drain(ending)
    finally:
        await gateway.close()


# With workers


async def _serve_with_workers(setup: ServeSetup, ending: Ending, deadline: Deadline) -> None:
    """The parent has the port, but accepts no connection: the workers do."""
    import msgspec

    from clew.gateway.plan import check_exposure, url_of
    from clew.gateway.process import ProcessRegistration, key_table
    from clew.gateway.workers import Workers
    from clew.settings.own_keys import load_key

    check_exposure(setup.plan, setup.home.make(), setup.environ)  # else every worker would fail, one after the other
    registration = ProcessRegistration(setup.home, setup.plan, setup.loaded)
    with closing(registration), _claim_port(setup, registration) as listener:
        port = listener.getsockname()[1]
        plan = msgspec.structs.replace(setup.plan, port=port, port_is_asked_for=True, workers=setup.workers)
        key = load_key(setup.home, setup.environ)
        drain, grace = setup.loaded.settings.gateway.seconds_to_drain, setup.loaded.settings.gateway.closing_seconds
        workers = Workers(plan, setup.workers, setup.environ, drain, lambda: setup.loaded.source, grace)
        deadline.drain_seconds, deadline.closing_seconds = (lambda: drain), (lambda: grace)
        deadline.before_the_end = workers.kill
        access = DataPlaneAccess(
            url=url_of(plan.host, plan.port),
            key=key,
            keys=key_table(key, setup.loaded, setup.home, {}),
            registration=registration,
            planes=workers.reports,
        )
        async with _run_workers(workers, ending) as running, _parent_works(plan, setup, access) as runtime:
            workers.taken = lambda: runtime.current.loaded.source
            # All workers may be told to end before one of them listens.
            listening = asyncio.ensure_future(workers.listening.wait())
            await asyncio.wait({listening, running}, return_when=asyncio.FIRST_COMPLETED)
            listening.cancel()
            if not running.done():
                async with admin_beside(setup, runtime, access, ending):
                    await running
            await running


def _claim_port(setup: ServeSetup, registration: ProcessRegistration) -> socket.socket:
    """The port that the workers will share. The gateway is registered before any client can connect."""
    from clew.gateway.plan import claim_port, url_of

    with _port_errors(setup):
        try:
            return claim_port(
                setup.plan, reuse_port=True, bound_to=lambda port: registration.enter(url_of(setup.plan.host, port))
            )
        except OSError:
            registration.close()  # so that the search for the owner of the port does not find this process
            raise


@asynccontextmanager
async def _run_workers(workers: Workers, ending: Ending) -> AsyncGenerator[asyncio.Future[None]]:
    """The task that keeps the workers running. No worker is left when it ends."""
    running = asyncio.ensure_future(workers.run(ending))
    try:
        yield running
    finally:
        running.cancel()
        await asyncio.wait({running})


@asynccontextmanager
async def _parent_works(plan: Plan, setup: ServeSetup, access: DataPlaneAccess) -> AsyncGenerator[Runtime]:
    """The store and the engine of the parent, for the admin."""
    from clew.gateway.process import build_gateway_runtime
    from clew.settings.named_keys import NamedKeys

    runtime = await build_gateway_runtime(plan, setup.loaded, setup.home, environ=setup.environ, hidden=(access.key,))
    try:
        access.keys.follow(NamedKeys(setup.home, runtime.store))
        with access.registration.reporting(runtime.current, access.keys, lambda: runtime.engine.services.limits.digest):
            await asyncio.to_thread(access.registration.catch_up, runtime.current)
            runtime.keep_up(access.registration.wakeup)
            yield runtime
    finally:
        access.registration.close()
        await runtime.close()

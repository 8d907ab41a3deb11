"""`clew serve`: the gateway, until Ctrl-C.

Whatever is slow is imported when clients can already connect. One process does it all, unless `--workers` asks for more:
then this one is their parent, and has the admin.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clew.cli.beside import Front, beside
from clew.cli.busy_ports import taken
from clew.cli.command import Failed, report_errors
from clew.cli.stage import Stage, staged

if TYPE_CHECKING:
    import socket

    from clew.engine.works import Works
    from clew.gateway.ending import Deadline, Ending
    from clew.gateway.plan import Plan
    from clew.gateway.process import Gateway
    from clew.gateway.registration import ProcessRegistration
    from clew.gateway.workers import WorkerReport, Workers

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
Exit status: 0 ended by a signal, 1 it cannot listen or keep anything, or had to end before all was kept, 2 wrong usage,
5 the config or the keys cannot be used.
"""


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
    from clew.gateway.ending import Deadline
    from clew.http.loops import run

    with report_errors(), Deadline() as deadline:
        run(_serve(options, deadline))


async def _serve(options: Mapping[str, Any], deadline: Deadline) -> None:
    from clew.gateway.ending import Ending

    ending = Ending()
    with ending.watched(deadline):
        async with staged(options) as stage:
            await (_alone if stage.workers == 1 else _with_workers)(stage, ending, deadline)
    deadline.finish()


async def _alone(stage: Stage, ending: Ending, deadline: Deadline) -> None:
    from clew.gateway.process import open_gateway

    with _listening_at(stage):
        gateway = await open_gateway(stage.plan, stage.loaded, stage.home, environ=stage.environ)
    gateway.limit(deadline)
    try:
        async with (
            gateway.load() as works,
            beside(stage, works, _front(gateway), ending),
        ):
            await ending.asked.wait()
            await gateway.drain(ending)
    finally:
        await gateway.close()


def _front(gateway: Gateway) -> Front:
    from clew.gateway.workers import WorkerReport

    def planes() -> Sequence[WorkerReport]:
        return (WorkerReport(running=gateway.plane.running),)

    return Front(url=gateway.url, key=gateway.key, keys=gateway.keys, presence=gateway.registration, planes=planes)


async def _with_workers(stage: Stage, ending: Ending, deadline: Deadline) -> None:
    """The parent has the port, but takes no connection: the workers do."""
    import msgspec

    from clew.gateway.plan import check_exposure, url_of
    from clew.gateway.registration import ProcessRegistration
    from clew.gateway.workers import Workers
    from clew.settings.gateway_key import KeyTable, load_key

    check_exposure(stage.plan, stage.home.make(), stage.environ)  # here, or every worker fails of it, one after the other
    presence = ProcessRegistration(stage.home, stage.plan, stage.loaded)
    with closing(presence), _claimed(stage, presence) as place:
        plan = msgspec.structs.replace(
            stage.plan, port=place.getsockname()[1], port_is_asked_for=True, workers=stage.workers
        )
        key = load_key(stage.home, stage.environ)
        drain, grace = stage.loaded.settings.gateway.drain_seconds, stage.loaded.settings.gateway.closing_seconds
        workers = Workers(plan, stage.workers, stage.environ, drain, lambda: stage.loaded.taken, grace)
        deadline.drain_seconds, deadline.closing_seconds = (lambda: drain), (lambda: grace)
        deadline.before_the_end = workers.kill
        url, keys = url_of(plan.host, plan.port), KeyTable(key, stage.home.keys)
        front = Front(url=url, key=key, keys=keys, presence=presence, planes=workers.reports)
        async with _kept(workers, ending) as running, _built(plan, stage, front) as works:
            workers.taken = lambda: works.current.loaded.taken
            if await _somebody_listens(workers, running):
                async with beside(stage, works, front, ending):
                    await running
            await running


def _claimed(stage: Stage, presence: ProcessRegistration) -> socket.socket:
    """The port that the workers will share. The gateway is in the registry before anybody can connect."""
    from clew.gateway.plan import claim_port, url_of

    with _listening_at(stage):
        try:
            return claim_port(
                stage.plan, reuse_port=True, bound_to=lambda port: presence.enter(url_of(stage.plan.host, port))
            )
        except OSError:
            presence.close()  # whoever looks for the owner of the port does not find this process
            raise


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
async def _built(plan: Plan, stage: Stage, front: Front) -> AsyncGenerator[Works]:
    """The parent's own works, for the admin."""
    from clew.gateway.process import build_works

    works = await build_works(plan, stage.loaded, stage.home, environ=stage.environ, hidden=(front.key,))
    try:
        with front.presence.reporting(works.current, front.keys):
            await asyncio.to_thread(front.presence.catch_up, works.current)
            works.keep_up(front.presence.wakeup)
            yield works
    finally:
        front.presence.close()
        await works.close()


async def _somebody_listens(workers: Workers, running: asyncio.Future[None]) -> bool:
    """Waits for it; not beyond the end of all workers, who may be told to end before one of them listens."""
    listening = asyncio.ensure_future(workers.listening.wait())
    await asyncio.wait({listening, running}, return_when=asyncio.FIRST_COMPLETED)
    listening.cancel()
    return not running.done()


@contextmanager
def _listening_at(stage: Stage) -> Generator[None]:
    plan = stage.plan
    try:
        yield
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise taken(plan.port, stage.home, "--port") from error
        raise Failed(f"cannot listen on {plan.host}: {error.strerror or error}") from error

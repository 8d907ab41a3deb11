"""`clew run`: a client with a gateway of its own, for as long as the client runs.

The gateway listens on a free port of this machine, with a key that nobody else ever sees. The client has the terminal: it
gets the terminal's signals itself, and those that are sent to this process from elsewhere are passed on. What the gateway
has to say goes to a file meanwhile, and a summary to standard error at the end.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

import click

from clew.cli.command import BadConfig, Failed, report_errors

if TYPE_CHECKING:
    from clew.gateway.ending import Deadline
    from clew.gateway.plan import Plan
    from clew.gateway.process import Gateway
    from clew.settings.home import Home
    from clew.settings.load import Loaded

__all__ = ["run"]

_EXAMPLES = """\b
Examples:
  clew run -- claude
  clew run --backend glm -- claude -p "Why is the sky blue?"
  clew run -- python my_agent.py       anything that reads ANTHROPIC_BASE_URL

\b
Exit status: the command's own; 127 if there is no such command, 126 if it cannot be run; before it starts, 1 failed, 2 wrong
usage or unknown name, 5 the config cannot be used.
"""
NOT_FOUND: Final = 127
NOT_RUNNABLE: Final = 126
_LAST_SECONDS: Final = 2.0
_LOG_BYTES: Final = 8 * 1024 * 1024


@click.command(epilog=_EXAMPLES, context_settings={"allow_interspersed_args": False})
@click.option("--backend", metavar="NAME", default="", help="Begin with this backend; others are not touched.")
@click.option("--config", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="The settings file.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_context
def run(context: click.Context, backend: str, config: Path | None, command: tuple[str, ...]) -> None:
    """Start COMMAND with a gateway of its own, and end with it."""
    from clew.gateway.ending import Deadline
    from clew.http.loops import run as run_loop
    from clew.settings.home import home_of
    from clew.settings.load import load

    _check_command(context, command)
    with report_errors(), Deadline() as deadline:
        loaded = load(config, os.environ)
        _check_backend(backend, loaded)
        for warning in loaded.warnings:
            click.echo(f"clew: {warning}", err=True)
        context.exit(run_loop(_run(_plan(backend, config), loaded, home_of(os.environ), command, deadline)))


def _check_command(context: click.Context, command: Sequence[str]) -> None:
    if shutil.which(command[0]) is None:
        there = Path(command[0]).exists() and "/" in command[0]
        click.echo(f"Error: {command[0]} {'cannot be run' if there else 'is not a command here'}", err=True)
        context.exit(NOT_RUNNABLE if there else NOT_FOUND)


def _check_backend(name: str, loaded: Loaded) -> None:
    backends, disabled = loaded.settings.backends, loaded.settings.disabled
    if name in disabled:
        raise BadConfig(f"{disabled[name].says}. Set it, and run this again.")
    if name and name not in backends:
        raise click.UsageError(f"There is no backend {name!r}; there are: {', '.join(backends)}.")


def _plan(backend: str, config: Path | None) -> Plan:
    from clew.gateway.plan import Plan

    return Plan(
        name=f"run-{os.getpid()}",
        port=0,
        named_file=str(config.absolute()) if config else "",
        choice=backend,
        run_key=f"clew_run_{secrets.token_urlsafe(32)}",
    )


async def _run(plan: Plan, loaded: Loaded, home: Home, command: Sequence[str], deadline: Deadline) -> int:
    from clew.gateway.client import RunSummary
    from clew.gateway.process import open_gateway

    tally = RunSummary()
    gateway = await open_gateway(plan, loaded, home)
    try:
        with _log(home) as log:
            async with gateway.load(log, tally.add):
                code = await _with_client(gateway, command)
                deadline.begin(_LAST_SECONDS + loaded.settings.gateway.closing_seconds)
                gateway.plane.draining = True
                await gateway.server.close(_LAST_SECONDS)
    finally:
        await gateway.close()
    for line in tally.lines():
        click.echo(line, err=True)
    deadline.finish(code)
    return code


async def _with_client(gateway: Gateway, command: Sequence[str]) -> int:
    """The command, from its start to its end. Its exit code, as a shell would say it."""
    from clew.gateway.client import variables

    ours = variables(gateway.loaded.settings, gateway.url, gateway.plan.run_key, os.environ)
    client: asyncio.Future[Process] = asyncio.get_running_loop().create_future()
    _pass_signals_on(client)
    client.set_result(process := await _started(command, {**os.environ, **ours}))
    code = await process.wait()
    return code if code >= 0 else 128 - code


async def _started(command: Sequence[str], environ: Mapping[str, str]) -> Process:
    try:
        return await asyncio.create_subprocess_exec(*command, env=environ)
    except OSError as error:
        raise Failed(f"{command[0]} cannot be started: {error.strerror or error}") from error


def _pass_signals_on(client: asyncio.Future[Process]) -> None:
    """What comes before the client waits for it. What the terminal sends, both hear: then it is the client's to answer."""
    loop = asyncio.get_running_loop()

    def pass_on(number: signal.Signals) -> None:
        client.add_done_callback(lambda started: _send(started.result(), number))

    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        loop.add_signal_handler(number, pass_on, number)
    for number in (signal.SIGINT, signal.SIGQUIT):
        loop.add_signal_handler(number, (lambda _: None) if sys.stdin.isatty() else pass_on, number)


def _send(client: Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        client.send_signal(number)


@contextmanager
def _log(home: Home) -> Generator[IO[str]]:
    """Where the gateway writes while the client has the terminal; the last one is kept."""
    path = home.make().root / "run.log"
    with suppress(FileNotFoundError):
        if path.stat().st_size > _LOG_BYTES:
            path.replace(path.with_suffix(".log.1"))
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a", encoding="utf-8") as log:
        yield log

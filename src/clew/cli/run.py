"""`clew run`: a client with a gateway of its own, for as long as the client runs.

The gateway listens on a free port of this machine, with a key that nobody else ever sees. The client has the terminal: it
gets the terminal's signals itself, and those that are sent to this process from elsewhere are passed on. The gateway's log
goes to a file meanwhile, and a summary to standard error at the end.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from clew.cli.command import BadConfig, Failed, report_errors, unknown_backend

if TYPE_CHECKING:
    from clew.cli.panel.gateway import PanelGateway
    from clew.gateway.ending import Deadline
    from clew.gateway.plan import Plan
    from clew.gateway.process import Gateway
    from clew.settings.load import Loaded


_EXAMPLES = """\b
Examples:
  clew run -- claude
  clew run --backend glm -- claude -p "Why is the sky blue?"
  clew run --backend openrouter --model x-ai/grok-code-fast-1 -- claude
  clew run -- codex                    Codex, with clew as its provider for this run only
  clew run -- opencode -m openai/gpt-5.5
  clew run -- python my_agent.py       any program that reads ANTHROPIC_BASE_URL or OPENAI_BASE_URL

\b
Exit status: the command's own; 127 if there is no such command, 126 if it cannot be run; before it starts, 1 failed, 2 wrong
usage or unknown name, 5 the config cannot be used.
"""
NOT_FOUND: Final = 127
NOT_RUNNABLE: Final = 126
_LAST_SECONDS: Final = 2.0


@click.command(epilog=_EXAMPLES, context_settings={"allow_interspersed_args": False})
@click.option(
    "--backend",
    metavar="NAME",
    default="",
    help="Start with this backend, or with a preset whose key is in the environment. Other runs are not changed.",
)
@click.option("--model", metavar="NAME", default="", help="The model to ask that backend for, whatever the client names.")
@click.option("--config", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="The settings file.")
@click.option("--debug", is_flag=True, help="Write debug lines to the log (run.log in clew's home), as CLEW_DEBUG=1 does.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_context
def run(
    context: click.Context, backend: str, model: str, config: Path | None, debug: bool, command: tuple[str, ...]
) -> None:
    """Start COMMAND with its own gateway, which ends with the command.

    On a terminal, Ctrl-] opens a panel over the client. It shows the backends, the last switches, and how many thinking
    blocks were kept, restored and left out. It can switch this run to another backend. Press the key twice to send it to the
    client. `[run] switch_key` in the settings chooses another key, or none.
    """
    from clew.gateway.ending import Deadline
    from clew.gateway.plan import Plan
    from clew.http.loops import run as run_loop
    from clew.settings.asked_backend import AskedBackend
    from clew.settings.load import load
    from clew.settings.variables import with_debug

    if model and not backend:
        raise click.UsageError("--model is the name of a model at one backend: name that backend with --backend.")
    if shutil.which(command[0]) is None:
        exists = Path(command[0]).exists() and "/" in command[0]
        click.echo(f"Error: {command[0]} {'cannot be run' if exists else 'is not a program on your PATH'}", err=True)
        context.exit(NOT_RUNNABLE if exists else NOT_FOUND)
    with report_errors(), Deadline() as deadline:
        environ = with_debug(os.environ, debug=debug)
        loaded = load(config, environ, asked=AskedBackend(backend, model))
        backends, disabled = loaded.settings.backends, loaded.settings.disabled
        if backend in disabled:
            raise BadConfig(f"{disabled[backend].says}. Set it, and run this again.")
        if backend and backend not in backends:
            raise unknown_backend(backend, [*backends, *disabled])
        for warning in loaded.warnings:
            click.echo(f"clew: {warning}", err=True)
        plan = Plan(
            name=f"run-{os.getpid()}",
            port=0,
            named_file=str(config.absolute()) if config else "",
            choice=backend,
            model=model,
            run_key=f"clew_run_{secrets.token_urlsafe(32)}",
        )
        context.exit(run_loop(_run(plan, loaded, environ, command, deadline)))


async def _run(plan: Plan, loaded: Loaded, environ: Mapping[str, str], command: Sequence[str], deadline: Deadline) -> int:
    from clew.cli.panel.gateway import PanelGateway
    from clew.engine.log.files import open_log_file
    from clew.gateway.client import RunSummary
    from clew.gateway.process import open_gateway
    from clew.settings.home import home_of

    tally, home = RunSummary(), home_of(environ)
    gateway = await open_gateway(plan, loaded, home, environ=environ)
    try:
        log = open_log_file(loaded.settings.log, home.make().root, "run.log")
        async with gateway.load(log, tally.add) as runtime:
            code = await _run_client(gateway, command, PanelGateway(runtime.current, tally))
            deadline.begin(_LAST_SECONDS + loaded.settings.gateway.closing_seconds)
            gateway.plane.draining = True
            await gateway.server.close(_LAST_SECONDS)
    finally:
        await gateway.close()
    for line in tally.lines():
        click.echo(line, err=True)
    deadline.finish(code)
    return code


async def _run_client(gateway: Gateway, command: Sequence[str], panel: PanelGateway) -> int:
    """Run the command to its end. Its exit code, as a shell would give it."""
    from clew.cli.panel.terminal import ClientTerminal, has_terminal
    from clew.cli.panel.typed import switch_key
    from clew.gateway.client import variables, with_options

    settings = gateway.loaded.settings
    environ = {**os.environ, **variables(settings, gateway.url, gateway.plan.run_key, os.environ)}
    command = with_options(command, gateway.url)
    client: asyncio.Future[Process] = asyncio.get_running_loop().create_future()
    _pass_signals_on(client)
    key = switch_key(settings.run.switch_key)
    try:
        if key is not None and has_terminal():
            with panel.following():
                return await ClientTerminal(key, panel.facts, panel.switch).run(command, environ, client.set_result)
        process = await asyncio.create_subprocess_exec(*command, env=environ)
    except OSError as error:
        raise Failed(f"{command[0]} cannot be started: {error.strerror or error}") from error
    client.set_result(process)
    code = await process.wait()
    return code if code >= 0 else 128 - code


def _pass_signals_on(client: asyncio.Future[Process]) -> None:
    """Send each signal to the client; one that comes before the client is there waits for it.

    The client gets the signals of a terminal itself, so this process ignores those.
    """
    loop = asyncio.get_running_loop()

    def send(process: Process, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            process.send_signal(number)

    def pass_on(number: signal.Signals) -> None:
        client.add_done_callback(lambda started: send(started.result(), number))

    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        loop.add_signal_handler(number, pass_on, number)
    for number in (signal.SIGINT, signal.SIGQUIT):
        loop.add_signal_handler(number, (lambda _: None) if sys.stdin.isatty() else pass_on, number)

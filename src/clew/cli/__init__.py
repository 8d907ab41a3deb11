"""The command line: one file per command, listed here, imported when used.

Exit codes: 0 ok, 1 failed, 2 usage, 3 upstream, 4 auth, 5 config, 130 Ctrl-C. Errors say what, why, and what to do next.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any, Final, NamedTuple, TextIO

import click

__all__ = ["COMMANDS", "INTERRUPTED", "main"]


INTERRUPTED: Final = 130
"""The exit code that a shell gives to a command that Ctrl-C ended."""


class _Row(NamedTuple):
    target: str
    does: str


COMMANDS: Final[Mapping[str, _Row]] = {
    "serve": _Row("clew.cli.serve:serve", "Run the gateway; this is what `clew` alone does."),
    "use": _Row("clew.cli.use:use", "Switch the backend, for all requests or for some; or list the backends."),
    "ask": _Row("clew.cli.ask:ask", "Ask one question, in a pipe or on a terminal."),
    "chat": _Row("clew.cli.chat:chat", "Chat with a model in the terminal."),
    "status": _Row("clew.cli.status:status", "Show the active backend, the running gateways and the last requests."),
    "ui": _Row("clew.cli.ui:ui", "Print a link to the web UI of a running gateway."),
    "log": _Row("clew.cli.log:log", "Show what happened to each request, and why."),
    "show": _Row("clew.cli.show:show_thread", "Show a conversation as it was said, or as a backend would get it."),
    "export": _Row("clew.cli.export:export", "Write conversations to a file or to standard output, in several formats."),
    "import": _Row(
        "clew.cli.importing:import_threads",
        "Import conversations from files: exports, transcripts of Claude Code and Codex.",
    ),
    "import-config": _Row(
        "clew.cli.import_config:import_config", "Carry over backends from LiteLLM, claude-code-router, cc-switch or Codex."
    ),
    "forget": _Row("clew.cli.forget:forget", "Delete a conversation completely."),
    "run": _Row("clew.cli.run:run", "Start a client with its own gateway."),
    "env": _Row("clew.cli.env:env", "Print the settings that connect a client to a running gateway."),
    "doctor": _Row("clew.cli.doctor:doctor", "Diagnose problems and suggest fixes."),
    "check": _Row("clew.cli.check:check", "Check a request or a transcript against the vendor's rules, offline."),
    "explain": _Row("clew.cli.explain:explain", "Explain one of clew's words, or a rule by its id."),
    "sim": _Row("clew.cli.sim:sim", "Run the simulator: a vendor's API and its rules, without a key."),
    "backends": _Row("clew.cli.backends:backends", "List the backends, add, remove and test them."),
    "models": _Row("clew.cli.models:models", "List the models that a client may ask for."),
    "config": _Row("clew.cli.config:config", "Create, find, check and show the settings file."),
    "store": _Row("clew.cli.store:store", "Move everything that is recorded to another store."),
    "keys": _Row("clew.cli.keys:keys", "Add, list, rotate and remove keys of the gateway."),
    "usage": _Row("clew.cli.usage:usage", "Show what was used and what it cost."),
    "audit": _Row("clew.cli.audit:audit", "Show who changed what."),
    "limits": _Row("clew.cli.limits:limits", "Limit what keys, principals and teams may use."),
    "statusline": _Row("clew.cli.statusline:statusline", "Print a line for Claude Code's status bar."),
    "completion": _Row("clew.cli.completion:completion", "Print a shell completion script."),
}
"""Every command: where it is, and what it does in one line."""


class _LazyGroup(click.Group):
    """A group that knows its commands by name and loads only the command that runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, function = COMMANDS[cmd_name].target.partition(":")
        return getattr(import_module(module), function)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does it. Click would look for similar names among the loaded commands, and none is loaded."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            alike = get_close_matches(args[0], COMMANDS, 1)
            if not alike:
                raise
            raise click.UsageError(f"{error.message} Did you mean {alike[0]!r}?", ctx) from None

    def main(self, *args: Any, **extra: Any) -> Any:
        """Open the streams that are closed. Let standard output take every character: as an escape where it has no other.

        What is piped in must be text: some locales let other bytes through as surrogates.
        """
        for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
            if getattr(sys, name) is None:  # closed: the next file that is opened would get its number
                _point_to_null(number, os.O_RDWR)
                setattr(sys, name, open(number, mode, encoding="utf-8"))  # noqa: SIM115  (for as long as the process lives)
        _replace_error_handling(sys.stdout, "strict", "backslashreplace")
        if not sys.stdin.isatty():
            _replace_error_handling(sys.stdin, "surrogateescape", "strict")
        return super().main(*args, **extra)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command. Ctrl-C that no command handles ends it as a shell expects, without a word.

        An unexpected error of the system ends it with one sentence. Click itself handles a closed pipe.
        """
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo(err=True)
            ctx.exit(INTERRUPTED)
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise
            _give_up_output()
            where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
            raise click.ClickException(f"{where}{error.strerror or error}") from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, row.does) for name, row in COMMANDS.items()])


_FIRST_STEPS: Final = """\b
First steps:
  clew serve --demo        a gateway with three simulated backends: no key, nothing to configure
  clew run -- claude       Claude Code with its own gateway; also codex, opencode, or your own program
  clew use NAME            switch the backend, also in the middle of a conversation
  clew log                 what happened to each request
  clew doctor              if something does not work
"""


@click.group(
    cls=_LazyGroup,
    invoke_without_command=True,
    epilog=_FIRST_STEPS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="clew", message="clew %(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """Switch models in the middle of a conversation, and keep the reasoning."""
    if context.invoked_subcommand is None:
        from clew.cli.serve import serve

        context.invoke(serve)


# Standard input, output and error


def _replace_error_handling(stream: TextIO, present: str, wanted: str) -> None:
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure and stream.errors == present:
        reconfigure(errors=wanted)


def _give_up_output() -> None:
    """Discard what standard output could not take: nobody could report a second failure at the end of the process."""
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError):
            _point_to_null(sys.stdout.fileno(), os.O_WRONLY)


def _point_to_null(number: int, flags: int) -> None:
    null = os.open(os.devnull, flags)
    if null != number:
        os.dup2(null, number)
        os.close(null)

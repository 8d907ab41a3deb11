"""What the commands share: options, and how a command ends when something is wrong.

An error is one sentence on stderr, and the exit code says which kind of error it was. A command that changed something also
says which of the running gateways have applied the change.
"""

from __future__ import annotations

import getpass
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from clew.errors import BackendError, BackendOverloaded, BackendRejected, ClewError, CredentialsExhausted, SettingsInvalid

if TYPE_CHECKING:
    from clew.settings.rollout import Rollout


_NOT_FOUND: Final = 404
_NO_GATEWAY: Final = "No gateway is running. The next one starts with this choice: `clew serve`, or `clew run -- claude`."

config_option = click.option(
    "--config",
    "file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The settings file. Default: `clew config path`.",
)
json_option = click.option("--json", "json_", is_flag=True, help="Print JSON.")
principal_option = click.option(
    "--principal",
    default="local",
    metavar="NAME",
    help="The owner of the conversations (the principal of a key). Default: local.",
)


class Failed(click.ClickException):
    """The command cannot go on: what, why, and what to do next."""

    exit_code = 1


class UpstreamFailed(Failed):
    """A backend failed, or cannot be reached."""

    exit_code = 3


class NotAllowed(Failed):
    """A credential is missing or was refused."""

    exit_code = 4


class BadConfig(Failed):
    """The settings cannot be used."""

    exit_code = 5


@contextmanager
def report_errors() -> Generator[None]:
    """End the command with the text and the exit code of a ClewError, and never with a traceback."""
    try:
        yield
    except ClewError as error:
        raise failure_for(error) from error


@contextmanager
def report_wrong_usage() -> Generator[None]:
    """End the command as wrong usage where a text on the command line cannot be read: no file has to be corrected."""
    try:
        yield
    except SettingsInvalid as error:
        raise click.UsageError(str(error)) from None


def failure_for(error: ClewError, hint: str = "", *, backend: str = "") -> Failed:
    """How the command ends for this error. `hint` is what the user can do now, `backend` the backend that was asked."""
    if isinstance(error, SettingsInvalid):
        kind = BadConfig
    elif isinstance(error, BackendError):
        refused = isinstance(error, CredentialsExhausted) or error.status in {401, 403}
        kind = NotAllowed if refused else UpstreamFailed
    else:
        kind = Failed
    return kind("\n".join(filter(None, (error_text(error, backend), hint))))


def error_text(error: ClewError, backend: str = "") -> str:
    """The error for a terminal. The text of a backend may be about anything ("model: nope"), so the backend is named."""
    from clew.chat.metrics import harmless  # late: most commands end well

    quoted = isinstance(error, BackendRejected | BackendOverloaded) and backend not in str(error)  # "" is in all of them
    missing = isinstance(error, BackendRejected) and error.status == _NOT_FOUND
    more = ". It has no model of this name: `clew models` lists the models" if missing else ""
    return harmless((f"{backend} says: {error}" if quoted else str(error)) + more)


def unknown_backend(name: str, known: Iterable[str]) -> click.UsageError:
    """The error for a backend that is not in the settings. It names those that are, and says how to add a preset of this
    name."""
    from difflib import get_close_matches

    from clew.backends.presets import presets  # late: most commands need no table

    names = sorted(known)
    alike = get_close_matches(name, names, 1)
    preset = next((row.name for row in presets().values() if name in (row.name, row.backend)), "")
    more = f" Did you mean {alike[0]!r}?" if alike else f" `clew backends add {preset}` adds it." if preset else ""
    return click.UsageError(f"There is no backend {name!r}. There are: {', '.join(names) or 'none'}.{more}")


def report_followed(followed: Rollout, *, json_: bool = False) -> None:
    """Say how many gateways have applied the change, and end with 1 if a process has not.

    With `json_` the command has printed `followed` as part of its JSON, and only the exit code is left to give.
    """
    from clew.cli.output import TextLine, print_page

    if not json_:
        print_page([TextLine(followed_line(followed), "quiet")])
    fail_if_behind(followed)


def followed_line(followed: Rollout, apart: int = 0) -> str:
    """How many gateways have applied the change. `apart` gateways have a choice of their own, so it is not for them."""
    if not followed.gateways:
        return _NO_GATEWAY
    count = followed.gateways - len({each.gateway for each in followed.behind}) - apart
    return f"{count} running {'gateway has' if count == 1 else 'gateways have'} applied it."


def fail_if_behind(followed: Rollout) -> None:
    """End with exit code 1 if a process has not applied the change. Each such process is named on standard error."""
    from clew.cli.output import printable

    for each in followed.behind:
        click.echo(printable(f"Gateway {each.gateway} (pid {each.pid}) has not applied it: {each.why}."), err=True)
        click.echo(printable(f"  To fix it: {each.fix}."), err=True)
    if followed.behind:
        raise click.exceptions.Exit(1)


def operator() -> str:
    """The user who runs this command, as the audit names them."""
    with suppress(KeyError, OSError):
        return f"{getpass.getuser()} (command line)"
    return "command line"

"""How a command ends when something is wrong: one sentence on stderr, and the exit code that says which kind it was."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import click

from clew.errors import BackendError, ClewError, CredentialsExhausted, SettingsInvalid

__all__ = ["BadConfig", "Failed", "NotAllowed", "UpstreamFailed", "ending", "told"]


class Failed(click.ClickException):
    """The command cannot go on: what, why, and what to do next."""

    exit_code = 1


class UpstreamFailed(Failed):
    """A backend, or the way to it."""

    exit_code = 3


class NotAllowed(Failed):
    """A credential is missing or was refused."""

    exit_code = 4


class BadConfig(Failed):
    """The settings cannot be used."""

    exit_code = 5


@contextmanager
def told() -> Generator[None]:
    """What clew raises on purpose ends the command with its own words and code, and never with a traceback."""
    try:
        yield
    except ClewError as error:
        raise ending(error) from error


def ending(error: ClewError, next_: str = "") -> Failed:
    """How the command ends for this error; `next_` is what its user can do now. A backend's own words may be in it."""
    from clew.chat.terminal import harmless  # late: most commands end well

    return _kind(error)("\n".join(filter(None, (harmless(str(error)), next_))))


def _kind(error: ClewError) -> type[Failed]:
    if isinstance(error, SettingsInvalid):
        return BadConfig
    if isinstance(error, BackendError):
        refused = isinstance(error, CredentialsExhausted) or error.status in {401, 403}
        return NotAllowed if refused else UpstreamFailed
    return Failed

"""How a command ends when something is wrong: one sentence on stderr, and the exit code that says which kind it was."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

import click

from clew.errors import BackendError, BackendOverloaded, BackendRejected, ClewError, CredentialsExhausted, SettingsInvalid

__all__ = ["BadConfig", "Failed", "NotAllowed", "UpstreamFailed", "ending", "in_words", "told"]

_NOT_FOUND: Final = 404


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


def ending(error: ClewError, next_: str = "", *, backend: str = "") -> Failed:
    """How the command ends for this error; `next_` is what its user can do now, `backend` who was asked."""
    return _kind(error)("\n".join(filter(None, (in_words(error, backend), next_))))


def in_words(error: ClewError, backend: str = "") -> str:
    """For a terminal. A backend's own words may be about anything ("model: nope"), so they are said to be its."""
    from clew.chat.terminal import harmless  # late: most commands end well

    quoted = isinstance(error, BackendRejected | BackendOverloaded) and backend not in str(error)  # "" is in all of them
    missing = isinstance(error, BackendRejected) and error.status == _NOT_FOUND
    more = ". It has no model of this name: `clew models` lists what can be asked for" if missing else ""
    return harmless((f"{backend} says: {error}" if quoted else str(error)) + more)


def _kind(error: ClewError) -> type[Failed]:
    if isinstance(error, SettingsInvalid):
        return BadConfig
    if isinstance(error, BackendError):
        refused = isinstance(error, CredentialsExhausted) or error.status in {401, 403}
        return NotAllowed if refused else UpstreamFailed
    return Failed

"""What a command says about the gateways that run, after it changed something that they should apply."""

from __future__ import annotations

from collections.abc import Iterator

import click

from clew.cli.pages import Line, printable, show
from clew.settings.following import Behind, Followed

__all__ = ["end_behind", "followed_line", "say_followed"]

_NONE = "No gateway runs now; the next one starts with it: `clew serve`, or `clew run -- claude`."


def say_followed(followed: Followed, *, json_: bool = False) -> None:
    """How many gateways have applied the change, and which processes have not. For these the command ends with 1.

    With `json_` the command has printed `followed` as part of its JSON, and only the exit code is left to give.
    """
    if not json_:
        show([Line(followed_line(followed), "quiet")])
    end_behind(followed)


def followed_line(followed: Followed, apart: int = 0) -> str:
    """`apart` gateways have a choice of their own, so this one is not for them."""
    late = len({each.gateway for each in followed.behind})
    count = followed.gateways - late - apart
    if not followed.gateways:
        return _NONE
    return f"{count} running {'gateway has' if count == 1 else 'gateways have'} applied it."


def end_behind(followed: Followed) -> None:
    """Exit code 1 if a process has not applied the change, with each of them on standard error."""
    for each in followed.behind:
        for line in _lines(each):
            click.echo(printable(line), err=True)
    if followed.behind:
        raise click.exceptions.Exit(1)


def _lines(behind: Behind) -> Iterator[str]:
    yield f"Gateway {behind.gateway} (pid {behind.pid}) has not applied it: {behind.why}."
    yield f"  To fix it: {behind.fix}."

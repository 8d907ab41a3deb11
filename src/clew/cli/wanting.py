"""The options that `clew ask` and `clew chat` share: who answers, and how."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Final

import click

from clew.cli.talk import EFFORTS, Wanted

__all__ = ["wanting"]


_OPTIONS: Final = (
    click.option(
        "--backend", metavar="NAME", default="", help="Who answers here; the thread is not pinned. Default: the active one."
    ),
    click.option(
        "--model",
        metavar="NAME",
        default="",
        help="Default: the one that answered last, else the backend's own, else Sonnet.",
    ),
    click.option("--effort", type=click.Choice(EFFORTS), default=None, help="How hard to think."),
    click.option("--show-thinking", is_flag=True, help="Ask for the thinking, and show its text instead of a count."),
    click.option("--no-thinking", is_flag=True, help="Ask the model not to think, where it can do without."),
    click.option("--system", metavar="TEXT", default="", help="A system prompt; @FILE reads it from a file."),
    click.option("-q", "--quiet", is_flag=True, help="Do not say on stderr what an answer took."),
)


def wanting(command: Callable[..., None]) -> Callable[..., None]:
    """A command with these options, which gets what was wanted as one value."""

    @wraps(command)
    def collected(
        backend: str,
        model: str,
        effort: str | None,
        show_thinking: bool,
        no_thinking: bool,
        system: str,
        quiet: bool,
        **others: Any,
    ) -> None:
        if show_thinking and no_thinking:
            raise click.UsageError("--show-thinking and --no-thinking cannot both be meant.")
        wanted = Wanted(
            backend=backend,
            model=model,
            effort=effort or "",
            thinking="off" if no_thinking else "",
            show_thinking=show_thinking,
            system=_text(system),
            quiet=quiet,
        )
        command(wanted, **others)

    taking: Callable[..., None] = collected
    for option in reversed(_OPTIONS):
        taking = option(taking)
    return taking


def _text(given: str) -> str:
    if not given.startswith("@"):
        return given
    try:
        return Path(given[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"--system {given}: {getattr(error, 'strerror', None) or error}.") from error

"""`clew doctor`: what is wrong here, and how to mend it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from clew.cli.json_output import say_json
from clew.cli.pages import Line, printable, show

if TYPE_CHECKING:
    from clew.admin.checkup import Check, Circumstances, Examined

__all__ = ["doctor"]

BROKEN: Final = 1

_TONES: Final = {"ok": "good", "warning": "head", "broken": "bad"}


@click.command()
@click.option(
    "--online", is_flag=True, help="Also reach each backend: its name, its address, its certificate. No key is sent."
)
@click.option("--json", "json_", is_flag=True, help="Print the findings as JSON.")
@click.pass_context
def doctor(ctx: click.Context, online: bool, json_: bool) -> None:
    """Look at the config, the files, the store, the gateways and what is around them; say how to mend what is wrong.

    Nothing is changed, and without --online nobody is called but gateways on this machine. No secret is shown.

    \b
    Examples:
      clew doctor
      clew doctor --online
      clew doctor --json | jq '.checks[] | select(.state != "ok")'

    Exit status: 0 if nothing is broken (warnings do not count), 1 if something is.
    """
    from clew.admin.checkup import circumstances_of

    at = circumstances_of(os.environ, Path.cwd(), time.time(), online=online)
    found = _as_json(at) if json_ else _as_page(at)
    ctx.exit(BROKEN if any(each.state == "broken" for each in found) else 0)


def _examined(at: Circumstances) -> Iterable[Examined]:
    from clew.admin.checkup import CHECKS, examined
    from clew.engine.redact import Redactor

    keys = [key.reveal() for backend in at.loaded.settings.backends.values() for key in backend.keys] if at.loaded else []
    redact = Redactor(keys)
    for check in CHECKS:
        with _progress(check):
            found = examined(check, at, redact)
        yield found


def _as_json(at: Circumstances) -> Sequence[Examined]:
    found = list(_examined(at))
    states = [each.state for each in found]
    told = {"broken": states.count("broken"), "warnings": states.count("warning"), "checks": found}
    say_json(told, indent=True)
    return found


def _as_page(at: Circumstances) -> Sequence[Examined]:
    """Told as it is found: the last checks may take a while."""
    found: list[Examined] = []
    for each in _examined(at):
        found.append(each)
        show(list(_lines(each)))
    broken = sum(each.state == "broken" for each in found)
    warnings = sum(each.state == "warning" for each in found)
    show([Line(_summary(broken, warnings), "bad" if broken else "good")])
    return found


def _lines(examined: Examined) -> Iterable[Line]:
    for finding in examined.findings:
        yield Line(f"{examined.name:<9} {finding.state:<8} {printable(finding.says)}", _TONES[finding.state])
        if finding.mend:
            yield Line(f"{'':<18} → {printable(finding.mend)}")


def _summary(broken: int, warnings: int) -> str:
    said = [f"{count} {word}" for count, word in ((broken, "broken"), (warnings, "with a warning")) if count]
    return ", ".join(said) if said else "all is well"


@contextmanager
def _progress(check: Check) -> Generator[None]:
    """What is being looked at, on stderr, for people. Gone before anything is printed."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(f"{check.name}: {check.does}"):
        yield

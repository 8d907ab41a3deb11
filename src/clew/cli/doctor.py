"""`clew doctor`: what is wrong here, and how to fix it."""

from __future__ import annotations

import os
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from clew.cli.output import TextLine, print_json, print_page, printable

if TYPE_CHECKING:
    from clew.admin.checkup import CheckResult


BROKEN: Final = 1

_TONES: Final = {"ok": "good", "warning": "head", "broken": "bad"}


@click.command()
@click.option("--online", is_flag=True, help="Also connect to each backend (DNS, address, certificate). No key is sent.")
@click.option("--json", "json_", is_flag=True, help="Print the findings as JSON.")
@click.pass_context
def doctor(ctx: click.Context, online: bool, json_: bool) -> None:
    """Check the config, the files, the store, the gateways and the environment for problems; suggest fixes.

    It changes nothing. Without --online it connects only to gateways on this machine. No secret is shown.

    \b
    Examples:
      clew doctor
      clew doctor --online
      clew doctor --json | jq '.checks[] | select(.state != "ok")'

    Exit status: 0 if nothing is broken (warnings do not count), 1 if something is.
    """
    from clew.admin.checkup import CHECKS, read_circumstances, run_check
    from clew.exchange.redact import Redactor

    at = read_circumstances(os.environ, Path.cwd(), time.time(), online=online)
    redact = Redactor(
        [key.reveal() for row in at.loaded.settings.backends.values() for key in row.keys] if at.loaded else []
    )
    examined: list[CheckResult] = []
    for check in CHECKS:
        with ExitStack() as stack:
            if sys.stderr.isatty():  # show what is being looked at; gone before anything is printed
                from rich.console import Console

                stack.enter_context(Console(stderr=True).status(f"{check.name}: {check.does}"))
            examined.append(run_check(check, at, redact))
        if not json_:
            print_page(_lines(examined[-1]))  # at once: the last checks may take a while
    states = [each.state for each in examined]
    broken, warnings = states.count("broken"), states.count("warning")
    if json_:
        print_json({"broken": broken, "warnings": warnings, "checks": examined}, indent=True)
    else:
        counts = [f"{count} {word}" for count, word in ((broken, "broken"), (warnings, "with a warning")) if count]
        print_page([TextLine(", ".join(counts) or "no problems", "bad" if broken else "good")])
    ctx.exit(BROKEN if broken else 0)


def _lines(examined: CheckResult) -> list[TextLine]:
    lines: list[TextLine] = []
    for finding in examined.findings:
        text = f"{examined.name:<10} {finding.state:<8} {printable(finding.says)}"
        lines.append(TextLine(text, _TONES[finding.state]))
        if finding.fix:
            lines.append(TextLine(f"{'':<19} → {printable(finding.fix)}"))
    return lines

"""Options that several commands have."""

from __future__ import annotations

import click

__all__ = ["principal_option"]

principal_option = click.option(
    "--principal", default="local", metavar="NAME", help="Whose conversations: of the owner of a named key. Default: local."
)

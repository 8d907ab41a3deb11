"""A port that somebody else has: who that is, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from clew.cli.command import Failed

if TYPE_CHECKING:
    from clew.settings.home import Home

__all__ = ["moved", "taken"]


def taken(port: int, home: Home, option: str) -> Failed:
    """No other port will do."""
    from clew.gateway.plan import gateway_on, owner_of

    here = gateway_on(port, home)
    instead = f"use that one, end it with `kill {here.pid}`, or choose" if here else "choose"
    return Failed(
        f"port {port} is in use by {owner_of(port, home)}: {instead} another with {option}, or a free one with {option} 0"
    )


def moved(wanted: int, url: str, home: Home) -> Iterator[str]:
    """What to say if a listener has not the port that it usually has."""
    from clew.gateway.plan import owner_of

    port = urlsplit(url).port
    if wanted not in (0, port):
        yield (
            f"port {wanted} is in use by {owner_of(wanted, home)}, so {url} is taken instead: "
            f"a client that calls port {wanted} talks to the other one"
        )

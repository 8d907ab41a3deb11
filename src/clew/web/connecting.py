"""The lines that connect a client. A key is named by where it is: a page is no place for it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from clew.admin.desk import Desk
from clew.gateway.client import line_to_copy
from clew.settings.gateway_key import KEY_VARIABLE
from clew.settings.processes import RegisteredGateway

__all__ = ["connecting"]


def connecting(desk: Desk, gateways: Iterable[RegisteredGateway]) -> str:
    """For Claude Code, one for each gateway that runs."""
    key = f"$(cat {shlex.quote(str(desk.home.key))})" if desk.home.key.is_file() else f"${KEY_VARIABLE}"
    settings = desk.current.snapshot.settings
    lines = ["clew run -- claude    # a gateway for one run of Claude Code"]
    for gateway in gateways:
        lines += ["", f"# the gateway {gateway.name}", line_to_copy(settings, gateway.url, key, expands=True)]
    return "\n".join(lines)

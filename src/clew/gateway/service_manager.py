"""What systemd is told about a gateway (`Type=notify`): that it is ready, and that it is stopping.

systemd names a socket in a variable. A message is one datagram, and nobody answers it. Without the variable nothing is sent.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

_VARIABLE: Final = "NOTIFY_SOCKET"
READY: Final = "READY=1"
STOPPING: Final = "STOPPING=1"


def notify(state: str, environ: Mapping[str, str]) -> None:
    """Send a state. A manager that cannot be reached is no reason to end."""
    name = environ.get(_VARIABLE, "")
    if not name.startswith(("/", "@")):
        return
    address = f"\0{name[1:]}" if name.startswith("@") else name
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as plug:
        plug.setblocking(False)
        plug.sendto(state.encode(), address)

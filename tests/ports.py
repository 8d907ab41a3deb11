"""Ports that nobody else gets.

One that was free a moment ago may be another's when it is needed: a run of the tests opens hundreds. So it stays bound, without
listening, until this process ends. Anyone who calls there is refused; anyone who asks for it by its number, as a gateway does, can
have it all the same.
"""

import socket

_HELD: list[socket.socket] = []


def own_port() -> int:
    plug = socket.socket()
    plug.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    plug.bind(("127.0.0.1", 0))
    _HELD.append(plug)
    return plug.getsockname()[1]

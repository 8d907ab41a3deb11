"""Where a server can listen: a port, a port that is shared, a socket that somebody else bound, a unix socket."""

import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.http.message import HttpRequest
from clew.http.responder import Responder
from clew.http.server import LocalSocket, Server, bound, listen
from clew.testing.simulator import Background

pytestmark = pytest.mark.slow

GET = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


async def hello(request: HttpRequest, respond: Responder) -> None:
    respond.send(200, [], b"hello")


@pytest.fixture
def loop() -> Iterator[Background]:
    with Background() as background:
        yield background


def ask(family: socket.AddressFamily, address: object) -> bytes:
    with socket.socket(family, socket.SOCK_STREAM) as peer:
        peer.settimeout(120)
        peer.connect(address)
        peer.sendall(GET)
        return b"".join(iter(lambda: peer.recv(4096), b""))


def close(loop: Background, *servers: Server) -> None:
    for server in servers:
        loop.call(server.close(grace=0))


def test_a_unix_socket_is_its_owners_alone_and_goes_with_the_server(loop: Background, tmp_path: Path) -> None:
    path = tmp_path / "socket"
    server = loop.call(listen(hello, path=str(path)))
    assert server.url == f"unix:{path}"
    assert stat.S_IMODE(os.lstat(path).st_mode) == 0o600
    assert ask(socket.AF_UNIX, str(path)).endswith(b"hello")
    close(loop, server)
    assert not path.exists()


def test_a_unix_socket_that_a_dead_process_left_is_taken_over(loop: Background, tmp_path: Path) -> None:
    path = tmp_path / "socket"
    LocalSocket(str(path)).bind().close()
    assert path.exists()
    server = loop.call(listen(hello, path=str(path)))
    assert ask(socket.AF_UNIX, str(path)).endswith(b"hello")
    close(loop, server)


def test_a_unix_socket_that_is_answered_is_not_taken(loop: Background, tmp_path: Path) -> None:
    path = str(tmp_path / "socket")
    server = loop.call(listen(hello, path=path))
    with pytest.raises(OSError, match="another process listens on"):
        loop.call(listen(hello, path=path))
    assert ask(socket.AF_UNIX, path).endswith(b"hello")
    close(loop, server)


def test_a_file_that_is_no_socket_is_left_alone(loop: Background, tmp_path: Path) -> None:
    path = tmp_path / "notes"
    path.write_text("mine")
    with pytest.raises(OSError):  # noqa: PT011  (each system has its own words)
        loop.call(listen(hello, path=str(path)))
    assert path.read_text() == "mine"


def test_a_successors_socket_is_not_removed(loop: Background, tmp_path: Path) -> None:
    path = tmp_path / "socket"
    first = loop.call(listen(hello, path=str(path)))
    path.unlink()
    second = loop.call(listen(hello, path=str(path)))
    close(loop, first)
    assert ask(socket.AF_UNIX, str(path)).endswith(b"hello")
    close(loop, second)


def test_two_servers_share_a_port_only_if_both_say_so(loop: Background) -> None:
    """What workers need."""
    first = loop.call(listen(hello, reuse_port=True))
    second = loop.call(listen(hello, port=first.port, reuse_port=True))
    assert first.port == second.port
    with pytest.raises(OSError, match="in use"):
        loop.call(listen(hello, port=first.port))
    close(loop, first)
    assert ask(socket.AF_INET, ("127.0.0.1", second.port)).endswith(b"hello")
    close(loop, second)


def test_a_socket_that_is_bound_already_is_taken_as_it_is(loop: Background) -> None:
    plug = bound("127.0.0.1", 0)
    port = plug.getsockname()[1]
    server = loop.call(listen(hello, sock=plug))
    assert server.port == port
    assert ask(socket.AF_INET, ("127.0.0.1", port)).endswith(b"hello")
    close(loop, server)


def test_the_url_of_an_ipv6_address_has_brackets(loop: Background) -> None:
    server = loop.call(listen(hello, host="::1"))
    assert server.url == f"http://[::1]:{server.port}"
    assert ask(socket.AF_INET6, ("::1", server.port)).endswith(b"hello")
    close(loop, server)

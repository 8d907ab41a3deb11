"""A way to a backend on which an answer can be held, for as long as a test likes: what comes later waits."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

__all__ = ["Held"]

MOST_SECONDS = 120.0
_LONGEST = 100
"""Bytes of the words behind which an answer is held."""


class Held:
    """`with Held(simulator.url) as way:`; anyone who asks at `way.url` gets what the backend says.

    After `hold(b"…")` an answer stops behind these words, and `held` is set; `release` lets it go on.
    """

    def __init__(self, url: str) -> None:
        place = urlsplit(url)
        self._backend = (place.hostname or "", place.port or 0)
        self._server = socket.create_server(("127.0.0.1", 0))
        self._sockets = ExitStack()
        self._words = b""
        self.held = threading.Event()
        self._released = threading.Event()
        self._released.set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.getsockname()[1]}"

    def hold(self, words: bytes) -> None:
        self._words = words
        self.held.clear()
        self._released.clear()

    def release(self) -> None:
        self._released.set()

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.release()
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)  # wakes anyone who waits in `accept`
        self._server.close()
        self._sockets.close()

    def _start(self, target: Callable[..., None], *args: object) -> None:
        threading.Thread(target=target, args=args, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client = self._sockets.enter_context(self._server.accept()[0])
                backend = self._sockets.enter_context(socket.create_connection(self._backend))
                self._start(self._pass_on, client, backend, False)
                self._start(self._pass_on, backend, client, True)

    def _pass_on(self, source: socket.socket, target: socket.socket, answers: bool) -> None:
        before = b""
        with suppress(OSError):
            while data := source.recv(1 << 16):
                for piece in self._pieces(before, data) if answers else (data,):
                    target.sendall(piece)
                before = (before + data)[-_LONGEST:]
            target.shutdown(socket.SHUT_WR)

    def _pieces(self, before: bytes, data: bytes) -> Iterator[bytes]:
        """What comes up to the words, which may have begun in what came before; behind them what waits."""
        at = -1 if self._released.is_set() else (before + data).find(self._words, max(0, len(before) - len(self._words) + 1))
        if at >= 0:
            end = at + len(self._words) - len(before)
            yield data[:end]
            self.held.set()
            self._released.wait(MOST_SECONDS)
            data = data[end:]
        yield data

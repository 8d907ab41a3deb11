"""TLS between a connection and its socket: a transport for the protocol above, the protocol of the transport below.

The event loops have their own, made for every use. This one knows what a client of HTTP needs, and every event of every
stream passes it: what one read brought is deciphered by one call where it is one record, as nearly always, and no call is
made only to hear that there is no more. What is kept for a connection is no more than a record, however much it carries.

What is sent is enciphered as fast as the other side takes it. A peer that just closes, without TLS's own word for the end,
has cut the connection: the protocol above is told of a loss then, and never of an end.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, TypeAlias, cast

_RECORD = 16 * 1024
"""What goes into one record at most, and is enciphered or deciphered in one step: the buffers between grow no larger."""

Keep: TypeAlias = Callable[[ssl.SSLSession], None]
"""Takes what another connection to the same server can begin with."""


class TlsTransport(asyncio.Protocol, asyncio.Transport):
    """One connection of a client. `above` hears of it when the handshake is done."""

    __slots__ = (
        *("_above", "_error", "_incoming", "_is_closing", "_is_full", "_is_torn", "_keep", "_outgoing", "_read", "_shaken"),
        *("_tls", "_transport", "_unsent"),
    )

    def __init__(
        self,
        above: asyncio.Protocol,
        context: ssl.SSLContext,
        name: str,
        *,
        session: ssl.SSLSession | None = None,
        keep: Keep | None = None,
    ) -> None:
        """`name` is whom the server has to be. With a `session` that was kept it need not prove that again."""
        super().__init__()
        self._above = above
        self._keep = keep
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=name, session=session)
        self._read = self._tls.read
        self._shaken: asyncio.Future[None] | None = asyncio.get_running_loop().create_future()
        self._transport: asyncio.Transport | None = None
        self._unsent: deque[memoryview] = deque()
        self._error: Exception | None = None
        self._is_torn = True
        """Something of a record may have come already."""
        self._is_full = False
        self._is_closing = False

    async def handshake(self) -> None:
        """Until the server is known to be who it should be. Raises OSError; ssl.SSLError is one."""
        if self._shaken is not None:
            await self._shaken

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=1, low=0)
        self._shake()

    def data_received(self, data: bytes) -> None:
        """Written in one piece, because every event of every stream goes through it."""
        if self._is_torn or len(data) > _RECORD:
            self._received(data)
            return
        incoming = self._incoming
        incoming.write(data)
        try:
            new = self._read(len(data))
        except ssl.SSLError as error:
            self._stopped(error)
            return
        if incoming.pending:
            self._received(b"", new)
        elif new:
            self._above.data_received(new)
        else:
            self._end()

    def eof_received(self) -> bool:
        """Without TLS's own end before it, this is a cut."""
        if not self._is_closing:
            self._fail(ssl.SSLEOFError(ssl.SSL_ERROR_EOF, "the connection was cut"))
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_closing = True
        error = self._error or exc
        shaken, self._shaken = self._shaken, None
        if shaken is None:
            self._above.connection_lost(error)
        elif not shaken.done():
            shaken.set_exception(error or ConnectionResetError("closed during the handshake"))
        self._unsent.clear()

    def pause_writing(self) -> None:
        self._is_full = True
        if self._shaken is None:
            self._above.pause_writing()

    def resume_writing(self) -> None:
        self._is_full = False
        self._send()
        if self._shaken is None and not self._is_full and not self._unsent:
            self._above.resume_writing()

    # What the protocol above calls.

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self._is_closing:
            self._unsent.append(memoryview(data))
            self._send()

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        """What is short goes out in one piece."""
        parts = list(list_of_data)
        if sum(map(len, parts)) <= _RECORD:
            parts = [b"".join(parts)]
        self._unsent.extend(map(memoryview, parts))
        self._send()

    def pause_reading(self) -> None:
        self._below.pause_reading()

    def resume_reading(self) -> None:
        self._below.resume_reading()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """The writer is told when not all was taken, and when all was, whatever is wished."""

    def get_write_buffer_size(self) -> int:
        return self._below.get_write_buffer_size() + sum(map(len, self._unsent))

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._tls if name == "ssl_object" else self._below.get_extra_info(name, default)

    def is_closing(self) -> bool:
        return self._is_closing

    def abort(self) -> None:
        """Close at once, with a last word if there is room for it."""
        if self._shaken is not None:
            self._shaken.cancel()
        elif not self._is_closing:
            with suppress(ssl.SSLError):
                self._tls.unwrap()
            self._flush()
        self._is_closing = True
        if self._transport is not None:
            self._transport.abort()

    # How it goes on.

    @property
    def _below(self) -> asyncio.Transport:
        assert self._transport is not None, "the connection is made first"
        return self._transport

    def _shake(self) -> None:
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self._flush()
        except ssl.SSLError as error:
            self._fail(error)
        else:  # the server is who it should be
            self._flush()
            shaken, self._shaken = self._shaken, None
            self._above.connection_made(self)
            if shaken is not None and not shaken.done():
                shaken.set_result(None)

    def _received(self, data: bytes, first: bytes = b"") -> None:
        """Records, or pieces of them: all that is whole goes on together."""
        new, stopped = [first] if first else [], None
        for start in range(0, len(data) or 1, _RECORD):
            self._incoming.write(memoryview(data)[start : start + _RECORD])
            if stopped is None or isinstance(stopped, ssl.SSLWantReadError):
                stopped = self._deciphered(new)
        if new:
            self._above.data_received(b"".join(new))
            session = self._tls.session if self._keep is not None else None
            if self._keep is not None and session is not None and session.has_ticket:
                self._keep(session)
                self._keep = None
        if stopped is not None:
            self._stopped(stopped)

    def _deciphered(self, new: list[bytes]) -> ssl.SSLError | None:
        """Take all that is whole. Gives why it stopped, where that is not at the end of a record."""
        if self._shaken is not None:
            self._shake()
        incoming, tls = self._incoming, self._tls
        try:
            while self._shaken is None and not self._is_closing and (incoming.pending or tls.pending()):
                self._is_torn = True
                if not (part := tls.read(_RECORD)):
                    return ssl.SSLZeroReturnError(ssl.SSL_ERROR_ZERO_RETURN, "nothing follows")
                new.append(part)
                self._is_torn = False
        except ssl.SSLError as error:
            return error
        return None

    def _stopped(self, why: ssl.SSLError) -> None:
        if isinstance(why, ssl.SSLWantReadError):
            self._is_torn = True
            self._flush()
        elif isinstance(why, ssl.SSLZeroReturnError):
            self._end()
        else:
            self._fail(why)

    def _end(self) -> None:
        """The server has said that nothing follows."""
        if not self._is_closing:
            self._above.eof_received()
        self.abort()

    def _fail(self, error: Exception) -> None:
        """The server is told why, if there is something to tell."""
        self._error = self._error or error
        self._is_closing = True
        self._flush()
        self._below.abort()

    def _send(self) -> None:
        """Encrypt and send as much as the transport below takes."""
        unsent = self._unsent
        while unsent and not self._is_full and not self._is_closing:
            piece = unsent.popleft()
            try:
                sent = self._tls.write(piece[:_RECORD])
            except ssl.SSLError as error:
                self._fail(error)
                return
            if sent < len(piece):
                unsent.appendleft(piece[sent:])
            self._flush()

    def _flush(self) -> None:
        if self._outgoing.pending:
            self._below.write(self._outgoing.read())

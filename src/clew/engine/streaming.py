"""Streaming: a streamed answer, taken from inside the backend's reads and passed on from there.

All up to the first content is taken, and given back if it turns out to be unusual; from then on what comes goes on. Whoever
streams says what it is for (`express`, `rote`), and what becomes of it when it is unusual.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from clew.engine.aside import LARGE
from clew.engine.hearing import StreamHearing
from clew.engine.passing import Passing
from clew.engine.reply_type import STREAM, comes_as
from clew.engine.turns import Heard
from clew.errors import BackendError, StreamIllegal
from clew.http.client.connection import ClientConnection
from clew.http.client.message import ResponseHead
from clew.http.responder import Responder
from clew.settings.values import Settings
from clew.upstream.reply import Reply

__all__ = ["Streaming"]

_MOST_READS = 64
"""Before the first content, on the short way. The long way takes them again, and has a bound in bytes."""


class Streaming(ABC):
    """One answer."""

    __slots__ = ()

    _client: Responder
    _on: ClientConnection
    """What the request went out on. Its `news` are ours as long as this is the short way."""
    _step: Callable[[], None] | None
    """What is done when there is news, if it is not the stream's own."""
    _passing: Passing | None
    _hearing: StreamHearing | None
    _taken: list[bytes]
    """What came before the first content."""

    @abstractmethod
    def _heard_of(self, head: ResponseHead, passing: Passing) -> StreamHearing:
        """A stream comes: who hears it."""

    @abstractmethod
    def _stream_begins(self) -> None:
        """The first content is here, and about to go out."""

    @abstractmethod
    def _reply(self, head: ResponseHead) -> Reply:
        """What comes, for whoever has to stop it."""

    @abstractmethod
    def _settings(self) -> Settings: ...

    @abstractmethod
    def _go_the_long_way(self) -> None:
        """Something is unusual: go on in a task, where everything can happen."""

    @abstractmethod
    def _is_told(self, heard: Heard, tell: Callable[[], None]) -> None:
        """All of it is here, and right. `tell` lets its end go out."""

    @abstractmethod
    def _let_go(self) -> None:
        """The backend is done, or no longer wanted."""

    @abstractmethod
    def fail(self, error: Exception) -> None:
        """Something went wrong that is no fault of the backend."""

    def _listen(self, step: Callable[[], None] | None = None) -> None:
        self._step = step
        self._on.listener = self

    def news(self) -> None:
        """Nothing that goes wrong here may be lost on the loop: the client would wait for ever."""
        try:
            if self._step is not None:
                self._step()
            elif self._hearing is None or not self._hearing.opened:
                self._stream_begins_to_come()
            else:
                self._stream_is_over()
        except Exception as error:
            self.fail(error)

    def _stream_begins_to_come(self) -> None:
        on, head = self._on, self._on.heard
        if on.has_failed or (head is not None and not comes_as(head, STREAM)):
            self._go_the_long_way()
        if head is None or on.listener is None or self._passing is None:
            return
        if self._hearing is None:
            self._hearing = self._heard_of(head, self._passing)
            self._taken = []
            head.is_read()
        data = on.take()
        if data:
            self._taken.append(data)
        self._open(data)

    def _open(self, data: bytes) -> None:
        on, hearing = self._on, self._hearing
        assert hearing is not None
        try:
            first = hearing.opening(data)
        except (StreamIllegal, BackendError):
            self._take_back()
            return
        if first is None and not on.is_over and self._may_wait() and len(self._taken) < _MOST_READS:
            return
        if first is None or not hearing.begun:
            self._take_back()
            return
        self._taken = []
        with self._client.in_one_piece():
            hearing.open(first, self._stream_begins)
            self._stream_goes_on()

    def _may_wait(self) -> bool:
        """Whether somebody looks (`quiet`) before the first content is overdue."""
        settings = self._settings()
        return settings.first_content_seconds > settings.gateway.ping_seconds

    def _stream_goes_on(self) -> None:
        on, hearing = self._on, self._hearing
        assert hearing is not None
        assert on.heard is not None
        if on.is_over:
            self._stream_is_over()
            return
        self._listen()
        sink = hearing.sink(self._reply(on.heard))
        on.pour(sink, hearing.flow())
        if hearing.ended:
            sink(b"")  # all was said, and for the end of the body one waits a moment only

    def _stream_is_over(self) -> None:
        hearing = self._hearing
        assert hearing is not None
        if (self._on.has_failed and not hearing.ended) or hearing.size > LARGE or not hearing.is_whole():
            self._go_the_long_way()
            return
        heard = hearing.heard(whole=True)
        if heard.answer.illegal is not None:
            self._go_the_long_way()
            return
        if self._passing is not None:
            self._passing.close()  # a client that catches up later sets no reads going: they may be somebody else's
        self._let_go()
        self._is_told(heard, hearing.close)

    def quiet(self) -> None:
        """Nothing came for a while. For the first content there is a time to keep, and the long way keeps it."""
        hearing = self._hearing
        if hearing is not None and not hearing.begun and self._on.listener is not None:
            self._take_back()
        if self._passing is not None:
            self._passing.tick()

    def _forget(self) -> None:
        """What knows us, now that all is over: nobody should wait for the garbage collector."""
        self._passing = self._hearing = None
        self._step = _nothing

    def _take_back(self) -> None:
        """Give back what was taken of the answer, as if nothing had been heard."""
        self._hearing = None
        self._on.put_back(b"".join(self._taken))
        self._taken = []
        self._go_the_long_way()


def _nothing() -> None:
    """No news are expected."""

"""One connection to a server: requests go out one at a time, and each response is taken as it comes.

`begin` sends; `head`, then `chunk` until it gives b"", or `relay`, take the answer. `chunk` is for a caller that wants to
wait for the next piece; when nobody takes what came, reading stops, so memory stays bounded. `relay` calls a function from
inside the read, without a task or a queue between: its user calls `pause` and `resume`. A response may come while the
request is still being sent; it is heard at once, and the connection is then not used again.

A caller without a task sets `listener`, whose `news` is called whenever one that waits would go on, and may leave the rest
to one that waits.

Nothing here retries, and nothing is swallowed: what ends an exchange too early is kept and raised by whatever waits next,
after all that came whole was handed out. `abort` closes at once, in every phase.
"""

from __future__ import annotations

import asyncio
import select
from typing import cast

from clew.http.client.exchange import ChunkFlow, Sink, SlicedRead, StreamedExchange
from clew.http.client.message import ClientRequest, PhaseTimedOut, ResponseBroken, ResponseLimits
from clew.http.client.reader import ResponseReader
from clew.http.timers import PhaseTimer
from clew.http.transport_writer import write_batch_of
from clew.model.http import ResponseHead, Timeouts


class ClientConnection(StreamedExchange):
    """The protocol object that the event loop calls, and what the pool keeps."""

    __slots__ = (
        *("_limits", "_paused", "_sending", "_timeouts", "_transport", "_unsent", "_used", "_waiting"),
        *("is_closed", "sink_error"),
    )

    def __init__(self) -> None:
        super().__init__()
        self.sink_error: Exception | None = None
        """What the sink of a relay raised, if that is what ended it."""
        self.is_closed = False
        """No request can be sent on it any more."""
        self._transport: asyncio.Transport | None = None
        self._timeouts = Timeouts()
        self._limits = ResponseLimits()
        self._used: ResponseReader | None = None
        """The last exchange's: it reads the next one's too."""
        self._sending = False
        self._unsent = 0
        self._paused = False
        self._waiting = 0

    # What the owner calls.

    def begin(
        self,
        request: ClientRequest,
        timeouts: Timeouts,
        limits: ResponseLimits,
        *,
        began: float | None = None,
    ) -> None:
        """Send a request. `began`: since when the total counts, if it is not now."""
        assert self._reader is None, "one exchange at a time"
        self._timeouts, self._limits = timeouts, limits
        self.error = None
        self._reader = reader = self._used or ResponseReader(limits)
        reader.again(limits, head_only=request.method == b"HEAD")
        transport = self._transport
        if transport is None or self.is_closed or transport.is_closing():
            self._fail(reader.closed())
            return
        self._timer = timer = self._timer or PhaseTimer(self)
        timer.begin("first byte", timeouts.first_byte, total=timeouts.total, began=began)
        parts = request.parts
        if len(parts) == 1:
            self._batch.write(transport, parts[0])
        else:
            self._batch.writelines(transport, parts)

    def take(self) -> bytes:
        """What came of the body and was not taken yet."""
        parts, self._parts, self._waiting = self._parts, [], 0
        if self._paused:
            self._read(on=True)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    @property
    def heard(self) -> ResponseHead | None:
        """The head of the response, if it is whole."""
        return None if self._reader is None else self._reader.head

    @property
    def is_over(self) -> bool:
        """Nothing more will come: the response is whole, or it failed."""
        return self.error is not None or (self._reader is not None and self._reader.done)

    def whole(self) -> bytes | None:
        """The rest of the body, if all of it is here; None if it has to be waited for."""
        reader, parts = self._reader, self._parts
        if reader is None or not reader.done or self.error is not None:
            return None
        if len(parts) != 1 or self._paused:
            return self.take()
        self._waiting = 0
        return parts.pop()

    def pour(self, sink: Sink, flow: ChunkFlow | None = None) -> None:
        """From now on `sink` is called with each read, but for those that go on with the `flow`."""
        self._sink, self._flow = sink, flow
        if data := self.take():
            self._hand_out(data, self._exchange())
        self._flows(flow)

    def pause(self) -> None:
        """Read no further: the sink is full. The gap timer stands still meanwhile."""
        self._read(on=False)

    def resume(self) -> None:
        self._read(on=True)

    @property
    def reusable(self) -> bool:
        """The last exchange is over, all of it, and the server is willing to hear the next."""
        reader, transport = self._reader, self._transport
        if reader is not None and (not reader.done or not reader.keep_alive or self._parts):
            return False
        if self._sending or self._slices or self.is_closed or self.error is not None:
            return False
        return transport is not None and not transport.is_closing()

    @property
    def fresh(self) -> bool:
        """Nothing has come since it was laid aside. Asks the kernel: the loop may not have seen the server's FIN yet."""
        transport = self._transport
        if transport is None or self.is_closed or transport.is_closing():
            return False
        descriptor = transport.get_extra_info("socket").fileno()
        if descriptor < 0:
            return False
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)  # for bytes, or the other side's end
        return not poll.poll(0)

    def rest(self) -> bool:
        """Lay it aside for the next request, if it is reusable. Else nothing has happened."""
        if not self.reusable:
            return False
        self._used = self._reader or self._used
        self._reader = self._sink = self._flow = self.listener = None
        if self._parts:
            self._parts, self._waiting = [], 0
        if self._paused:
            self._read(on=True)
        return True

    def abort(self) -> None:
        """Close at once; what waits is told so."""
        self._fail(ConnectionAbortedError("the exchange was given up"))

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        # So that `resume_writing` means: all is sent.
        self._transport.set_write_buffer_limits(high=1, low=0)
        self._batch = write_batch_of(asyncio.get_running_loop())

    def _slice(self, data: bytes) -> None:
        if self._slices is None:
            self._slices = SlicedRead(asyncio.get_running_loop(), self._take_in, self._sliced, held=self._paused)
            if self._transport is not None and not self._paused:
                self._transport.pause_reading()
        self._slices.add(data)

    def _sliced(self) -> None:
        """All of a long read is taken in."""
        self._slices = None
        if self._transport is not None and not self._paused and not self._gone:
            self._transport.resume_reading()

    def _take_in(self, data: bytes) -> None:
        reader, timer, flow = self._reader, self._timer, self._flow
        if reader is None or timer is None or reader.done:
            self._drop()  # nobody asked: whatever it is, it is not the answer to the next request
            return
        if flow is not None:
            flow.stops(reader)
        had_head = reader.head is not None
        if had_head:
            timer.since = timer.now()  # a head that comes in drops must still be whole in its time
        broken = None
        try:
            new = reader.passed(data)
        except ResponseBroken as error:
            new, broken = reader.taken(), error
        if not had_head and reader.head is not None and not reader.done:
            timer.enter("gap", self._timeouts.gap)
        if new:
            self._hand_out(new, reader)
        if broken is not None:
            self._fail(broken)
        elif (listener := self.listener) is not None and (reader.done or self._sink is None):
            listener.news()
        if flow is not None and not (self._slices and self._slices.are_waiting):
            self._flows(flow)

    def _hand_out(self, new: bytes, reader: ResponseReader) -> None:
        """One call of the sink for a read, however many chunks it held: so the sink writes once, too."""
        if self._sink is None:
            self._parts.append(new)
            self._waiting += len(new)
            if self._waiting >= self._limits.buffer_bytes and not reader.done:
                self._read(on=False)
            return
        try:
            self._sink(new)
        except Exception as error:
            self._sink_failed(error)

    def _sink_failed(self, error: Exception) -> None:
        self.sink_error = error
        self._fail(error)

    def eof_received(self) -> bool:
        """The server says no more. Returns that the transport may close."""
        reader = self._reader
        if reader is not None and not reader.done:
            try:
                reader.finish()
            except ConnectionError as error:
                self._fail(error)
        self.is_closed = True
        self._wake()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_closed = True
        if self._timer is not None:
            self._timer.stop()
        reader = self._reader
        if reader is not None and not reader.done and self.error is None:
            self.error = reader.closed()
            self.error.__cause__ = exc
        self._wake()

    def pause_writing(self) -> None:
        self._sending = True
        if self._waits and self._timer is not None and self._transport is not None:
            self._unsent = self._transport.get_write_buffer_size()
            self._timer.enter("send", self._timeouts.send)

    def resume_writing(self) -> None:
        self._sending = False
        if self._waits and self._timer is not None:
            self._timer.enter("first byte", self._timeouts.first_byte)

    # How it goes on.

    @property
    def _waits(self) -> bool:
        """For an answer of which nothing came."""
        return self._reader is not None and self._reader.head is None

    @property
    def _gone(self) -> bool:
        return self.is_closed or self._transport is None or self._transport.is_closing()

    def _read(self, *, on: bool) -> None:
        if on is not self._paused or self._transport is None or self._gone:
            return
        self._paused = not on
        if self._slices is not None:
            self._slices.hold(not on)
        else:
            (self._transport.resume_reading if on else self._transport.pause_reading)()
        if self._timer is not None:
            self._timer.hold(not on)

    def expired(self, error: PhaseTimedOut) -> None:
        """Time is up (`PhaseTimer`); while sending only if not a byte went meanwhile."""
        unsent = self._transport.get_write_buffer_size() if self._transport is not None else 0
        if error.phase == "send" and unsent < self._unsent and self._timer is not None:
            self._unsent = unsent
            self._timer.enter("send", self._timeouts.send)
        else:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        self.error = self.error or error
        self._drop()
        self._wake()

    def _drop(self) -> None:
        self.is_closed = True
        if self._flow is not None:
            self._flow.ends()
        if self._slices:
            self._slices.stop()
        if self._transport is not None:
            self._transport.abort()
        if self._timer is not None:
            self._timer.stop()

    def _wake(self) -> None:
        if self.listener is not None:
            self.listener.news()

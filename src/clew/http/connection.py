"""One client's connection: its requests are answered in order, one at a time.

The reader turns bytes into requests, and the handler is called with each. What it returns is awaited in a task; a handler
that returns nothing has answered, or somebody holds the responder and answers later, from callbacks. A client that goes away
cancels either, unless the answer is whole: what they do then is their own. Going away is not the same as a half-close: after
the client's FIN a few probes go out (`WireResponder.probe`); a closed socket answers with a reset, a half-closed one just
reads on and is served.

Time is kept from outside: `tick` is called about once a second and closes what has waited too long, so no request pays for
a timer of its own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

from clew.http.connection_limits import ClientDeadlines, HeldBodies, read_budget_of
from clew.http.message import HttpRefusal, HttpRequest, ServerLimits
from clew.http.reader import RequestReader
from clew.http.responder import Responder, WireResponder
from clew.http.transport_writer import LONG, TransportWriter

if TYPE_CHECKING:
    from clew.http.server import Server


Handle: TypeAlias = Callable[[HttpRequest, Responder], Awaitable[None] | None]
"""Answers one request. What it gives to await may be cancelled at any await, when the client is gone or the server ends. If
it gives nothing, the answer is whole, or somebody holds the responder (`Responder.hold`)."""

Refuse: TypeAlias = Callable[[HttpRefusal, Responder], None]
"""Says a refusal in the words of the dialect that is served."""

_log = logging.getLogger("clew.http")
_PROBES = 8
_PROBE_SECONDS = 0.1
_TOO_SLOW = HttpRefusal(408, "The body of this request came too slowly, or not at all.")


class Connection(TransportWriter):
    """The protocol object that the event loop calls."""

    __slots__ = (
        *("_begun", "_bodies", "_budget", "_closing", "_discarding", "_limits", "_deadlines"),
        *("_probes", "_reader", "_responder", "_server", "_since", "_task", "_turned_away"),
    )

    def __init__(self, server: Server) -> None:
        super().__init__(server.loop)
        self._server = server
        self._limits: ServerLimits = server.limits
        self._reader = RequestReader(server.limits, server.check)
        self._task: asyncio.Task[None] | None = None
        self._begun = False
        """Whether that task has."""
        self._responder: WireResponder | None = None
        self._probes: int | None = None
        self._closing = False
        self._discarding = False
        self._budget = read_budget_of(server.loop)
        self._since = server.now()
        self._turned_away = 0.0
        self._deadlines = ClientDeadlines(server.limits)
        self._bodies = HeldBodies()

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._server.joined(self)

    def data_received(self, data: bytes) -> None:
        reader, size = self._reader, len(data)
        if self._discarding:
            self._since = self._server.now()
            self._budget.spend(self, size)
            return
        if not (reader.in_head or reader.in_body):
            self._since = self._server.now()
        reader.feed(data)
        if reader.in_body and reader.due > LONG:
            size += self._pull(reader.pull)
        if size > LONG:
            self._budget.spend(self, size)
        self._advance()
        if reader.in_body and self._deadlines.has_brought_enough(reader):
            self._deadlines.mark_body(reader, self._server.now())
        if reader.in_body or reader.ready or self._bodies.answered or self._bodies.held:
            self._charge()

    def eof_received(self) -> bool:
        """Keep the connection if there is something left to say on it."""
        self._batch.end()
        self._probes = _PROBES
        if self._responder is None or self._discarding:
            return False
        self._probe()
        asyncio.get_running_loop().call_later(_PROBE_SECONDS, self._probe)
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = self._closing = True  # nobody is there for what was asked behind it
        self._reader.finish()
        self._charge()
        self._server.left(self)
        self.resume_writing()
        if not self._wound_up:
            self._cancel()

    # What the responder calls.

    def hand_over(self, work: Awaitable[None]) -> None:
        """The handler that held the responder goes on in a task."""
        assert self._responder is not None
        self._begun = False
        self._task = self._server.loop.create_task(self._serve(work, self._responder))
        self._server.works(self._task)

    def released(self) -> None:
        """The handler that held the responder is done: the next request may be answered."""
        self._rest()
        reader = self._reader
        if reader.ready or self._probes is not None or self._paused or reader.expects_continue:
            self._go_on()

    def close(self) -> None:
        """Close after what was written; to a client that was turned away, only our half."""
        self.uncork()
        self._closing = True
        if self._lost:
            return
        self._batch.end()
        if self._discarding:
            self._transport.write_eof()
        else:
            self._transport.close()

    def reset(self) -> None:
        self._closing = True
        super().reset()

    # What the server calls.

    @property
    def busy(self) -> bool:
        """Is a request being answered, or coming in?"""
        return self._responder is not None or self._reader.in_head or self._reader.in_body

    @property
    def dispensable(self) -> tuple[int, float] | None:
        """The least of these goes first where there is no room: who was turned away, who asks nothing, and then who has not
        even finished a head; of each the longest. None if it is to stay."""
        if self._discarding:
            return 0, self._since
        if self._responder is not None or self._reader.in_body or self._closing:
            return None
        return (2 if self._reader.in_head else 1), self._since

    def give_way(self) -> None:
        """Close it, for another one."""
        if self._discarding:
            self._discarding = False
            self._transport.abort()
        else:
            self.close()

    def retire(self) -> None:
        """Finish what is being answered, take nothing behind it. One that is idle may ask once more, for the last time."""
        if self._responder is None:
            return
        self._reader.finish()
        self._responder.keep_alive = False

    def interrupt(self) -> None:
        """Cancel what is being answered, and let it say so."""
        if self._responder is None:
            self.close()
        elif not self._wound_up:
            self._responder.draining = True
            self._cancel()

    def kill(self) -> None:
        """End it now, whatever it does."""
        self._cancel()
        self._transport.abort()

    def tick(self, now: float) -> None:
        """Close what has waited too long."""
        self._probe()
        patience, waited = self._deadlines, now - self._since
        if self._discarding:
            is_over = patience.is_over_with_refused(waited, now - self._turned_away)
        else:
            is_over = self._responder is None and patience.is_over(self._reader, waited)
        if is_over or patience.is_stalled(self._transport.get_write_buffer_size(), now):
            self._transport.abort()
        elif not self._paused and patience.is_late(self._reader, now):
            self.refuse_body(_TOO_SLOW)

    def refuse_body(self, refusal: HttpRefusal) -> None:
        """The body that is coming is forgotten; its client is told why, behind what is being answered."""
        self._reader.refuse(refusal)
        self._charge()
        self._advance()

    # How it goes on.

    def _advance(self) -> None:
        """Answer what is ready, one request at a time, and read on unless too many wait."""
        ready, server = self._reader.ready, self._server
        while ready and self._responder is None and not self._closing:
            item = ready.pop(0)
            if isinstance(item, HttpRefusal):
                self._turn_away(item)
                continue
            head = item.head
            self._bodies.answer(item.body)
            keep_alive = head.keep_alive and not server.closing
            self._responder = responder = WireResponder(self, head.method, head.path, head.version, keep_alive)
            work = None
            try:
                work = server.handle(item, responder)
            except Exception:
                self._failed(responder, "failed", exc_info=True)
            if work is not None:
                self.hand_over(work)
            elif responder.holder is None:
                self._check_ended(responder)
                self._rest()
                self._close_if_alone()
        self._read_on()

    def _turn_away(self, refusal: HttpRefusal) -> None:
        """Answer, then throw away what still comes: closing on unread bytes would reset the answer away."""
        self._closing = self._discarding = True
        self._server.refuse(refusal, WireResponder(self, "", "", "1.1", keep_alive=False))
        self._since = self._turned_away = self._server.now()

    def _read_on(self) -> None:
        """Ask for the body that is due, and stop reading while too many requests wait."""
        reader = self._reader
        if reader.expects_continue and self._responder is None:
            reader.expects_continue = False
            self._deadlines.mark_body(reader, self._server.now())
            self.put(b"HTTP/1.1 100 Continue\r\n\r\n")
        is_full = len(reader.ready) >= self._limits.pipelined
        if is_full != self._paused:
            self._paused = is_full
            self._deadlines.mark_body(reader, self._server.now())
            self._update_reading()

    async def _serve(self, work: Awaitable[None], responder: Responder) -> None:
        self._begun = True
        try:
            try:
                await work
            except ConnectionError:
                responder.abort()
            except Exception:
                self._failed(responder, "failed", exc_info=True)
            if responder.holder is None:
                self._check_ended(responder)
        finally:
            self._task = None
            if responder.holder is None:
                self._rest()
        if responder.holder is None:
            self._go_on()

    def _rest(self) -> None:
        """Nothing is being answered."""
        responder, server, self._responder = self._responder, self._server, None
        self._since = server.now()
        if self._bodies.held:
            self._bodies.answer(b"")
            self._charge()
        if server.closing:
            server.rested()
        if responder is not None and responder.after is not None:
            responder.after()

    def _go_on(self) -> None:
        self._close_if_alone()
        if not self._closing:
            self._advance()

    def _close_if_alone(self) -> None:
        """A client that has sent its FIN asks nothing more than what is here already."""
        if self._probes is not None and not self._reader.ready:
            self.close()

    def _failed(self, responder: Responder, what: str, *, exc_info: bool = False) -> None:
        _log.error("%s %s", responder.asked, what, exc_info=exc_info)
        if responder.started:
            responder.abort()
        else:
            responder.keep_alive = False
            self._server.refuse(HttpRefusal(500, "Internal server error", path=responder.asked.partition(" ")[2]), responder)

    def _check_ended(self, responder: Responder) -> None:
        if not responder.ended:
            self._failed(responder, "was not answered completely")

    def _cancel(self) -> None:
        """The handler ends it, in a task if that takes a while.

        Not at once: a task that never began would put back nothing of what was taken for it.
        """
        self._server.loop.call_soon(self._cancel_now)

    def _cancel_now(self) -> None:
        if self._task is not None and not self._begun:
            self._cancel()  # it was made since
        elif self._task is not None:
            self._task.cancel()
        elif self._responder is not None and self._responder.holder is not None:
            self._responder.holder.cancel()

    @property
    def _wound_up(self) -> bool:
        """Is the answer whole, or was its handler told to end it?"""
        return self._responder is not None and (self._responder.ended or self._responder.draining)

    def _probe(self) -> None:
        """Ask a client that sent its FIN whether it is still there; only the write after its reset tells us."""
        if self._probes and self._responder is not None and (probe := self._responder.probe()):
            self._probes -= 1
            self.put(probe)

    def _charge(self) -> None:
        """Tell the server how much the bodies hold now."""
        if change := self._bodies.change(self._reader):
            self._server.charge(self, *change)

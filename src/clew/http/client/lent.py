"""A connection that is lent: for whoever expects a plain answer, which comes whole and in one read.

Most answers that are no streams come so, and then no reader has to be set up, nothing waits to be taken, and nobody has to
be woken: the connection hands over what it read and is at rest. In any other case (another kind of answer, a piece of one,
an end, a time that is over) it goes on as if the request had been begun as others are (`ClientConnection.begin`).
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from typing import Protocol, TypeAlias

from clew.http.client.message import ClientRequest, PhaseTimedOut, ResponseLimits, Timeouts
from clew.http.client.reader import ResponseReader
from clew.http.client.waiting import Awaited
from clew.http.client.watch import Watch
from clew.http.turn import Turn

__all__ = ["Lent", "Listener", "Tenant", "Terms"]

Terms: TypeAlias = tuple[Timeouts, ResponseLimits]
"""On which it is lent. One object for all whose terms are the same: a connection knows those of the last by that."""


class Listener(Protocol):
    """Is called when something happened on the connection, in place of a task that would wait for it."""

    def news(self) -> None:
        """There is a head, a piece of the body that nobody took, an end, or an error."""
        ...


class Tenant(Listener, Protocol):
    """Whom a connection is lent to. It hears news if it did not come so, and is then an exchange like others."""

    def came(self, data: bytes) -> bool:
        """The first read. False if it is not all of a plain answer (`read_at_once`), or is to be heard as others are; then
        nothing was done about it. Else the connection is at rest."""
        ...


class Lent(Awaited):
    """The part of a connection that can be lent."""

    __slots__ = ("_limits", "_sending", "_tenant", "_terms", "_timeouts", "_transport", "_turn", "_used", "listener")

    def __init__(self) -> None:
        super().__init__()
        self.listener: Listener | None = None
        self._tenant: Tenant | None = None
        """Who waits for an answer in one read."""
        self._used: ResponseReader | None = None
        """The last exchange's: it reads the next one's too."""
        self._timeouts = Timeouts()
        self._limits = ResponseLimits()
        self._sending = False
        self._terms: Terms | None = None
        """On which it was lent last, if nothing but answers in one read came since: then the watch stands as it should."""
        self._transport: asyncio.Transport | None = None
        self._turn: Turn

    def lend(self, tenant: Tenant, request: ClientRequest, body: bytes, terms: Terms, now: float) -> None:
        """Send a request with this body, in one piece. The connection is reusable."""
        watch, transport, self._tenant = self._watch, self._transport, tenant
        if terms is self._terms and watch is not None and watch.round:
            watch.since = watch.began = now
        else:
            self._agree(terms, now)
        if transport is not None:
            self._turn.write(transport, b"%bcontent-length: %d\r\n\r\n%b" % (request.head, len(body), body))

    def _agree(self, terms: Terms, now: float) -> None:
        self._terms = self._timeouts, self._limits = terms
        self._watch = watch = self._watch or Watch(self)
        watch.begin("first byte", self._timeouts.first_byte, total=self._timeouts.total, began=now)

    def goes_on(self) -> None:
        """Whoever has it lent, if anybody has, goes on with an exchange as others are."""
        tenant, self._tenant = self._tenant, None
        if tenant is not None:
            self.listener, self._terms = tenant, None
            self._reader = self._used or ResponseReader(self._limits)
            self._reader.again(self._limits)

    @property
    def is_due(self) -> bool:
        """Is an answer, or the rest of one, still to come?"""
        reader = self._reader
        return self._tenant is not None or (self._error is None and reader is not None and not reader.done)

    @property
    @abstractmethod
    def shown_at(self) -> float:
        """When something came last that went on at once."""

    @abstractmethod
    def expired(self, error: PhaseTimedOut) -> None:
        """Time is up."""

"""A connection that is lent: for whoever expects a plain answer, which comes whole and in one read.

Most answers that are no streams come so, and then no reader has to be set up, nothing waits to be taken, and nobody has to
be woken: the connection hands over what it read and is at rest. In any other case (another kind of answer, a piece of one,
an end, a time that is over) it goes on as if the request had been begun as others are (`ClientConnection.begin`).
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Protocol

from clew.http.client_message import ClientRequest, ResponseLimits, Timeouts
from clew.http.client_reader import ResponseReader
from clew.http.client_waiting import Awaited

__all__ = ["Lent", "Listener", "Tenant"]


class Listener(Protocol):
    """Whoever has no task."""

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

    __slots__ = ("_limits", "_sending", "_tenant", "_timeouts", "_used", "listener")

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

    def lend(
        self,
        tenant: Tenant,
        request: ClientRequest,
        body: bytes,
        timeouts: Timeouts,
        limits: ResponseLimits,
        began: float,
    ) -> None:
        """Send a request with this body. The connection is reusable. `began`: since when the total counts."""
        self._timeouts, self._limits, self._tenant = timeouts, limits, tenant
        self._send(request.parts(body), began)

    def goes_on(self) -> None:
        """Whoever has it lent, if anybody has, goes on with an exchange as others are."""
        tenant, self._tenant = self._tenant, None
        if tenant is not None:
            self.listener = tenant
            self._reader = self._used or ResponseReader(self._limits)
            self._reader.again(self._limits)

    def _is_taken(self, tenant: Tenant, data: bytes) -> bool:
        """By whoever has it lent, as nearly always."""
        if not self._sending:
            self._tenant = None
            if tenant.came(data):
                return True
            self._tenant = tenant
        self.goes_on()
        return False

    @abstractmethod
    def _send(self, parts: list[bytes], began: float | None) -> None: ...

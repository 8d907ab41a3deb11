"""What is looked up about a request before an exchange begins: its history, and what the store knows of it."""

from __future__ import annotations

from clew.engine.aside import LARGE
from clew.engine.gathering import GatheredFacts, gather, recall
from clew.engine.received_request import receive_request
from clew.engine.services import EngineServices
from clew.errors import ClewError
from clew.exchange.call import Call
from clew.exchange.inputs import ReceivedRequest
from clew.exchange.machine import ExchangeMachine
from clew.model.request import Request, Wanted


class Preparation:
    """Of one call."""

    __slots__ = ("_call", "_id", "_known", "_request", "_services", "is_light", "unasked", "wanted")

    def __init__(self, services: EngineServices, call: Call, id: str) -> None:
        self._services = services
        self._call = call
        self._id = id
        self._request: Request | None = None
        """Once it is read."""
        self._known: GatheredFacts | None = None
        self.unasked: ReceivedRequest | None = None
        """What was read, if no backend can be asked for it."""
        self.is_light = True
        """What is done about all of its messages may be done at once: it is small, or it goes on from a request whose
        messages went as they came, under these settings."""
        self.wanted = Wanted()
        """Dropped when the client leaves: then work in a thread stops."""

    def begins_at_once(self) -> bool:
        """Whether it is light, and nothing has to be looked up in the store; or it cannot be read, which `read` says."""
        if len(self._call.body) > LARGE:
            self._request = request = self._services.histories.recall(self._call)
            self.is_light = request is not None and request.source.untouched is self._services.snapshot().exchange
        if not self.is_light:
            return False
        try:
            self._known = recall(self._services.store, self._call, self._read_request(), self._id)
        except ClewError:
            return True
        return self._known is not None

    def make_exchange(self) -> ExchangeMachine | None:
        """Read the request; None for one that no backend can be asked for. Raises ClewError if it cannot be read."""
        services = self._services
        if services.log is not None and services.log.shows_bodies:
            services.log.body(self._id, "asked", self._call.body)
        received = self.read()
        if received.failure is not None:
            self.unasked = received
            return None
        facts, now, wall = services.process_facts(), services.clock(), services.wall()
        return ExchangeMachine(self._id, received, facts, is_light=self.is_light, now=now, wall=wall)

    def read(self) -> ReceivedRequest:
        """What is asked, with what is known of it; in a thread, unless it `begins_at_once`. Raises ClewError if it cannot be
        read."""
        services, call, request = self._services, self._call, self._read_request()
        known = self._known or recall(services.store, call, request, self._id)
        if known is None:
            assert services.store is not None
            known = gather(services.store, call, request, self._id)
        return receive_request(call, services.snapshot(), known, self._id, request)  # a thread is named after its first

    def _read_request(self) -> Request:
        self._request = request = self._request or self._services.histories.read(self._call, self.wanted)
        request.source.wanted = self.wanted
        return request

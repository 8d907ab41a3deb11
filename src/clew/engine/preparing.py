"""What is done about a request before anybody is asked: it is read, and put into the form of a target."""

from __future__ import annotations

from clew.engine.aside import LARGE
from clew.engine.call import Call
from clew.engine.exchange_notes import ExchangeNotes
from clew.engine.gathering import GatheredFacts, gather, recall
from clew.engine.received_request import ReceivedRequest, receive_request
from clew.engine.remembered import remembered
from clew.engine.route import BackendRoute
from clew.engine.services import EngineServices
from clew.errors import ClewError
from clew.model.request import Request, Wanted
from clew.pipeline.project import Projection, project


class Preparation:
    """Of one call."""

    __slots__ = ("_call", "_id", "_known", "_recalled", "_services", "wanted")

    def __init__(self, services: EngineServices, call: Call, id: str) -> None:
        self._services = services
        self._call = call
        self._id = id
        self._recalled: Request | None = None
        """The request, once it is read."""
        self._known: GatheredFacts | None = None
        self.wanted = Wanted()
        """Dropped when the client leaves: then work in a thread stops."""

    def is_light(self) -> bool:
        """Whether what is done about all of its messages may be done at once: it is small, or it goes on from a request
        whose messages went as they came, under these settings."""
        if len(self._call.body) <= LARGE:
            return True
        self._recalled = request = self._services.histories.recall(self._call)
        return request is not None and request.source.untouched is self._services.snapshot()

    def is_known(self) -> bool:
        """Whether nothing has to be looked up in the store; or the request cannot be read, which `read` says."""
        try:
            self._known = recall(self._services.store, self._call, self._request(), self._id)
        except ClewError:
            return True
        return self._known is not None

    def read(self) -> ReceivedRequest:
        """What is asked, with what is known of it; in a thread, unless it `is_known`. Raises ClewError if it cannot be
        read."""
        services, call, request = self._services, self._call, self._request()
        known = self._known or recall(services.store, call, request, self._id)
        if known is None:
            assert services.store is not None
            known = gather(services.store, call, request, self._id)
        return receive_request(call, services.snapshot(), known, self._id, request)  # a thread is named after its first

    def _request(self) -> Request:
        self._recalled = request = self._recalled or self._services.histories.read(self._call, self.wanted)
        request.source.wanted = self.wanted
        return request

    def begin(self, received: ReceivedRequest) -> ExchangeNotes:
        route, services = received.routes[0], self._services
        return ExchangeNotes(
            self._id, received, services.wall(), services.clock(), route=route, dialect=route.dialect, going=received.request
        )

    def is_ready(self, notes: ExchangeNotes) -> bool:
        """Put it into the form of its first target, where nothing speaks against asking that one at once."""
        if notes.by_sessions or self._services.cool_downs.until or self.needs_no_backend(notes.route):
            return False
        notes.try_route(notes.route, self._services.clock())
        try:
            self.project(notes.route, notes)
        except ClewError:  # met again, and told, when it is tried
            return False
        received = notes.received
        is_untouched = notes.going.messages is received.request.messages and notes.dialect.dialect.is_canonical
        received.request.source.untouched = received.snapshot if is_untouched else None
        return True

    def needs_no_backend(self, route: BackendRoute) -> bool:
        return self.lacks_credential(route) or self.is_estimated(route)

    def lacks_credential(self, route: BackendRoute) -> bool:
        return route.backend.auth == "passthrough" and not self._call.credential

    def is_estimated(self, route: BackendRoute) -> bool:
        """Tokens are to be counted, and this backend does not."""
        return self._call.kind == "count_tokens" and not route.dialect.counts_tokens

    def project(self, route: BackendRoute, notes: ExchangeNotes) -> None:
        """Put it into the form of this target. Raises ClewError where that cannot be."""
        projection = self._projection(route, notes)
        recalled = remembered(route, notes.received) if route.dialect.marks_strands else None
        if recalled is not None:
            notes.dialect = recalled.dialect
            projection = Projection(projection.request, (*projection.changes, *recalled.changes))
        notes.goes(projection)

    def _projection(self, route: BackendRoute, notes: ExchangeNotes) -> Projection:
        if notes.by_sessions:
            return self._services.sessions.project(notes, route, self._services.clock(), self._services.log)
        return project(notes.received.request, route.target, notes.received.facts)

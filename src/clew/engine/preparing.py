"""What is done about a request before anybody is asked: it is read, and put into the form of a target."""

from __future__ import annotations

from clew.engine.aside import LARGE
from clew.engine.asking import Asking, asking_of
from clew.engine.call import Call
from clew.engine.gathering import Known, gather, recall
from clew.engine.parts import Parts
from clew.engine.remembered import remembered
from clew.engine.route import Way
from clew.engine.story import Story
from clew.errors import ClewError
from clew.model.request import Request
from clew.model.wanted import Wanted
from clew.pipeline.project import Projection, project

__all__ = ["Preparation"]


class Preparation:
    """Of one call."""

    __slots__ = ("_call", "_id", "_known", "_parts", "_recalled", "wanted")

    def __init__(self, parts: Parts, call: Call, id: str) -> None:
        self._parts = parts
        self._call = call
        self._id = id
        self._recalled: Request | None = None
        """The request, once it is read."""
        self._known: Known | None = None
        self.wanted = Wanted()
        """Dropped when the client leaves: then work in a thread stops."""

    def is_light(self) -> bool:
        """Whether what is done about all of its messages may be done at once: it is small, or it goes on from a request
        whose messages went as they came, under these settings."""
        if len(self._call.body) <= LARGE:
            return True
        self._recalled = request = self._parts.histories.recall(self._call)
        return request is not None and request.source.untouched is self._parts.snapshot()

    def is_known(self) -> bool:
        """Whether nothing has to be looked up in the store; or the request cannot be read, which `read` says."""
        try:
            self._known = recall(self._parts.store, self._call, self._request(), self._id)
        except ClewError:
            return True
        return self._known is not None

    def read(self) -> Asking:
        """What is asked, with what is known of it; in a thread, unless it `is_known`. Raises ClewError if it cannot be
        read."""
        parts, call, request = self._parts, self._call, self._request()
        known = self._known or recall(parts.store, call, request, self._id)
        if known is None:
            assert parts.store is not None
            known = gather(parts.store, call, request, self._id)
        return asking_of(call, parts.snapshot(), known, self._id, request)  # a thread is named after its first

    def _request(self) -> Request:
        self._recalled = request = self._recalled or self._parts.histories.read(self._call, self.wanted)
        request.source.wanted = self.wanted
        return request

    def begin(self, asking: Asking) -> Story:
        way, parts = asking.ways[0], self._parts
        return Story(self._id, asking, parts.wall(), parts.clock(), way=way, dialect=way.dialect, going=asking.request)

    def is_ready(self, story: Story) -> bool:
        """Put it into the form of its first target, where nothing speaks against asking that one at once."""
        if story.by_sessions or self._parts.cool_downs.until or self.needs_no_backend(story.way):
            return False
        story.tries_way(story.way, self._parts.clock())
        try:
            self.project(story.way, story)
        except ClewError:  # met again, and told, when it is tried
            return False
        is_untouched = story.going.messages is story.asking.request.messages and story.dialect.is_passed(story.asking.call)
        story.asking.request.source.untouched = story.asking.snapshot if is_untouched else None
        return True

    def needs_no_backend(self, way: Way) -> bool:
        return self.lacks_credential(way) or self.is_estimated(way)

    def lacks_credential(self, way: Way) -> bool:
        return way.backend.auth == "passthrough" and not self._call.credential

    def is_estimated(self, way: Way) -> bool:
        """Tokens are to be counted, and this backend does not."""
        return self._call.kind == "count_tokens" and not way.dialect.counts_tokens

    def project(self, way: Way, story: Story) -> None:
        """Put it into the form of this target. Raises ClewError where that cannot be."""
        projection = self._projection(way, story)
        recalled = remembered(way, story.asking) if way.dialect.marks_strands else None
        if recalled is not None:
            story.dialect = recalled.dialect
            projection = Projection(projection.request, (*projection.changes, *recalled.changes))
        story.goes(projection)

    def _projection(self, way: Way, story: Story) -> Projection:
        if story.by_sessions:
            return self._parts.sessions.project(story, way, self._parts.clock(), self._parts.log)
        return project(story.asking.request, way.target, story.asking.facts)

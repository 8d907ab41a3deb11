"""An exchange under way: what is known of it, and all that is done about it without waiting.

`exchange` adds what can wait, `express` what is called from inside a read; both decide by what stands here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from clew.engine.asking import Asking, asking_of
from clew.engine.call import Call
from clew.engine.dialects import KEEP, NO_HINTS, Hints
from clew.engine.failures import refuse, tell_in_stream
from clew.engine.hearing import LIMITS, StreamHearing
from clew.engine.keeping import Keeping
from clew.engine.outgoing import outgoing, place_of
from clew.engine.parts import Parts
from clew.engine.passing import Passing
from clew.engine.remembered import remembered
from clew.engine.reply_head import kept_paths, own_headers
from clew.engine.route import Way
from clew.engine.story import Story
from clew.engine.token_learning import learn
from clew.engine.turns import Heard
from clew.errors import ClewError
from clew.http.client.message import ResponseHead
from clew.http.responder import Responder
from clew.model.request import Request
from clew.pipeline.project import Projection
from clew.upstream import pool

__all__ = ["UnderWay"]


class UnderWay:
    """Made for one call."""

    _passed: Sequence[tuple[str, str]] = ()
    """What the backend's head says that the client should hear."""
    _recalled: Request | None = None
    """The request, if it was known but for its end."""
    _story: Story | None = None
    _asked: pool.Asking | None = None
    """A request that is ready to go, or on its way."""
    _passing: Passing | None = None
    _hearing: StreamHearing | None = None
    _opened_at: float | None = None
    """Since when the first content of an answer is waited for, if that has begun."""
    _heard: Heard | None = None
    _tell: Callable[[], None] | None = None
    """Lets the end of a whole answer go out, if that is not its hearing's."""

    def __init__(self, parts: Parts, call: Call, client: Responder) -> None:
        self._parts = parts
        self._call = call
        self._client = client
        self._id = call.entry.id if call.entry else parts.new_id()
        self._keeping = Keeping(parts)
        self._shows_bodies = parts.log is not None and parts.log.shows_bodies

    def _told(self) -> Story:
        assert self._story is not None, "the request is read first"
        return self._story

    # Asking.

    def _read(self) -> Asking:
        parts = self._parts
        request = self._recalled or parts.histories.read(self._call)
        return asking_of(self._call, parts.snapshot(), parts.store, self._id, request)  # a thread is named after its first

    def _begin(self, asking: Asking) -> Story:
        way = asking.ways[0]
        return Story(
            self._id, asking, self._parts.wall(), self._parts.clock(), way=way, dialect=way.dialect, going=asking.request
        )

    def _lacks_credential(self, way: Way) -> bool:
        return way.backend.auth == "passthrough" and not self._call.credential

    def _project(self, way: Way, story: Story) -> None:
        projection = self._projection(way, story)
        recalled = remembered(way, story.asking) if way.dialect.remembers else None
        if recalled is not None:
            story.dialect = recalled.dialect
            projection = Projection(projection.request, (*projection.changes, *recalled.changes))
        story.goes(projection)

    def _projection(self, way: Way, story: Story) -> Projection:
        if story.by_sessions:
            return self._parts.sessions.project(story, way, self._parts.clock(), self._parts.log)
        return way.projector.project(story.asking.request, story.asking.facts)

    def _asking(self, way: Way, story: Story) -> pool.Asking:
        """What goes out, and where to."""
        self._log_body("sent", story.sent)
        request = outgoing(self._call, way, story.going, story.sent)
        # What another backend said before is not this one's, nor is the time that it took.
        self._passed, story.request_id, self._opened_at = (), "", None
        endpoint, timeouts = place_of(way.backend.url).endpoint, story.asking.patience_with(way)
        return self._parts.pool.ask(endpoint, request, timeouts=timeouts, limits=LIMITS)

    # Answering.

    def _note_head(self, head: ResponseHead, story: Story) -> None:
        story.head = head
        self._passed = story.dialect.passed(head.headers, self._parts.wall())
        for name, value in self._passed:
            if name == "request-id":
                story.request_id = value
                break

    def _new_passing(self, story: Story) -> Passing:
        return Passing(self._client, self, story.asking.snapshot.settings.gateway.ping_seconds)

    def _stream_hearing(self, story: Story, passing: Passing) -> StreamHearing:
        dress = story.dress()
        hearing = StreamHearing(
            dress,
            story.dialect,
            self._hints(story),
            passing,
            self._settle,
            first_content=story.asking.snapshot.settings.first_content_seconds,
            since=self._opened_at,
            blocks=self._parts.store is not None or story.by_sessions,
        )
        if self._parts.store is not None and dress.wear.sealer is not None:
            dress.refers = passing.secure(partial(self._keeping.secure, story, hearing))
        return hearing

    def _hints(self, story: Story) -> Hints:
        way, log = story.way, self._parts.log
        if not story.dialect.translates:
            return KEEP if self._needs_raw(story) else NO_HINTS
        tell = partial(log.lived, self._id) if log is not None and log.shows_bodies else None
        return story.hints(self._parts.token_counts.about(way.backend.name, way.target.model, len(story.sent)), tell)

    def _stream_begins(self) -> None:
        self._told().content_begins(self._parts.clock())
        if self._hearing is not None:
            self._keeping.watch(self._told(), self._hearing)

    def headers(self) -> list[tuple[str, str]]:
        story = self._told()
        return [*self._passed, *own_headers(self._id, story.way, str(story.counts()))]

    def early_headers(self) -> list[tuple[str, str]]:
        """Who answers is certain where nobody else could."""
        return self.headers() if self._told().asking.has_one_way else own_headers(self._id, None, "")

    # Ending.

    def _note(self, heard: Heard) -> None:
        """A whole answer, before it is kept."""
        story = self._told()
        self._heard = heard
        story.unheard += (call.change for call in heard.answer.broken_calls)
        if story.by_sessions:
            self._parts.sessions.register(story, heard.answer.blocks, self._parts.clock())
        if self._hearing is not None and self._needs_raw(story):
            story.answered = self._hearing.raw
        self._log_body("answered", story.answered)
        if story.dialect.translates and self._call.kind == "messages":
            going = story.going
            learn(self._parts.token_counts, story.way, len(story.sent), heard.answer.usage, lambda: going)

    def _needs_raw(self, story: Story) -> bool:
        return self._shows_bodies or (self._parts.store is not None and story.asking.snapshot.settings.store.bodies != "off")

    async def _settle(self, heard: Heard) -> None:
        self._note(heard)
        await self._keeping.settle(self._told(), heard)

    def _say(self, failure: ClewError) -> None:
        if self._call.entry is not None:
            self._call.entry.failed(failure)
        if self._client.ended:
            return
        if self._client.started:
            if self._passing is not None:
                self._passing.let_go()
            tell_in_stream(self._client, failure)
        else:
            refuse(self._client, failure, self.headers(), self._id)

    # For the log.

    def _log_body(self, which: str, raw: bytes) -> None:
        if self._shows_bodies and self._parts.log is not None:
            self._parts.log.body(self._id, which, raw)

    def _log_decisions(self, story: Story) -> None:
        log = self._parts.log
        if log is not None and log.traces and not story.by_sessions:
            log.decided(story.id, story.changes, kept_paths(story.going))

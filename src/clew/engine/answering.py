"""The answer of a backend on its way to the client: streamed, in one piece, or made here where nobody has to be asked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import msgspec

from clew.engine.backend_dialect import Refused
from clew.engine.commands import Compute, Expect, Finish, LetGo, SendWhole
from clew.engine.ending import TurnEnding
from clew.engine.exchange_notes import ExchangeNotes
from clew.engine.reply_head import ESTIMATED, JSON_TYPE, own_headers
from clew.engine.services import EngineServices
from clew.engine.states import ExchangeState, Progress
from clew.engine.streamed import AnswerReading, StreamedAnswer
from clew.engine.turns import ReceivedAnswer
from clew.engine.whole import WholeAnswer, read_whole
from clew.model.http import ResponseHead
from clew.model.json import JsonObject
from clew.pipeline.stream.answer import answer_of_message
from clew.pipeline.token_estimate import estimate


class BackendAnswer:
    """Of one exchange, for all backends that it asks."""

    stream: StreamedAnswer | None = None
    """The streamed answer, while it comes."""
    passed: Sequence[tuple[str, str]] = ()
    """What the backend's head says that the client should hear."""

    def __init__(self, services: EngineServices, notes: ExchangeNotes, progress: Progress, *, is_light: bool) -> None:
        self.ending = TurnEnding(services, notes, is_light=is_light)
        self._services = services
        self._notes = notes
        self._progress = progress

    def note_head(self, head: ResponseHead) -> None:
        self._notes.head = head
        self.passed = self._notes.dialect.response_headers(head.headers, self._services.wall())
        self._notes.request_id = next((value for name, value in self.passed if name == "request-id"), "")

    async def answer(self, head: ResponseHead) -> Refused | None:
        """To the client, all of it; or the refusal that came in its place. Raises BackendError, StreamIllegal."""
        return await (self._pass_stream(head) if self._notes.received.streams else self._answer_whole(head))

    async def _pass_stream(self, head: ResponseHead) -> Refused | None:
        notes = self._notes
        self.stream = stream = StreamedAnswer(
            self._answer_reading(),
            within=notes.received.snapshot.settings.first_content_seconds,
            blocks=self._services.store is not None or notes.by_sessions,
        )
        await Expect(stream)
        refused = await stream.pass_on(head, self._content_begins)
        if refused is not None:
            self.stream = None
            return refused
        heard = await Compute(stream.size, lambda: stream.heard(whole=True))
        if heard.answer.illegal is not None:
            raise heard.answer.illegal
        if self._needs_raw:
            notes.answered = stream.raw
        self._progress.enter(ExchangeState.WHOLE)
        await self.ending.settle(heard)
        await Finish(stream.end)
        return None

    def _content_begins(self) -> None:
        self._progress.enter(ExchangeState.PASSING)
        self._notes.content_begins(self._services.clock())

    async def _answer_whole(self, head: ResponseHead) -> Refused | None:
        notes = self._notes
        found = await read_whole(self._answer_reading(), head, within=notes.received.snapshot.settings.first_content_seconds)
        if isinstance(found, Refused):
            return found
        await LetGo()
        await self._tell_whole(found)
        return None

    async def _tell_whole(self, whole: WholeAnswer) -> None:
        self._progress.enter(ExchangeState.WHOLE)
        self._notes.answered = whole.raw
        self._notes.content_begins(self._services.clock())
        await self.ending.settle(whole.heard)
        await SendWhole([JSON_TYPE, *self.headers()], whole.shown)

    async def answer_estimate(self) -> None:
        """For a backend that does not count tokens: about how many there are, and a word that it is no more than that."""
        notes, counts = self._notes, self._services.token_counts
        estimated = await Compute(len(notes.received.call.body), lambda: estimate(notes.going))
        route = notes.route
        tokens: JsonObject = {"input_tokens": counts.corrected(route.backend.name, route.target.model, estimated)}
        told = msgspec.json.encode(tokens)
        self.passed = [ESTIMATED]
        await self._tell_whole(WholeAnswer(told, told, ReceivedAnswer(answer=answer_of_message(tokens))))

    def _answer_reading(self) -> AnswerReading:
        """All that reading an answer of this backend needs. It is read from its beginning."""
        notes, log = self._notes, self._services.log
        is_canonical = notes.dialect.dialect.is_canonical
        report = partial(log.lived, notes.id) if log is not None and log.shows_bodies and not is_canonical else None
        counts, route = self._services.token_counts, notes.route
        input_tokens = 0 if is_canonical else counts.about(route.backend.name, route.target.model, len(notes.sent))
        return AnswerReading(
            backend=route.backend.name,
            call=notes.received.call,
            dialect=notes.dialect,
            view=notes.client_view(),
            context=notes.answer_context(input_tokens),
            keep=self._needs_raw,
            report=report,
        )

    @property
    def _needs_raw(self) -> bool:
        """Whether the answer is kept as it came."""
        services = self._services
        is_kept = services.store is not None and self._notes.received.snapshot.settings.store.bodies != "off"
        return is_kept or (services.log is not None and services.log.shows_bodies)

    def headers(self) -> list[tuple[str, str]]:
        """Of the answer, when its first byte goes out."""
        return [*self.passed, *own_headers(self._notes.id, self._notes.route, str(self._notes.counts()))]

    def early_headers(self) -> list[tuple[str, str]]:
        """Before anybody has answered: who answers is certain only where nobody else could."""
        return self.headers() if self._notes.received.has_one_route else own_headers(self._notes.id, None, "")

"""The answer of a backend on its way to the client: streamed, in one piece, or made here where nobody has to be asked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import msgspec

from clew.engine.backend_dialect import Refused
from clew.engine.commands import Compute, Expect, Finish, LetGo, SendWhole
from clew.engine.ending import TurnEnding
from clew.engine.parts import Parts
from clew.engine.reply_head import ESTIMATED, JSON_TYPE, own_headers
from clew.engine.states import ExchangeState, Progress
from clew.engine.story import Story
from clew.engine.streamed import AnswerReading, StreamedAnswer
from clew.engine.turns import Heard
from clew.engine.whole import WholeAnswer, hear_whole
from clew.http.client.message import ResponseHead
from clew.model.json import JsonObject
from clew.pipeline.stream.answer import answer_of_message
from clew.pipeline.token_estimate import estimate

__all__ = ["BackendAnswer"]


class BackendAnswer:
    """Of one exchange, for all backends that it asks."""

    stream: StreamedAnswer | None = None
    """The streamed answer, while it comes."""
    passed: Sequence[tuple[str, str]] = ()
    """What the backend's head says that the client should hear."""

    def __init__(self, parts: Parts, story: Story, progress: Progress, *, is_light: bool) -> None:
        self.ending = TurnEnding(parts, story, is_light=is_light)
        self._parts = parts
        self._story = story
        self._progress = progress

    def note_head(self, head: ResponseHead) -> None:
        self._story.head = head
        self.passed = self._story.dialect.response_headers(head.headers, self._parts.wall())
        self._story.request_id = next((value for name, value in self.passed if name == "request-id"), "")

    async def answer(self, head: ResponseHead) -> Refused | None:
        """To the client, all of it; or the refusal that came in its place. Raises BackendError, StreamIllegal."""
        return await (self._pass_stream(head) if self._story.asking.streams else self._answer_whole(head))

    async def _pass_stream(self, head: ResponseHead) -> Refused | None:
        story = self._story
        self.stream = stream = StreamedAnswer(
            self._answer_reading(),
            within=story.asking.snapshot.settings.first_content_seconds,
            blocks=self._parts.store is not None or story.by_sessions,
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
            story.answered = stream.raw
        self._progress.enter(ExchangeState.WHOLE)
        await self.ending.settle(heard)
        await Finish(stream.end)
        return None

    def _content_begins(self) -> None:
        self._progress.enter(ExchangeState.PASSING)
        self._story.content_begins(self._parts.clock())

    async def _answer_whole(self, head: ResponseHead) -> Refused | None:
        story = self._story
        found = await hear_whole(self._answer_reading(), head, within=story.asking.snapshot.settings.first_content_seconds)
        if isinstance(found, Refused):
            return found
        await LetGo()
        await self._tell_whole(found)
        return None

    async def _tell_whole(self, whole: WholeAnswer) -> None:
        self._progress.enter(ExchangeState.WHOLE)
        self._story.answered = whole.raw
        self._story.content_begins(self._parts.clock())
        await self.ending.settle(whole.heard)
        await SendWhole([JSON_TYPE, *self.headers()], whole.shown)

    async def answer_estimate(self) -> None:
        """For a backend that does not count tokens: about how many there are, and a word that it is no more than that."""
        story, counts = self._story, self._parts.token_counts
        estimated = await Compute(len(story.asking.call.body), lambda: estimate(story.going))
        way = story.way
        tokens: JsonObject = {"input_tokens": counts.corrected(way.backend.name, way.target.model, estimated)}
        told = msgspec.json.encode(tokens)
        self.passed = [ESTIMATED]
        await self._tell_whole(WholeAnswer(told, told, Heard(answer=answer_of_message(tokens))))

    def _answer_reading(self) -> AnswerReading:
        """All that reading an answer of this backend needs. It is read from its beginning."""
        story, log = self._story, self._parts.log
        is_passed = story.dialect.is_passed(story.asking.call)
        report = partial(log.lived, story.id) if log is not None and log.shows_bodies and not is_passed else None
        counts, way = self._parts.token_counts, story.way
        input_tokens = 0 if is_passed else counts.about(way.backend.name, way.target.model, len(story.sent))
        return AnswerReading(
            backend=way.backend.name,
            call=story.asking.call,
            dialect=story.dialect,
            view=story.client_view(),
            context=story.answer_context(input_tokens),
            keep=self._needs_raw,
            report=report,
        )

    @property
    def _needs_raw(self) -> bool:
        """Whether the answer is kept as it came."""
        parts = self._parts
        is_kept = parts.store is not None and self._story.asking.snapshot.settings.store.bodies != "off"
        return is_kept or (parts.log is not None and parts.log.shows_bodies)

    def headers(self) -> list[tuple[str, str]]:
        """Of the answer, when its first byte goes out."""
        return [*self.passed, *own_headers(self._story.id, self._story.way, str(self._story.counts()))]

    def early_headers(self) -> list[tuple[str, str]]:
        """Before anybody has answered: who answers is certain only where nobody else could."""
        return self.headers() if self._story.asking.has_one_way else own_headers(self._story.id, None, "")

"""A live exchange: one client request and all that befalls it, from its first byte to its place in the store.

    read       recognise, route                               (`asking`)
    attempt    project, send, heal if it is refused; again, or elsewhere, as `pipeline.attempts` says
    hear       relay the answer: nothing before its first content, its end only after the store has the turn   (`hearing`)
    settle     keep the turn: whole, cut, refused or failed    (`story`)

Whatever ends it, a client that leaves, a server that drains or a backend that breaks, is told to the client in its own
dialect, and kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec
from msgspec import structs

from clew.engine.aside import LARGE, aside
from clew.engine.dialects import Refused
from clew.engine.failures import DRAINING, NO_RETRY, kind_in, named, no_credential, without_credential, without_key
from clew.engine.hearing import Told
from clew.engine.passing import Passing
from clew.engine.reply_head import ESTIMATED, JSON_TYPE
from clew.engine.route import Way
from clew.engine.story import Story
from clew.engine.turns import Heard
from clew.engine.underway import UnderWay
from clew.engine.whole import Whole, hear_whole
from clew.errors import BackendError, BackendOverloaded, ClewError, StreamIllegal
from clew.model.json import JsonObject
from clew.pipeline.attempts import Outcome, attempts
from clew.pipeline.heal import Heal, Remedy, heal
from clew.pipeline.project import Projection
from clew.pipeline.retry_hints import in_seconds, retry_after_of, should_retry_of
from clew.pipeline.stream.answer import answer_of_message
from clew.pipeline.token_estimate import estimate
from clew.store import values as kept
from clew.thinking.refusals import refusal_in
from clew.upstream.reply import Reply

__all__ = ["LiveExchange"]

T = TypeVar("T")

MOST_WORDS = 1024 * 1024
"""Of a refusal."""

_NO_ROUTE = frozenset((404, 405, 501))
"""What a server says to a path that it does not know."""


class LiveExchange(UnderWay):
    """Run once."""

    async def run(self) -> None:
        """Answer the client. Raises ClewError only for a request that cannot be read."""
        self._log_body("asked", self._call.body)
        asking = self._read() if len(self._call.body) <= LARGE else await self._aside(self._read)
        self._story = self._begin(asking)
        await self._go_on()

    async def _go_on(self) -> None:
        """From where it stands: nothing was sent yet, or `_asked` is on its way."""
        story = self._told()
        self._passing = passing = self._passing or self._new_passing(story)
        if story.asking.streams:
            passing.watch_silence()
        await self._guard(self._attempts(story, passing))

    async def _guard(self, work: Awaitable[BackendError | None]) -> None:
        """Whatever comes of it is told and kept."""
        try:
            failure = await work
        except asyncio.CancelledError:
            self._hush()
            await self._interrupted()
            raise
        except ClewError as error:
            failure = error
        finally:
            self._hush()
        if failure is not None:
            await self._fail(failure)

    def _hush(self) -> None:
        if self._passing is not None:
            self._passing.close()

    async def _aside(self, work: Callable[[], T]) -> T:
        return await aside(len(self._call.body), work)

    # Trying.

    async def _attempts(self, story: Story, passing: Passing) -> BackendError | None:
        """One way after another, as long as it makes sense. None once the client has its answer.

        Where nothing is known against the first way, it is where every flow of attempts begins; nearly always it
        answers, and then there is nothing to plan.
        """
        ways = {way.candidate: way for way in story.asking.ways}
        cool_downs, result = self._parts.cool_downs, None
        if self._asked is not None or not cool_downs.until:
            result = await self._attempt(story.way, story, passing)
            if result.is_success:
                return None
            cool_downs = cool_downs.without(story.way.candidate)  # what others met there meanwhile: the result is its own
        retry = story.asking.snapshot.settings.retry
        flow = attempts(tuple(ways), retry, cool_downs, jitter=self._parts.jitter, now=story.began)
        attempt = next(flow)
        while True:
            if result is None:
                await asyncio.sleep(attempt.wait)
                result = await self._attempt(ways[attempt.target], story, passing)
            try:
                attempt, result = flow.send(result), None
            except StopIteration as end:
                self._parts.learn(end.value.cooled, self._parts.clock())
                return end.value.failure

    async def _attempt(self, way: Way, story: Story, passing: Passing) -> Outcome:
        if self._asked is None:
            story.tries_way(way, self._parts.clock())
        try:
            result = await self._ask(way, story, passing)
        except BackendError as error:
            result = self._outcome(error=named(error, way), started=passing.pushed)
        except StreamIllegal as error:
            result = self._outcome(error=BackendError(f"{way.backend.name}: {error}"), started=passing.pushed)
            if isinstance(error, Told):
                passing.let_go()
                self._client.end()
        if not result.is_success:
            result = without_key(result, way.key)
            story.note(result, self._parts.clock(), self._hidden)
        return result

    def _hidden(self, words: str) -> str:
        """Without secrets: the client's own, those of this process, and what looks like one."""
        return self._parts.redact(without_credential(words, self._call.credential))

    def _outcome(
        self,
        status: int | None = None,
        *,
        error: BackendError | None = None,
        started: bool = False,
        no: Refused | None = None,
    ) -> Outcome:
        now = self._parts.clock()
        if no is None:
            return Outcome(now=now, status=status, error=error, content_started=started)
        return Outcome(
            now=now,
            status=status,
            error=error,
            retry_after=retry_after_of(no.headers, wall=self._parts.wall()),
            should_retry=should_retry_of(no.headers),
            content_started=started,
            body=no.body,
        )

    async def _ask(self, way: Way, story: Story, passing: Passing) -> Outcome:
        """Send the request in this target's form; repair it as long as it is refused for its thinking."""
        if self._asked is None and (answered := await self._before_asking(way, story)):
            return answered
        tried: tuple[Remedy, ...] = ()
        while True:
            refused = await self._send(way, story, passing)
            if refused is None:
                return self._outcome(200, started=True)
            if self._is_uncounted(refused):
                return await self._estimate(story)
            remedy = None if way.dialect.translates else self._healed(refused, way, story, tried)
            projection = self._healed_projection(story, remedy) if remedy else self._repaired(story, refused)
            if projection is None:
                return self._refusal(story.dialect.told(refused), story)
            story.heals, tried = story.heals + 1, (*tried, remedy.remedy) if remedy else tried
            await self._aside(lambda projection=projection: story.goes(projection))

    async def _before_asking(self, way: Way, story: Story) -> Outcome | None:
        """The request in this target's form; an outcome where the backend need not be asked at all."""
        if self._lacks_credential(way):
            self._passed = [NO_RETRY]
            return self._outcome(401, no=Refused(401, no_credential(way.backend.name)))
        await self._aside(lambda: self._project(way, story))
        self._log_decisions(story)
        if self._call.kind == "count_tokens" and not way.dialect.counts:
            return await self._estimate(story)
        return None

    def _is_uncounted(self, refused: Refused) -> bool:
        """Few of those who speak Anthropic's dialect count tokens. One that misses the model says so in its words; in a
        relay's shape inside a 200 nobody knows, and the kind is ours."""
        is_unknown = refused.status in _NO_ROUTE and (refused.is_told or not kind_in(refused.body))
        return self._call.kind == "count_tokens" and is_unknown

    def _healed_projection(self, story: Story, remedy: Heal) -> Projection:
        story.dialect = story.dialect.healed()
        return Projection(remedy.request, (*story.projected, *remedy.changes))

    def _repaired(self, story: Story, refused: Refused) -> Projection | None:
        """The same, to be written in a weaker form of its dialect."""
        repair = story.dialect.repair(refused, story.going, story.sent)
        if repair is None:
            return None
        story.dialect = repair.dialect
        return Projection(story.going, (*story.projected, repair.change))

    def _refusal(self, refused: Refused, story: Story) -> Outcome:
        outcome = self._outcome(refused.status, no=refused)
        passed = story.dialect.passed(refused.headers, self._parts.wall())
        self._passed = in_seconds(passed, outcome.retry_after) or self._passed
        return outcome

    def _healed(self, refused: Refused, way: Way, story: Story, tried: tuple[Remedy, ...]) -> Heal | None:
        refusal = refusal_in(refused.status, refused.body.decode("utf-8", "replace"))
        if refusal is None:
            return None
        return heal(story.going, refusal, way.target, story.asking.facts, tried)

    async def _send(self, way: Way, story: Story, passing: Passing) -> Refused | None:
        """One request to the backend, and its answer to the client; or the backend's no."""
        asked, self._asked = self._asked or self._asking(way, story), None
        async with asked as reply:
            self._note_head(reply.head, story)
            if not 200 <= reply.status < 300:
                return Refused(reply.status, await reply.read(most=MOST_WORDS), reply.headers)
            refused = await self._hear(reply, story, passing)
            return None if refused is None else structs.replace(refused, headers=(*reply.headers, *refused.headers))

    async def _hear(self, reply: Reply, story: Story, passing: Passing) -> Refused | None:
        """An answer with 200, to the client; or the no that came in its place."""
        if story.asking.streams:
            if self._hearing is None or not self._hearing.opened:
                self._hearing = self._stream_hearing(story, passing)
            return await self._hearing.hear(reply, self._stream_begins)
        heard = await self._hear_whole(reply, story)
        return heard if isinstance(heard, Refused) else await self._tell_whole(*heard)

    async def _hear_whole(self, reply: Reply, story: Story) -> Whole | Refused:
        hints, seconds = self._hints(story), story.asking.snapshot.settings.first_content_seconds
        return await hear_whole(reply, story.dress(), story.dialect, hints, self._call.kind, first_content=seconds)

    async def _estimate(self, story: Story) -> Outcome:
        """A backend that does not count: about how many there are, and a word that it is no more than that."""
        way = story.way
        estimated = await self._aside(lambda: estimate(story.going))
        counts = self._parts.token_counts
        tokens: JsonObject = {"input_tokens": counts.corrected(way.backend.name, way.target.model, estimated)}
        told = msgspec.json.encode(tokens)
        self._passed = [ESTIMATED]
        await self._tell_whole(told, told, Heard(answer=answer_of_message(tokens)))
        return self._outcome(200, started=True)

    # Answering.

    async def _tell_whole(self, raw: bytes, shown: bytes, heard: Heard) -> None:
        story = self._told()
        story.answered = raw
        story.content_begins(self._parts.clock())
        await self._settled(heard, lambda: self._client.send(200, [JSON_TYPE, *self.headers()], shown))

    async def _settled(self, heard: Heard, tell: Callable[[], None]) -> None:
        """Kept, then told."""
        self._tell = tell
        await self._settle(heard)
        with self._client.in_one_piece():
            tell()

    # Ending.

    async def _interrupted(self) -> None:
        """The client left, or the server must end: a client that is there is told, and what came of the answer is kept."""
        if self._client.draining:
            await self._last_word()
        await self._leave("cut")

    async def _last_word(self) -> None:
        """The end after all, where the whole answer is here and only the store is waited for: that takes a moment at most,
        and the turn is recorded as whole."""
        hearing, heard = self._hearing, self._heard
        tell = self._tell or (hearing.close if hearing is not None and hearing.ended else None)
        if heard is None or tell is None or self._client.ended:
            self._say(BackendOverloaded(DRAINING))
            return
        await self._keeping.finish(self._told(), heard)
        with self._client.in_one_piece():
            tell()

    async def _fail(self, failure: ClewError) -> None:
        tries = self._told().tries
        if not tries:
            self._told().never_asked(failure)
        self._say(failure)
        await self._leave("refused" if tries and tries[-1].status else "failed")

    async def _leave(self, ending: kept.Outcome) -> None:
        story, hearing, heard = self._told(), self._hearing, self._heard
        if heard is not None:
            await self._keeping.leave(story, "whole", lambda: heard)
        elif hearing is not None and hearing.begun:
            story.answered = hearing.raw
            await self._keeping.leave(story, "cut", lambda: hearing.heard(whole=False), hearing.size)
        else:
            await self._keeping.leave(story, ending, lambda: None)

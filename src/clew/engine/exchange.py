"""An exchange: one client request and all that happens to it, from its bytes to its place in the store.

    read       what is asked, what is remembered of its history, where it may go            (`preparing`)
    try        project, send, repair if it is refused; again, or elsewhere, as `pipeline.attempts` says
    answer     nothing before the first content, the end only after the store has the turn  (`answering`)
    end        the turn is kept: whole, cut, refused or failed                              (`ending`)

It is one coroutine that awaits commands (`commands`) and knows no loop, no socket and no database; `driver` carries them
out. Whatever ends it, a client that leaves, a server that ends or a backend that breaks, comes in as an exception, is told
to the client in its own dialect, and is kept. In which state it is, and what may follow, is one table (`states`).
"""

from __future__ import annotations

from functools import partial
from typing import Final

from msgspec import structs

from clew.engine.answering import BackendAnswer
from clew.engine.backend_dialect import Refused
from clew.engine.call import Call
from clew.engine.commands import (
    Ask,
    ClientGone,
    Compute,
    CoolDown,
    Finish,
    LetGo,
    ReadBody,
    Refuse,
    ServerEnds,
    Sleep,
)
from clew.engine.exchange_notes import ExchangeNotes
from clew.engine.failures import DRAINING, NO_RETRY, kind_in, named, no_credential, without_credential, without_key
from clew.engine.preparing import Preparation
from clew.engine.received_request import ReceivedRequest
from clew.engine.reply_head import kept_paths
from clew.engine.route import BackendRoute
from clew.engine.services import EngineServices
from clew.engine.states import ExchangeState, Progress
from clew.engine.streamed import AlreadyTold
from clew.errors import BackendError, BackendOverloaded, ClewError, StreamIllegal
from clew.model.turn import Outcome as Ended
from clew.pipeline.attempts import AttemptOutcome, attempts
from clew.pipeline.heal import HealedRequest, Remedy, heal, refusal_in
from clew.pipeline.project import Projection
from clew.pipeline.retry_hints import in_seconds, retry_after_of, should_retry_of

MOST_WORDS: Final = 1024 * 1024
"""Of a refusal."""

_NO_ROUTE: Final = frozenset((404, 405, 501))
"""What a server says to a path that it does not know."""


class ExchangeMachine:
    """Made for one call: `prepare` it, then drive `run` to its end."""

    notes: ExchangeNotes
    answering: BackendAnswer
    is_read = False
    _is_light = True
    """Whether what is done about all of its messages may be done at once."""
    _is_ready = False
    """The request is in the form of the first target."""
    unasked: ReceivedRequest | None = None
    """What was read, if no backend can be asked for it."""

    def __init__(self, services: EngineServices, call: Call) -> None:
        self.call = call
        self.id = call.entry.id if call.entry else services.new_id()
        self._services = services
        self._preparation = Preparation(services, call, self.id)
        self._progress = Progress()

    @property
    def state(self) -> ExchangeState:
        return self._progress.state

    def begins_at_once(self) -> bool:
        """Whether `prepare` takes a moment only."""
        self._is_light = self._preparation.is_light()
        return self._is_light and self._preparation.is_known()

    def prepare(self) -> None:
        """Read the request, and put it into the first target's form. Raises ClewError if it cannot be read."""
        self._log_body("asked", self.call.body)
        received = self._preparation.read()
        if received.failure is not None:
            self.unasked = received
            return
        self.notes = self._preparation.begin(received)
        self.answering = BackendAnswer(self._services, self.notes, self._progress, is_light=self._is_light)
        self.is_read = True
        self._is_ready = self._preparation.is_ready(self.notes)

    def drop(self) -> None:
        """The client is gone: what is being worked out in a thread before there is an answer is not wanted any more."""
        if self.state in (ExchangeState.BEGUN, ExchangeState.ASKING):
            self._preparation.wanted.drop()

    async def run(self) -> None:
        """Answer the client, and keep the turn."""
        try:
            failure = await self._try_all(self.notes)
            if failure is not None:
                await self._fail(failure)
        except ClientGone:
            await self.leave("cut")
        except ServerEnds:
            await Refuse(BackendOverloaded(DRAINING))
            await self.leave("cut")
        except ClewError as error:
            await self._fail(error)
        self._progress.enter(ExchangeState.OVER)

    async def _fail(self, failure: ClewError) -> None:
        tries = self.notes.tries
        if not tries:
            self.notes.never_asked(failure)
        await Refuse(failure)
        await self.leave("refused" if tries and tries[-1].status else "failed")

    async def leave(self, outcome: Ended) -> None:
        """Keep what came, of an answer that is not whole or of none."""
        await self.answering.ending.leave(outcome, self.answering.stream)

    # Trying.

    async def _try_all(self, notes: ExchangeNotes) -> BackendError | None:
        """One way after another, as long as it makes sense. None once the client has its answer.

        Where nothing is known against the first way, it is where every flow of attempts begins; nearly always it answers,
        and then there is nothing to plan.
        """
        routes = {route.candidate: route for route in notes.received.routes}
        cool_downs, result = self._services.cool_downs, None
        if self._is_ready or not cool_downs.until:
            result = await self._try(notes.route, notes)
            if result.is_success:
                return None
            cool_downs = cool_downs.without(notes.route.candidate)  # what others met there meanwhile: the result is its own
        retry = notes.received.snapshot.settings.retry
        flow = attempts(tuple(routes), retry, cool_downs, jitter=self._services.jitter, now=notes.began)
        attempt = next(flow)
        while True:
            if result is None:
                await Sleep(attempt.wait)
                result = await self._try(routes[attempt.target], notes)
            try:
                attempt, result = flow.send(result), None
            except StopIteration as end:
                await CoolDown(end.value.cooled)
                return end.value.failure

    async def _try(self, route: BackendRoute, notes: ExchangeNotes) -> AttemptOutcome:
        self._progress.enter(ExchangeState.ASKING)
        try:
            result = await self._ask(route, notes)
        except BackendError as error:
            result = self._broken(named(error, route))
        except StreamIllegal as error:
            result = self._broken(BackendError(f"{route.backend.name}: {error}"))
            if isinstance(error, AlreadyTold):
                await Finish(b"")
        if not result.is_success:
            await LetGo()
            self._progress.enter(ExchangeState.BEGUN)
            result = without_key(result, route.key)
            notes.note(result, self._services.clock(), self._hidden)
        return result

    def _hidden(self, words: str) -> str:
        """Without secrets: the client's own, those of this process, and what looks like one."""
        return self._services.redact(without_credential(words, self.call.credential))

    def _broken(self, error: BackendError) -> AttemptOutcome:
        return AttemptOutcome(now=self._services.clock(), error=error, content_started=self.state is ExchangeState.PASSING)

    def _answered(self) -> AttemptOutcome:
        return AttemptOutcome(now=self._services.clock(), status=200, content_started=True)

    def _refused(self, no: Refused) -> AttemptOutcome:
        return AttemptOutcome(
            now=self._services.clock(),
            status=no.status,
            retry_after=retry_after_of(no.headers, wall=self._services.wall()),
            should_retry=should_retry_of(no.headers),
            body=no.body,
        )

    async def _ask(self, route: BackendRoute, notes: ExchangeNotes) -> AttemptOutcome:
        """Send the request in this target's form; repair it as long as it is refused for its thinking."""
        ready, self._is_ready = self._is_ready, False
        if not ready:
            notes.try_route(route, self._services.clock())
            if (answered := await self._prepare_for(route, notes)) is not None:
                return answered
        self._log_decisions(notes)
        tried: tuple[Remedy, ...] = ()
        while True:
            refused = await self._send(route, notes)
            if refused is None:
                return self._answered()
            if self._is_uncounted(refused):
                return await self._estimate()
            remedy = self._remedy(refused, route, notes, tried)
            projection = self._healed(notes, remedy) if remedy else self._repaired(notes, refused)
            if projection is None:
                return self._refusal(notes.dialect.explain(refused), notes)
            notes.heals, tried = notes.heals + 1, (*tried, remedy.remedy) if remedy else tried
            await self._compute(partial(notes.goes, projection))

    async def _compute(self, work: partial[None]) -> None:
        await Compute(len(self.call.body), work)

    async def _prepare_for(self, route: BackendRoute, notes: ExchangeNotes) -> AttemptOutcome | None:
        """The request in this target's form; an outcome where the backend need not be asked at all."""
        if self._preparation.lacks_credential(route):
            self.answering.passed = [NO_RETRY]
            return self._refused(Refused(401, no_credential(route.backend.name)))
        await self._compute(partial(self._preparation.project, route, notes))
        return await self._estimate() if self._preparation.is_estimated(route) else None

    def _is_uncounted(self, refused: Refused) -> bool:
        """Few of those who speak Anthropic's dialect count tokens. A backend that does not know the model says so in words
        of its own dialect; for an error of a relay inside a 200 the words are ours, and say nothing."""
        is_unknown = refused.status in _NO_ROUTE and (refused.is_canonical or not kind_in(refused.body))
        return self.call.kind == "count_tokens" and is_unknown

    def _remedy(
        self, refused: Refused, route: BackendRoute, notes: ExchangeNotes, tried: tuple[Remedy, ...]
    ) -> HealedRequest | None:
        if route.dialect.dialect.repairs is not None:  # a dialect with repairs of its own writes the request otherwise
            return None
        refusal = refusal_in(refused.status, refused.body.decode("utf-8", "replace"))
        return None if refusal is None else heal(notes.going, refusal, route.target, notes.received.facts, tried)

    def _healed(self, notes: ExchangeNotes, remedy: HealedRequest) -> Projection:
        notes.dialect = notes.dialect.leaving_out()
        return Projection(remedy.request, (*notes.projected, *remedy.changes))

    def _repaired(self, notes: ExchangeNotes, refused: Refused) -> Projection | None:
        """The same request, to be written in a weaker form of its dialect."""
        repair = notes.dialect.repair(refused, notes.going, notes.sent)
        if repair is None:
            return None
        notes.dialect = repair.dialect
        return Projection(notes.going, (*notes.projected, repair.change))

    def _refusal(self, refused: Refused, notes: ExchangeNotes) -> AttemptOutcome:
        outcome = self._refused(refused)
        passed = notes.dialect.response_headers(refused.headers, self._services.wall())
        self.answering.passed = in_seconds(passed, outcome.retry_after) or self.answering.passed
        return outcome

    async def _send(self, route: BackendRoute, notes: ExchangeNotes) -> Refused | None:
        """One request to the backend, and its answer to the client; or the backend's no."""
        self._log_body("sent", notes.sent)
        self.answering.passed, notes.request_id = (), ""  # what another backend said before is not this one's
        head = await Ask(route, notes.going, notes.sent)
        self.answering.note_head(head)
        if 200 <= head.status < 300:
            refused = await self.answering.answer(head)
        else:
            refused = Refused(head.status, await ReadBody(MOST_WORDS))
        if refused is None:
            return None
        await LetGo()
        return structs.replace(refused, headers=(*head.headers, *refused.headers))

    async def _estimate(self) -> AttemptOutcome:
        await self.answering.answer_estimate()
        return self._answered()

    # For the log.

    def _log_body(self, which: str, raw: bytes) -> None:
        if self._services.log is not None and self._services.log.shows_bodies:
            self._services.log.body(self.id, which, raw)

    def _log_decisions(self, notes: ExchangeNotes) -> None:
        log = self._services.log
        if log is not None and log.traces and not notes.by_sessions:
            log.decided(notes.id, notes.changes, kept_paths(notes.going))

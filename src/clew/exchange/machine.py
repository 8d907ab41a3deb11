"""ExchangeMachine: one client request and all that happens to it, from its values to its place in the store.

    begin      put it into the form of the first target
    try        project, send, repair if it is refused; again, or elsewhere, as `pipeline.attempts` says
    answer     nothing before the first content, the end only after the store has the turn  (`answering`)
    end        the turn is kept: whole, cut, refused or failed                              (`answering`)

`run` is a coroutine that awaits commands (`commands`) and knows no loop, no socket, no clock and no database; a driver
carries them out. Whatever ends it, a client that leaves, a server that ends or a backend that breaks, comes in as an
exception, is told to the client in its own dialect, and is kept. In which state it is, and what may follow, is one table
(`states`).
"""

from __future__ import annotations

from functools import partial
from typing import Final

from msgspec.structs import replace

from clew.errors import BackendError, BackendOverloaded, ClewError, StreamIllegal
from clew.exchange.answering import BackendAnswer
from clew.exchange.backend_dialect import RecalledDialect, Refused
from clew.exchange.commands import (
    ClientGone,
    Compute,
    CoolDown,
    DrawJitter,
    FilterBySession,
    Finish,
    LetGo,
    LogDecisions,
    Refuse,
    Reserve,
    ServerEnds,
    Sleep,
    TakeSlot,
)
from clew.exchange.failures import (
    DRAINING,
    NO_RETRY,
    kind_in,
    name_unknown_model,
    named,
    no_credential,
    with_place,
    without_credential,
    without_key,
)
from clew.exchange.heads import kept_paths
from clew.exchange.inputs import BackendRoute, ProcessFacts, ReceivedRequest
from clew.exchange.notes import ExchangeNotes
from clew.exchange.states import ExchangeState, Progress
from clew.exchange.streamed import AlreadyTold
from clew.exchange.turns import ReceivedAnswer
from clew.model.turn import Outcome, TurnRecord
from clew.pipeline.attempts import AttemptOutcome, attempts
from clew.pipeline.heal import Remedy, heal, refusal_in
from clew.pipeline.project import Projection, project, steps_for
from clew.pipeline.retry_hints import in_seconds, retry_after_of, should_retry_of
from clew.pipeline.step import Step
from clew.pipeline.thinking import keep_thinking, leave_out
from clew.pipeline.thinking_parameter import loop_start
from clew.pipeline.token_estimate import estimate
from clew.pipeline.values import number_of
from clew.thinking.strands import newest_of_backend, remarks_of
from clew.wire.other_models import dearer_field

CAUTION: Final = 1.25
"""An estimate of a prompt's tokens, times this, is reserved in hard limits."""
_NO_ROUTE: Final = frozenset((404, 405, 501))
"""What a server says to a path that it does not know."""


class ExchangeMachine:
    """Made for one call: `begin` it, then drive `run` to its end."""

    _is_ready = False
    """The request is in the form of the first target."""

    def __init__(
        self, id: str, received: ReceivedRequest, process: ProcessFacts, *, is_light: bool, now: float, wall: float
    ) -> None:
        """`is_light`: what is done about all of its messages may be done at once."""
        self.progress = Progress(now, wall)
        route = received.routes[0]
        self.notes = ExchangeNotes(id, received, wall, now, route, received.request, route.dialect)
        self.answering = BackendAnswer(process, self.notes, self.progress, is_light=is_light)
        self._received = received
        self._process = process

    @property
    def state(self) -> ExchangeState:
        return self.progress.state

    def begin(self) -> None:
        """Put the request into the form of its first target, where nothing speaks against asking that one at once."""
        notes, route = self.notes, self.notes.route
        if notes.by_sessions or self._process.cool_downs.until or self._lacks_credential(route) or self._is_estimated(route):
            return
        notes.try_route(route, self.progress.now)
        try:
            self._put_in_form(route, None)
        except ClewError:  # met again, and told, when it is tried
            return
        request = self._received.request
        is_untouched = notes.going.messages is request.messages and notes.dialect.dialect.is_canonical
        request.source.untouched = self._received.options if is_untouched else None
        self._is_ready = True

    async def run(self) -> None:
        """Answer the client, and keep the turn."""
        try:
            if self._process.has_limits and self._received.call.kind == "messages":
                await self._reserve()
            # Every flow of attempts begins with the first route, unless it cools down; nearly always that one answers.
            at_once = self._is_ready or not self._process.cool_downs.until
            result = await self._try(self.notes.route) if at_once else None
            failure = await self._try_all(result) if result is None or not result.is_success else None
            if failure is not None:
                await self._fail(failure)
        except ClientGone:
            await self.leave("cut")
        except ServerEnds:
            await Refuse(BackendOverloaded(DRAINING))
            await self.leave("cut")
        except ClewError as error:
            await self._fail(error)
        self.progress.enter(ExchangeState.OVER)

    async def _reserve(self) -> None:
        """Raises UsageLimitReached."""
        self.notes.has_limits = True
        await TakeSlot()
        received, tokens, dearer = self._received, 0, ""
        if self._process.has_hard_limits:
            estimated = await Compute(received.size, partial(estimate, received.request))
            tokens = round(estimated * CAUTION)
            dearer = await Compute(received.size, partial(dearer_field, received.call.body))
        await Reserve(received.routes, tokens, int(number_of(received.request.body.max_tokens) or 0), dearer)

    async def _fail(self, failure: ClewError) -> None:
        tries = self.notes.tries
        if not tries:
            self.notes.never_asked(failure)
        await Refuse(failure)
        await self.leave("refused" if tries and tries[-1].status else "failed")

    async def leave(self, outcome: Outcome) -> None:
        """Keep what came, of an answer that is not whole or of none."""
        await self.answering.ending.leave(outcome, self.answering.stream)

    def interruption(self, *, draining: bool) -> ClientGone | ServerEnds | None:
        """What is thrown in when the client is gone, or the server ends. None: the answer is whole and only waits for the
        store, and its client is there and hears the end very soon."""
        if not draining:
            return ClientGone()
        return None if self.state is ExchangeState.WHOLE else ServerEnds()

    def open_turn(self, heard: ReceivedAnswer, wall: float) -> TurnRecord:
        """What came of a streamed answer so far, to be kept while the rest comes."""
        return self.notes.turn("open", heard, wall)

    # Trying.

    async def _try_all(self, result: AttemptOutcome | None) -> BackendError | None:
        """One route after another, as long as it makes sense. None once the client has its answer. `result`: of the first
        route, if it was tried."""
        routes = {route.candidate: route for route in self._received.routes}
        cool_downs = self._process.cool_downs
        if result is not None:
            cool_downs = cool_downs.without(self.notes.route.candidate)  # what others met there: the result is its own
        retry = self._received.options.retry
        chance = iter(await DrawJitter((retry.retries + 2) * len(routes)))
        flow = attempts(tuple(routes), retry, cool_downs, jitter=chance.__next__, now=self.notes.began)
        attempt = next(flow)
        while True:
            if result is None:
                await Sleep(attempt.wait)
                result = await self._try(routes[attempt.target])
            try:
                attempt, result = flow.send(result), None
            except StopIteration as end:
                await CoolDown(end.value.cooled)
                return end.value.failure

    async def _try(self, route: BackendRoute) -> AttemptOutcome:
        """Send the request in this target's form; repair it as long as it is refused for its thinking."""
        self.progress.enter(ExchangeState.ASKING)
        is_ready, self._is_ready = self._is_ready, False
        result = None if is_ready else await self._make_ready(route)
        if self._process.logs_decisions and result is None and not self.notes.by_sessions:
            await LogDecisions(self.notes.changes, kept_paths(self.notes.going))
        tried: tuple[Remedy, ...] = ()
        answering = self.answering
        while result is None:
            try:
                refused = await answering.ask()
                if refused is None:
                    refused = await (answering.pass_stream() if self._received.streams else answering.pass_whole())
            except (BackendError, StreamIllegal) as error:
                result = await self._broken(error, route)
                break
            if refused is None:
                return AttemptOutcome(now=self.progress.now, status=200, content_started=True)
            result, tried = await self._answer_refusal(refused, route, tried)
        if not result.is_success:
            await LetGo()
            self.progress.enter(ExchangeState.BEGUN)
            result = without_key(result, route.key)
            self.notes.note(result, self.progress.now, self._hide_secrets)
        return result

    def _hide_secrets(self, words: str) -> str:
        """The client's own, those of this process, and what looks like one."""
        return self._process.redact(without_credential(words, self._received.call.credential))

    async def _make_ready(self, route: BackendRoute) -> AttemptOutcome | None:
        """Put the request into the form of this target; or say what came of it where this backend is not asked."""
        self.notes.try_route(route, self.progress.now)
        if self._lacks_credential(route):
            self.answering.passed = [NO_RETRY]
            return self._refused(Refused(401, no_credential(route.backend.name, self._received.call.front)))
        await self._project(route)
        return await self._estimate() if self._is_estimated(route) else None

    async def _broken(self, error: BackendError | StreamIllegal, route: BackendRoute) -> AttemptOutcome:
        """An answer that broke off, or never came."""
        failure = named(error, route) if isinstance(error, BackendError) else BackendError(f"{route.backend.name}: {error}")
        has_begun = self.state is ExchangeState.PASSING
        if isinstance(error, AlreadyTold):
            await Finish(b"")
        return AttemptOutcome(now=self.progress.now, error=failure, content_started=has_begun)

    async def _answer_refusal(
        self, refused: Refused, route: BackendRoute, tried: tuple[Remedy, ...]
    ) -> tuple[AttemptOutcome | None, tuple[Remedy, ...]]:
        """What came of this try, and the remedies tried so far. None: the request is repaired, to be sent again."""
        await LetGo()
        assert self.notes.head is not None, "a refusal has a head"
        refused = replace(refused, headers=(*self.notes.head.headers, *refused.headers))
        if self._is_uncounted(refused):
            return await self._estimate(), tried
        projection, tried = self._repair(refused, route, tried)
        if projection is None:
            return self._refused(self._explained(refused), passes_headers=True), tried
        self.notes.heals += 1
        await Compute(self._received.size, partial(self.notes.goes, projection))
        return None, tried

    def _explained(self, refused: Refused) -> Refused:
        """In the words that this client reads."""
        native, back = self._received.request.source.native, self.notes.dialect
        return with_place(back.explain(refused), refused.body, native, self._received.call.front, back.dialect)

    def _refused(self, no: Refused, *, passes_headers: bool = False) -> AttemptOutcome:
        wait = retry_after_of(no.headers, wall=self.progress.wall)
        if passes_headers:
            no = name_unknown_model(no, self.notes.route, self._received.call.front)
            passed = self.notes.dialect.dialect.response_headers(no.headers, self.progress.wall)
            self.answering.passed = in_seconds(passed, wait) or self.answering.passed
        return AttemptOutcome(
            now=self.progress.now,
            status=no.status,
            retry_after=wait,
            should_retry=should_retry_of(no.headers),
            body=no.body,
        )

    def _repair(
        self, refused: Refused, route: BackendRoute, tried: tuple[Remedy, ...]
    ) -> tuple[Projection | None, tuple[Remedy, ...]]:
        """What to send instead, and the remedies tried so far: without what the refusal is about, or written in a weaker
        form of its dialect. None where there is nothing to try."""
        notes, refusal = self.notes, None
        if route.dialect.dialect.repairs is None:  # a dialect with repairs of its own writes the request otherwise
            refusal = refusal_in(refused.status, refused.body.decode("utf-8", "replace"))
        remedy = heal(notes.going, refusal, route.target, self._received.facts, tried) if refusal is not None else None
        if remedy is not None:
            notes.dialect = notes.dialect.leaving_out()
            return Projection(remedy.request, (*notes.projected, *remedy.changes)), (*tried, remedy.remedy)
        repair = notes.dialect.repair(refused, notes.going, notes.sent)
        if repair is None:
            return None, tried
        notes.dialect = repair.dialect
        return Projection(notes.going, (*notes.projected, repair.change)), tried

    # The form of a target.

    async def _project(self, route: BackendRoute) -> None:
        """Put the request into the form of this target. Raises ClewError where that cannot be."""
        steps = None
        if self.notes.by_sessions:
            told = await FilterBySession(route.backend.name)
            self.notes.session = told.session
            step = leave_out({each.path: each.why for each in told.decisions if not each.kept})
            steps = tuple(step if each is keep_thinking else each for each in steps_for(route.target))
        await Compute(self._received.size, partial(self._put_in_form, route, steps))

    def _put_in_form(self, route: BackendRoute, steps: tuple[Step, ...] | None) -> None:
        """`steps`: others than the usual ones."""
        received = self._received
        projection = project(received.request, route.target, received.facts, steps=steps)
        recalled = self._recall_form(route) if route.dialect.marks_strands else None
        if recalled is not None:
            self.notes.dialect = recalled.dialect
            projection = Projection(projection.request, (*projection.changes, *recalled.changes))
        self.notes.goes(projection)

    def _recall_form(self, route: BackendRoute) -> RecalledDialect | None:
        """As this backend was asked for its last answer in this history, or as its account must be asked; None: as usual."""
        last = newest_of_backend(self._received.newest, route.backend.name, route.target.model, self._received.shelf)
        remarks = remarks_of(last, self._received.shelf) if last is not None else ()
        learnt = self._process.repairs.get(route.candidate, ())
        in_loop = bool(remarks or learnt) and loop_start(self._received.request.messages) is not None
        return route.dialect.recalled(remarks, in_loop, learnt)

    # What no backend has to be asked for.

    def _lacks_credential(self, route: BackendRoute) -> bool:
        return route.backend.auth == "passthrough" and not self._received.call.credential

    def _is_estimated(self, route: BackendRoute) -> bool:
        """Tokens are to be counted, and this backend does not."""
        return self._received.call.kind == "count_tokens" and not route.dialect.counts_tokens

    def _is_uncounted(self, refused: Refused) -> bool:
        """Few of those who speak Anthropic's dialect count tokens. A backend that does not know the model says so in words
        of its own dialect; for an error of a relay inside a 200 the words are ours, and say nothing."""
        is_unknown = refused.status in _NO_ROUTE and (refused.is_canonical or not kind_in(refused.body))
        return self._received.call.kind == "count_tokens" and is_unknown

    async def _estimate(self) -> AttemptOutcome:
        await self.answering.answer_estimate()
        return AttemptOutcome(now=self.progress.now, status=200, content_started=True)

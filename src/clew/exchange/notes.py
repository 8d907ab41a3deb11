"""What is known of an exchange while it runs, and what the store gets of it in the end."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from clew.dialects.shape import AnswerContext, SentEvents
from clew.errors import ClewError, RequestInvalid, StoreError, Unrepresentable
from clew.exchange.backend_dialect import BackendDialect
from clew.exchange.failures import kind_in, put_in_clients_words, secret_of
from clew.exchange.heads import OutgoingHead, ThinkingCounts, is_unsaid_thought, kept_heads, thinking_counts
from clew.exchange.inputs import BackendRoute, ReceivedRequest
from clew.exchange.moments import StreamMoments
from clew.exchange.turns import ReceivedAnswer, asked_raw, native_turn_for, origin_of, recording_for, title_of, usage_of
from clew.model.change import Change, bounded
from clew.model.http import ResponseHead
from clew.model.origin import ANTHROPIC, Origin
from clew.model.request import NativeRequest, Request
from clew.model.turn import Bodies, Exchange, Outcome, TokenUsage, Try, TurnRecord
from clew.pipeline import attempts
from clew.pipeline.compaction import SealText
from clew.pipeline.project import Projection
from clew.pipeline.stream.answer import AnswerSoFar
from clew.pipeline.stream.client_view import ClientView, ViewOptions, heard_tokens, usual_id
from clew.pipeline.token_estimate import estimate
from clew.thinking.seal import INLINE_LIMIT, STORELESS_LIMIT, seal_summary

MOST_WHY: Final = 500
"""Characters of a backend's words that are kept of a try. In a stream they may be as many as one likes."""


class ExchangeNotes(Struct, eq=False):
    """Everything that is known so far."""

    id: str
    received: ReceivedRequest
    started: float
    began: float
    """The same moment on the clock that never jumps."""
    route: BackendRoute
    """The one that is being tried, or was last."""
    going: Request
    dialect: BackendDialect
    """In which it is written: the route's own, or a weaker form of it after a repair."""
    changes: tuple[Change, ...] = ()
    heals: int = 0
    session: int = 0
    """The one that it went out in, where a counter of switches decides (`by_sessions`)."""
    status: int = 0
    request_id: str = ""
    first_byte: float | None = None
    tried_at: float = 0.0
    """When the present try began."""
    tries: list[Try] = field(default_factory=list[Try])
    sent: bytes = b""
    outgoing: OutgoingHead | None = None
    """The head of the last request to a backend."""
    unsaid: int = 0
    """Thinking blocks that the dialect has no words for."""
    projected: tuple[Change, ...] = ()
    """The changes without those that the dialect made."""
    unheard: list[Change] = field(default_factory=list[Change])
    """Parts of the answer that the client's dialect has no words for, calls that cannot be kept as they came, and calls
    that were written as text."""
    answered: bytes = b""
    head: ResponseHead | None = None
    """Of the last answer, or refusal."""
    moments: StreamMoments | None = None
    """Of a stream that takes a while, since the request."""
    has_limits: bool = False
    """Limits hold for somebody: what a backend does not count is estimated."""
    unmade: StoreError | None = None
    """Why the last turn was made without its answer."""
    sent_events: SentEvents = field(default_factory=SentEvents)
    """What the client was told of a streamed answer."""
    _counts: ThinkingCounts | None = None

    def goes(self, projection: Projection) -> None:
        """What is sent next. To write it, and to count its thinking, may take a moment where the history is long."""
        native, own = self.received.request.source.native, self.dialect.dialect.name
        try:
            written = self.dialect.write(projection.request, self.received.call.kind)
        except (RequestInvalid, Unrepresentable) as error:
            if native is not None:
                put_in_clients_words(error, native, self.received.call.front)
            raise
        self.going, self.sent, self.projected = projection.request, written.body, projection.changes
        unread = native.changes if native is not None and native.dialect != own else ()
        changes = (*projection.changes, *written.changes) if written.changes else projection.changes
        if native is not None:
            changes = (*unread, *[self._in_clients_request(native, change) for change in changes])
        self.changes = bounded(changes)
        self.unsaid = len([change for change in written.changes if is_unsaid_thought(change)]) if written.changes else 0
        self._counts = self._count()

    def _in_clients_request(self, native: NativeRequest, change: Change) -> Change:
        path = self.received.call.front.client_path(native, change.path)
        return change if path == change.path else replace(change, path=path)

    def try_route(self, route: BackendRoute, now: float) -> None:
        self.route, self.dialect, self.tried_at, self.heals = route, route.dialect, now, 0
        self.unheard = []

    def _leave_out_part(self, kind: str) -> None:
        front = self.received.call.front
        why = f"a part of type {kind!r}: {'the Messages API' if front.is_canonical else front.name} has no block for it"
        self.unheard.append(Change(self.dialect.dialect.name.replace("-", "_"), "answer", "left out", why))

    def answer_context(self, input_tokens: int = 0) -> AnswerContext:
        """What reading and writing the answer must know of this request. The answer is read from its beginning."""
        self.unheard = []
        return replace(
            self.client_context(),
            input_tokens=input_tokens,
            unsaid=self._leave_out_part,
            report=self.unheard.append,
            eager=self.received.options.eager,
            own_ids=not self.by_sessions,
        )

    def client_context(self) -> AnswerContext:
        """What writing to the client must know of its request."""
        source = self.received.request.source
        return AnswerContext(
            model=self.received.request.body.model,
            message_id=f"msg_{self.id}",
            created=int(self.started),
            document=source.raw,
            native=source.native,
            operation=self.received.call.operation,
            sent=self.sent_events,
        )

    @property
    def by_sessions(self) -> bool:
        """Whether the counter of switches decides which thinking goes, and no seal is put on. It compares the blocks that a
        client brings back, so not for clients that lose their text: there the makers decide."""
        return self.received.options.by_sessions and not self.received.call.front.seals_whole_blocks

    def client_view(self, *, has_store: bool) -> ClientView:
        """What is put on the answer on its way to the client: thinking from outside Anthropic is sealed, or hidden; for
        clients that lose the text of a thought, all of it is sealed."""
        received, route = self.received, self.route
        options, call, front = received.options, received.call, received.call.front
        is_kept = call.kind == "messages" and not self.by_sessions
        is_foreign = is_kept and route.target.realm != ANTHROPIC
        is_sealed = is_foreign or (is_kept and front.seals_whole_blocks)
        returns_payloads = self.dialect.dialect.always_returns_payloads
        if not is_sealed and not returns_payloads:
            return ClientView(_plain_options(received.request.body.model, secret_of(route.key)))
        return ClientView(
            ViewOptions(
                model=received.request.body.model,
                exchange=self.id,
                principal=call.principal,
                origin=origin_of(route),
                sealer=received.facts.sealer if is_sealed else None,
                whole=front.seals_whole_blocks,
                carries=not is_foreign or returns_payloads or route.backend.quirks.signed,
                by_reference=options.seals_by_reference,
                inline_limit=INLINE_LIMIT if has_store else STORELESS_LIMIT,
                blank=returns_payloads and options.blank_signatures,
                safe_ids=is_sealed and (front.tool_id is not None or not route.backend.quirks.unique_tool_ids),
                make_id=front.tool_id or usual_id,
                joins_texts=is_sealed and front.joins_texts,
                hide=is_foreign and options.hides_reasoning,
                secret=secret_of(route.key),
            )
        )

    def summary_seal(self) -> SealText | None:
        """What puts a summary under a seal, for a request that wants one in place of an answer."""
        received, sealer = self.received, self.received.facts.sealer
        if not received.compacts or sealer is None:
            return None
        origin, principal = origin_of(self.route), received.call.principal
        return partial(seal_summary, sealer, principal=principal, origin=origin, exchange=self.id)

    def content_begins(self, now: float) -> None:
        """The first content is here: from now on nobody else is asked."""
        self.status = 200
        self.first_byte = round(now - self.began, 6)
        self.tries.append(Try(backend=self.route.backend.name, status=200, seconds=round(now - self.tried_at, 6)))

    def note(self, result: attempts.AttemptOutcome, now: float, hide: Callable[[str], str] = str) -> None:
        """What came of a try. Content that reached the client was noted when it began, and is only corrected. `hide` takes
        secrets out of a backend's words: they are kept, as many as anybody reads, and shown to others than the client."""
        status = result.status or 0
        refused = "" if result.content_started else kind_in(result.body) or f"refused ({status})"
        why = hide((str(result.error) if result.error else refused)[: 2 * MOST_WHY])[:MOST_WHY]
        tried = Try(backend=self.route.backend.name, status=status, seconds=round(now - self.tried_at, 6), why=why)
        if not result.content_started:
            self.tries.append(tried)
            self.status = status or (result.error.status if result.error else 0)
        elif why and self.tries:
            self.tries[-1] = tried

    def never_asked(self, failure: ClewError) -> None:
        """What goes to no backend, since it cannot be said to the one that was chosen: the log tells why, too."""
        self.tries.append(Try(backend=self.route.backend.name, why=f"not asked: {failure}"))
        self.status = failure.status

    def counts(self) -> ThinkingCounts:
        """What became of the thinking in what went out last."""
        return self._counts or self._count()

    def _count(self) -> ThinkingCounts:
        native = self.route.target.foreign == "native"
        return thinking_counts(self.going, self.changes, self.unsaid, native=native)

    def exchange(self, outcome: Outcome, heard: ReceivedAnswer | None, ended: float) -> Exchange:
        """What happened to the request, without a word of the conversation."""
        call, answer, context = self.received.call, heard.answer if heard else None, self.received.facts.context
        return Exchange(
            id=self.id,
            principal=call.principal,
            thread=self.received.thread,
            started=self.started,
            ended=ended,
            asked_model=self.received.request.body.model,
            backend=self.route.backend.name,
            model=self.route.target.model,
            session=context.session,
            agent=context.agent,
            outcome=outcome,
            status=self.status,
            first_byte=self.first_byte,
            attempts=max(1, len(self.tries)),
            changes=(*self.changes, *self.unheard) if self.unheard else self.changes,
            usage=self._usage(answer, outcome),
            kind=self.received.exchange_kind,
            streamed=self.received.streams,
            stop_reason=answer.stop_reason if answer else "",
            request_id=self.request_id,
            heals=self.heals,
            kept=self.counts().kept,
            tries=tuple(self.tries),
            betas=call.betas,
            key=call.key,
            team=call.team,
            dialect=call.front.name,
            client=call.program,
        )

    def _usage(self, answer: AnswerSoFar | None, outcome: Outcome) -> TokenUsage | None:
        """As the backend counted it. Where limits hold, a backend that counts nothing, and a client that leaves before
        anything came, use what is estimated: else neither would ever reach a limit."""
        usage = usage_of(answer, outcome) if answer else None
        if usage is not None or not self.has_limits or self.outgoing is None or outcome not in ("whole", "cut"):
            return usage
        output = heard_tokens(answer.message) if answer else 0
        return TokenUsage(input=estimate(self.received.request), output=output, estimated=True)

    def turn(self, outcome: Outcome, heard: ReceivedAnswer | None, ended: float) -> TurnRecord:
        """All that is kept of it; its bodies when it is over. Looks things up, which may take a moment.

        Of a request for a title or a summary no word is kept: its thread may be another one than the conversation's, and
        deleting that one would leave them behind. Where the answer cannot be made ready for the store (its history lies
        in a damaged page), only the exchange is kept: the client gets the answer all the same.
        """
        exchange, self.unmade = self.exchange(outcome, heard, ended), None
        received, call, options = self.received, self.received.call, self.received.options
        if received.is_title or received.compacts:
            return TurnRecord(exchange=exchange)
        bodies, asked, title, native = None, (), "", None
        try:
            if options.keeps_bodies and outcome != "open":
                heads = kept_heads(call.headers, self.outgoing, self.head)
                times = self.moments.all() if self.moments else ()
                bodies = Bodies(asked=call.body, sent=self.sent, answered=self.answered, heads=heads, times=times)
            recording = recording_for(self.id, received, self.route, self.dialect.remembered(self.going), heard)
            if options.keeps_content:
                asked = call.entry.asked if call.entry else asked_raw(received.request)
                title = title_of(received.request)
                if heard is not None and recording is not None and outcome == "whole":
                    native = native_turn_for(received, heard, recording, self.client_context())
        except Exception as error:
            self.unmade = StoreError(f"the answer cannot be recorded: {type(error).__name__}: {error}")
            return TurnRecord(exchange=exchange)
        return TurnRecord(exchange=exchange, recording=recording, asked=asked, title=title, bodies=bodies, native=native)


@lru_cache(maxsize=256)
def _plain_options(model: str, secret: str) -> ViewOptions:
    """Nothing but the name, so it does not matter whose answer it is."""
    return ViewOptions(model=model, exchange="", origin=Origin(ANTHROPIC, "", "", ""), secret=secret)

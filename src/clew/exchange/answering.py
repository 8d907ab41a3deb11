"""The answer of a backend on its way to the client: streamed, in one piece, or made here where nobody has to be asked; and
how it ends: its turn in the store, and the word that it is over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from clew.dialects.shape import StreamWriter
from clew.errors import KeyForbidden, SettingsInvalid, StoreError
from clew.exchange.backend_dialect import Refused
from clew.exchange.commands import (
    Ask,
    Commit,
    Compute,
    Expect,
    Finish,
    GiveWay,
    Keep,
    LearnRepairs,
    LearnTokens,
    LetGo,
    LogBody,
    LookUpTokenRate,
    Push,
    ReadBody,
    RegisterBlocks,
    ReportAnswering,
    ReportExchange,
    SendWhole,
    TakeSlot,
)
from clew.exchange.heads import ESTIMATED, JSON_TYPE, outgoing_head, own_headers
from clew.exchange.inputs import ProcessFacts, ReceivedRequest
from clew.exchange.notes import ExchangeNotes
from clew.exchange.states import ExchangeState, Progress
from clew.exchange.streamed import AnswerReading, StreamedAnswer
from clew.exchange.turns import ReceivedAnswer, unasked_turn
from clew.exchange.whole import WholeAnswer, read_whole
from clew.model.http import ResponseHead
from clew.model.json import JsonObject
from clew.model.turn import Outcome, Recorded, TurnRecord
from clew.pipeline.stream.answer import answer_of_message
from clew.pipeline.stream.translation import BlockStep
from clew.pipeline.token_estimate import estimate

MOST_WORDS: Final = 1024 * 1024
"""Of a refusal."""


class TurnEnding:
    """Of one exchange, once.

    `settle` is for an answer that is whole: it is over once the store has the turn, or cannot have it in time, and only then
    its end may go to the client (law 8). `leave` is for all that ended otherwise: nobody is there to wait for it, or what
    they get does not depend on it, so it is handed over and forgotten.
    """

    heard: ReceivedAnswer | None = None
    """The answer, once all of it is here."""
    recorded: Recorded = "no"
    """Where the turn is, once it is settled."""
    _handed: TurnRecord | None = None
    """In the store's hands."""
    _is_reported = False

    def __init__(self, process: ProcessFacts, notes: ExchangeNotes, progress: Progress, *, is_light: bool) -> None:
        """`is_light`: what is done about all of its messages may be done at once."""
        self._notes = notes
        self._progress = progress
        self._is_light = is_light
        self._logs_bodies = process.logs_bodies
        self._is_kept = process.has_store and notes.received.call.kind == "messages"

    async def settle(self, heard: ReceivedAnswer) -> None:
        """A whole answer: kept before its end is told."""
        notes, self.heard = self._notes, heard
        notes.unheard += (call.change for call in heard.answer.broken_calls)
        if notes.by_sessions:
            await RegisterBlocks(heard.answer.blocks, notes.session)
        if self._logs_bodies:
            await LogBody("answered", notes.answered)
        if not notes.dialect.dialect.is_canonical and notes.received.call.kind == "messages":
            await LearnTokens(notes.route, len(notes.sent), heard.answer.usage, notes.going)
        if learnt := notes.dialect.learnt:
            await LearnRepairs(notes.route.candidate, learnt)
        if not self._is_kept:
            self._is_reported = True
            await ReportExchange(notes.exchange("whole", heard, self._progress.wall), None)
            return
        if self._is_light:
            await GiveWay()  # all but the end goes out before the store is asked
        size = 0 if self._is_light else notes.received.size
        self._handed = turn = await Compute(size, lambda: notes.turn("whole", heard, self._progress.wall))
        done = await Commit(turn)
        self.recorded = "no" if self._notes.unmade else done.recorded
        await self._report(turn, done.problem, waits=done.waits)

    async def _report(self, turn: TurnRecord, problem: StoreError | None, *, waits: bool = False) -> None:
        self._is_reported = True
        in_use = self._notes.received.request.messages
        await ReportExchange(turn.exchange, turn.recording, self._notes.unmade or problem, waits, in_use)

    async def leave(self, outcome: Outcome, stream: StreamedAnswer | None) -> None:
        """What came of an answer that is not whole, or of none; or of a whole one that nobody waits for any more."""
        if self._is_reported:
            return
        if self._handed is not None:  # the client that waited for the store is gone
            await self._report(self._handed, None)
            return
        turn = await self._turn_left(outcome, stream)
        self._is_reported = True
        if self._is_kept:
            await Keep(turn)
        await ReportExchange(turn.exchange, turn.recording)

    async def _turn_left(self, outcome: Outcome, stream: StreamedAnswer | None) -> TurnRecord:
        notes, heard, wall = self._notes, self.heard, self._progress.wall
        size = notes.received.size
        if heard is not None:
            return await Compute(size, lambda: notes.turn("whole", heard, wall))
        if stream is None or not stream.begun:
            return await Compute(size, lambda: notes.turn(outcome, None, wall))
        notes.answered = stream.raw
        begun = await Compute(stream.size, lambda: stream.heard(whole=False))
        if notes.by_sessions:
            await RegisterBlocks(begun.answer.blocks, notes.session, cut=begun.answer.cut)
        return await Compute(max(size, stream.size), lambda: notes.turn("cut", begun, wall))


class BackendAnswer:
    """Of one exchange, for all backends that it asks."""

    stream: StreamedAnswer | None = None
    """The streamed answer, while it comes."""
    passed: Sequence[tuple[str, str]] = ()
    """What the backend's head says that the client should hear."""

    def __init__(self, process: ProcessFacts, notes: ExchangeNotes, progress: Progress, *, is_light: bool) -> None:
        self.ending = TurnEnding(process, notes, progress, is_light=is_light)
        self.trace: list[BlockStep] | None = [] if process.logs_bodies else None
        """The lives of the blocks of a translated answer, for the log. The driver takes them out."""
        self._notes = notes
        self._progress = progress
        self._logs_bodies = process.logs_bodies
        self._has_store = process.has_store
        self._keeps_blocks = process.has_store or notes.by_sessions
        keeps_bodies = process.has_store and notes.received.options.keeps_bodies
        self._keeps_raw = keeps_bodies or process.logs_bodies
        """Whether the answer is kept as it came."""

    async def ask(self) -> Refused | None:
        """Send the request to its route: None once the head of an answer is here, or the refusal that came in its place.
        Raises BackendError."""
        notes, received = self._notes, self._notes.received
        if self._logs_bodies:
            await LogBody("sent", notes.sent)
        self.passed, notes.request_id = (), ""  # what another backend said before is not this one's
        if notes.route.backend.max_parallel:
            await TakeSlot(notes.route)
        notes.outgoing = outgoing_head(received.call, notes.route, notes.going)
        notes.head = head = await Ask(notes.route, notes.outgoing, notes.sent, received.patience_with(notes.route))
        self.passed = notes.dialect.dialect.response_headers(head.headers, self._progress.wall)
        notes.request_id = next((value for name, value in self.passed if name == "request-id"), "")
        return None if 200 <= head.status < 300 else Refused(head.status, await ReadBody(MOST_WORDS))

    async def pass_whole(self) -> Refused | None:
        """An answer in one piece to the client, or the refusal in its place. Raises BackendError, StreamIllegal."""
        within = self._notes.received.options.first_content_seconds
        found = await read_whole(await self._answer_reading(), self._head, within=within)
        if isinstance(found, Refused):
            return found
        await LetGo()
        await self._send_whole(found)
        return None

    async def pass_stream(self) -> Refused | None:
        """The same for one that is streamed."""
        within = self._notes.received.options.first_content_seconds
        self.stream = stream = StreamedAnswer(await self._answer_reading(), within=within, blocks=self._keeps_blocks)
        if stream.may_refer:
            await Expect(stream)
        first = await stream.first(self._head)
        if isinstance(first, Refused):
            self.stream = None
            return first
        self._progress.enter(ExchangeState.PASSING)
        await self._content_begins()
        await Push(first, self.headers())
        del first  # what is held here is held by every open stream
        await stream.pass_on()
        heard = await Compute(stream.size, lambda: stream.heard(whole=True))
        if self._keeps_raw:
            self._notes.answered = stream.raw
        self._progress.enter(ExchangeState.WHOLE)
        await self.ending.settle(heard)
        await Finish(stream.end)
        return None

    async def _send_whole(self, whole: WholeAnswer) -> None:
        self._progress.enter(ExchangeState.WHOLE)
        self._notes.answered = whole.raw
        await self._content_begins()
        await self.ending.settle(whole.heard)
        recorded = [("x-clew-recorded", self.ending.recorded)] if self._notes.received.call.kind == "messages" else []
        await SendWhole([JSON_TYPE, *self.headers(), *recorded], whole.shown)

    async def _content_begins(self) -> None:
        notes = self._notes
        notes.content_begins(self._progress.now)
        if notes.received.call.entry is not None:
            await ReportAnswering(notes.route.backend.name, notes.route.target.model)

    async def answer_estimate(self) -> None:
        """For a backend that does not count tokens: about how many there are, and a word that it is no more than that."""
        notes = self._notes
        estimated = await Compute(notes.received.size, lambda: estimate(notes.going))
        rate = await LookUpTokenRate(notes.route)
        tokens: JsonObject = {"input_tokens": (count := rate.corrected(estimated))}
        told = notes.received.call.front.write_count(count)
        self.passed = [ESTIMATED]
        await self._send_whole(WholeAnswer(told, told, ReceivedAnswer(answer=answer_of_message(tokens))))

    async def _answer_reading(self) -> AnswerReading:
        """All that reading an answer of this backend needs. It is read from its beginning."""
        notes, is_canonical, input_tokens = self._notes, self._notes.dialect.dialect.is_canonical, 0
        if not is_canonical:
            rate = await LookUpTokenRate(notes.route)
            input_tokens = rate.about(len(notes.sent))
        return AnswerReading(
            backend=notes.route.backend.name,
            call=notes.received.call,
            dialect=notes.dialect,
            view=notes.client_view(has_store=self._has_store),
            context=notes.answer_context(input_tokens),
            keep=self._keeps_raw,
            trace=None if is_canonical else self.trace,
            seal=notes.summary_seal(),
        )

    @property
    def _head(self) -> ResponseHead:
        assert self._notes.head is not None, "no backend was asked"
        return self._notes.head

    def headers(self) -> list[tuple[str, str]]:
        """Of the answer, when its first byte goes out."""
        return [*self.passed, *own_headers(self._notes.id, self._notes.route, str(self._notes.counts()))]

    def client_writer(self) -> StreamWriter:
        """Writes what clew itself tells in a stream: keep-alives, and failures."""
        notes = self._notes
        return notes.received.call.front.stream_writer(notes.client_context())

    def keep_alive(self) -> bytes:
        return self.client_writer().keep_alive()

    def early_headers(self) -> list[tuple[str, str]]:
        """Before anybody has answered: who answers is certain only where nobody else could."""
        return self.headers() if self._notes.received.has_one_route else own_headers(self._notes.id, None, "")


async def record_unasked(
    id: str, received: ReceivedRequest, failure: SettingsInvalid | KeyForbidden, at: float, *, has_store: bool
) -> None:
    """Keep and report a request for which no backend can be asked."""
    turn = await Compute(received.size, lambda: unasked_turn(id, received, failure, at))
    if has_store and received.call.kind == "messages":
        await Keep(turn)
    await ReportExchange(turn.exchange, turn.recording)

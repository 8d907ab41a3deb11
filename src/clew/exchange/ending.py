"""How an exchange ends: its turn in the store, and the word that it is over.

`settle` is for an answer that is whole: it is over once the store has the turn, or cannot have it in time, and only then its
end may go to the client (law 8). `leave` is for all that ended otherwise: nobody is there to wait for it, or what they get
does not depend on it, so it is handed over and forgotten.
"""

from __future__ import annotations

from clew.errors import StoreError
from clew.exchange.commands import Commit, Compute, GiveWay, Keep, LearnTokens, LogBody, RegisterBlocks, ReportExchange
from clew.exchange.inputs import ProcessFacts
from clew.exchange.notes import ExchangeNotes
from clew.exchange.states import Progress
from clew.exchange.streamed import StreamedAnswer
from clew.exchange.turns import ReceivedAnswer
from clew.model.turn import Outcome, TurnRecord


class TurnEnding:
    """Of one exchange, once."""

    heard: ReceivedAnswer | None = None
    """The answer, once all of it is here."""
    _handed: TurnRecord | None = None
    """In the store's hands."""
    _unmade: StoreError | None = None
    """Why the turn is handed over without its answer."""
    _is_reported = False

    def __init__(self, process: ProcessFacts, notes: ExchangeNotes, progress: Progress, *, is_light: bool) -> None:
        """`is_light`: what is done about all of its messages may be done at once."""
        self._notes = notes
        self._progress = progress
        self._is_light = is_light
        self._logs_bodies = process.logs_bodies
        self._is_kept = process.has_store and notes.received.call.kind == "messages"

    def turn(self, outcome: Outcome, heard: ReceivedAnswer | None, ended: float) -> TurnRecord:
        """What the store gets. Where the answer cannot be made ready for it (its history lies in a damaged page), that is
        the exchange alone: the client gets the answer all the same."""
        try:
            turn = self._notes.turn(outcome, heard, ended)
        except Exception as error:
            self._unmade = StoreError(f"the answer cannot be recorded: {type(error).__name__}: {error}")
            return TurnRecord(exchange=self._notes.exchange(outcome, heard, ended))
        self._unmade = None
        return turn

    async def settle(self, heard: ReceivedAnswer) -> None:
        """A whole answer: kept before its end is told."""
        await self._note(heard)
        if not self._is_kept:
            self._is_reported = True
            await ReportExchange(self._notes.exchange("whole", heard, self._progress.wall), None)
            return
        if self._is_light:
            await GiveWay()  # all but the end goes out before the store is asked
        size = 0 if self._is_light else len(self._notes.received.call.body)
        self._handed = turn = await Compute(size, lambda: self.turn("whole", heard, self._progress.wall))
        await self._report(turn, await Commit(turn))

    async def _note(self, heard: ReceivedAnswer) -> None:
        notes = self._notes
        self.heard = heard
        notes.unheard += (call.change for call in heard.answer.broken_calls)
        if notes.by_sessions:
            await RegisterBlocks(heard.answer.blocks, notes.session)
        if self._logs_bodies:
            await LogBody("answered", notes.answered)
        if not notes.dialect.dialect.is_canonical and notes.received.call.kind == "messages":
            await LearnTokens(notes.route, len(notes.sent), heard.answer.usage, notes.going)

    async def _report(self, turn: TurnRecord, problem: StoreError | None) -> None:
        self._is_reported = True
        brought = self._notes.received.request.messages
        await ReportExchange(turn.exchange, turn.recording, self._unmade or problem, brought)

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
        heard, size, wall = self.heard, len(self._notes.received.call.body), self._progress.wall
        if heard is not None:
            return await Compute(size, lambda: self.turn("whole", heard, wall))
        if stream is None or not stream.begun:
            return await Compute(size, lambda: self.turn(outcome, None, wall))
        self._notes.answered = stream.raw
        return await Compute(max(size, stream.size), lambda: self.turn("cut", stream.heard(whole=False), wall))

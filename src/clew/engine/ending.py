"""How an exchange ends: its turn in the store, and the word that it is over.

`settle` is for an answer that is whole: it is over once the store has the turn, or cannot have it in time, and only then its
end may go to the client (law 8). `leave` is for all that ended otherwise: nobody is there to wait for it, or what they get
does not depend on it, so it is handed over and forgotten.
"""

from __future__ import annotations

from clew.engine.commands import Commit, Compute, GiveWay, Keep, LearnTokens, ReportExchange
from clew.engine.parts import Parts
from clew.engine.story import Story
from clew.engine.streamed import StreamedAnswer
from clew.engine.turns import Heard
from clew.errors import StoreError
from clew.store.values import Outcome, TurnRecord

__all__ = ["TurnEnding"]


class TurnEnding:
    """Of one exchange, once."""

    heard: Heard | None = None
    """The answer, once all of it is here."""
    _handed: TurnRecord | None = None
    """In the store's hands."""
    _unmade: StoreError | None = None
    """Why the turn is handed over without its answer."""
    _is_reported = False

    def __init__(self, parts: Parts, story: Story, *, is_light: bool) -> None:
        """`is_light`: what is done about all of its messages may be done at once."""
        self._parts = parts
        self._story = story
        self._is_light = is_light

    @property
    def _is_kept(self) -> bool:
        return self._parts.store is not None and self._story.asking.call.kind == "messages"

    def turn(self, outcome: Outcome, heard: Heard | None) -> TurnRecord:
        """What the store gets. Where the answer cannot be made ready for it (its history lies in a damaged page), that is
        the exchange alone: the client gets the answer all the same."""
        story, ended = self._story, self._parts.wall()
        try:
            turn = story.turn(outcome, heard, ended)
        except Exception as error:
            self._unmade = StoreError(f"the answer cannot be recorded: {type(error).__name__}: {error}")
            return TurnRecord(exchange=story.exchange(outcome, heard, ended))
        self._unmade = None
        return turn

    async def settle(self, heard: Heard) -> None:
        """A whole answer: kept before its end is told."""
        await self._note(heard)
        if not self._is_kept:
            self._is_reported = True
            await ReportExchange(self._story.exchange("whole", heard, self._parts.wall()), None)
            return
        if self._is_light:
            await GiveWay()  # all but the end goes out before the store is asked
        size = 0 if self._is_light else len(self._story.asking.call.body)
        self._handed = turn = await Compute(size, lambda: self.turn("whole", heard))
        await self._report(turn, await Commit(turn))

    async def _note(self, heard: Heard) -> None:
        story, parts = self._story, self._parts
        self.heard = heard
        story.unheard += (call.change for call in heard.answer.broken_calls)
        if story.by_sessions:
            parts.sessions.register(story, heard.answer.blocks, parts.clock())
        if parts.log is not None and parts.log.shows_bodies:
            parts.log.body(story.id, "answered", story.answered)
        if not story.dialect.is_passed(story.asking.call) and story.asking.call.kind == "messages":
            await LearnTokens(story.way, len(story.sent), heard.answer.usage, story.going)

    async def _report(self, turn: TurnRecord, problem: StoreError | None) -> None:
        self._is_reported = True
        await ReportExchange(turn.exchange, turn.recording, self._unmade or problem, was_kept=True)

    async def leave(self, outcome: Outcome, stream: StreamedAnswer | None) -> None:
        """What came of an answer that is not whole, or of none; or of a whole one that nobody waits for any more."""
        if self._is_reported:
            return
        if self._handed is not None:  # whoever waited for the store is gone, and nobody else will tell
            await self._report(self._handed, None)
            return
        turn = await self._turn_left(outcome, stream)
        self._is_reported = True
        if self._is_kept:
            await Keep(turn)
        await ReportExchange(turn.exchange, turn.recording)

    async def _turn_left(self, outcome: Outcome, stream: StreamedAnswer | None) -> TurnRecord:
        heard, size = self.heard, len(self._story.asking.call.body)
        if heard is not None:
            return await Compute(size, lambda: self.turn("whole", heard))
        if stream is None or not stream.begun:
            return await Compute(size, lambda: self.turn(outcome, None))
        self._story.answered = stream.raw
        return await Compute(max(size, stream.size), lambda: self.turn("cut", stream.heard(whole=False)))

"""Marks: that the calls of an answer were begun, kept before the first of them runs, and by whom.

A process can die between a call and its result. Whoever opens the thread again finds calls without results, and has to know
whether somebody had begun to run them: if not, they are run as ever; if so, only what may be run twice is. And two may take
up one thread at the same time: then one of them runs its calls, and the other is told so. The mark is the id of the answer,
of the run, and of its process, kept in the store beside the thread, and no words of it; a gateway elsewhere keeps it too.
"""

from __future__ import annotations

import os
from typing import Final

from clew.chat.conversation import AsyncConversation
from clew.chat.desk import Claim
from clew.errors import RequestInvalid

__all__ = ["Hold", "TakenElsewhere"]

_AT_IT: Final[set[str]] = set()
"""The runs of this process that have taken calls and are not over."""


class TakenElsewhere(RequestInvalid):
    """Somebody else runs the calls that this run would go on with, or has done so. It is no failure of a tool."""

    def __init__(self) -> None:
        super().__init__(
            "another run of this thread has taken these calls, so none of them was run here: "
            "wait for its end, then open the thread again"
        )


class Hold:
    """One run's hold on the calls of an answer."""

    def __init__(self) -> None:
        self._run = os.urandom(8).hex()
        self._turn = ""
        self._was = ""

    async def was_begun(self, conversation: AsyncConversation, turn: str) -> bool:
        """Did somebody begin to run the calls of this turn's answer? Raises TakenElsewhere while they are at it."""
        found = await conversation.desk.calls_begun()
        if found.turn != turn:
            return False
        if found.lives or found.run in _AT_IT:
            raise TakenElsewhere
        self._was = found.run
        return True

    async def take(self, conversation: AsyncConversation, turn: str) -> None:
        """The calls of this turn's answer are begun. Raises TakenElsewhere, and StoreError if that cannot be kept."""
        self._turn = turn
        _AT_IT.add(self._run)
        if not await conversation.desk.take_calls(self._claim):
            raise TakenElsewhere

    async def leave(self, conversation: AsyncConversation) -> None:
        """The run is over. What it began and has no results is begun still, and nobody is at it."""
        if self._run in _AT_IT:
            _AT_IT.discard(self._run)
            await conversation.desk.leave_calls(self._claim)

    async def end(self, conversation: AsyncConversation) -> None:
        """There is nothing left that was begun."""
        await conversation.desk.end_calls(self._claim)
        _AT_IT.discard(self._run)

    @property
    def _claim(self) -> Claim:
        return Claim(self._run, self._turn, self._was)

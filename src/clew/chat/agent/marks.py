"""Marks: that the calls of an answer were begun, kept before the first of them runs.

A process can die between a call and its result. Whoever opens the thread again finds calls without results, and has to know
whether somebody had begun to run them: if not, they are run as ever; if so, only what may be run twice is. The mark is the
id of the answer, kept in the store beside the thread, and no words of it. Of a conversation on a gateway elsewhere only the
process that heard the answer knows; to any other its calls count as begun.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final
from weakref import WeakKeyDictionary

from clew.chat.conversation import AsyncConversation
from clew.chat.local import COMMIT_SECONDS, LocalDesk

__all__ = ["answered", "mark", "unmark", "was_begun"]

_ELSEWHERE: Final[WeakKeyDictionary[AsyncConversation, tuple[str, bool]]] = WeakKeyDictionary()
"""The last answer that was heard here of a conversation elsewhere, and whether its calls were begun."""


def answered(conversation: AsyncConversation, turn: str) -> None:
    """An answer was heard here: its calls are not begun."""
    if not isinstance(conversation.desk, LocalDesk):
        _ELSEWHERE[conversation] = (turn, False)


async def mark(conversation: AsyncConversation, turn: str) -> None:
    """The calls of this turn's answer are begun. Raises StoreError if that cannot be kept."""
    if isinstance(conversation.desk, LocalDesk):
        await _set(conversation.desk, turn)
    else:
        _ELSEWHERE[conversation] = (turn, True)


async def unmark(conversation: AsyncConversation) -> None:
    """There is nothing left that was begun."""
    if isinstance(conversation.desk, LocalDesk):
        await _set(conversation.desk, None)


async def was_begun(conversation: AsyncConversation, turn: str) -> bool:
    """Did somebody begin to run the calls of this turn's answer, or may they have?"""
    desk = conversation.desk
    if not isinstance(desk, LocalDesk):
        return _ELSEWHERE.get(conversation) != (turn, False)
    kept = await asyncio.to_thread(desk.store.settings, desk.thread.principal)
    return kept.get(_name(desk)) == turn


async def _set(desk: LocalDesk, turn: str | None) -> None:
    kept = desk.store.set(_name(desk), turn, scope=desk.thread.principal, at=time.time())
    await asyncio.wait_for(asyncio.wrap_future(kept), COMMIT_SECONDS)


def _name(desk: LocalDesk) -> str:
    return f"calls-begun:{desk.thread.id}"

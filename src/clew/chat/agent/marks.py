"""Marks: that the calls of an answer were begun, kept before the first of them runs.

A process can die between a call and its result. Whoever opens the thread again finds calls without results, and has to know
whether somebody had begun to run them: if not, they are run as ever; if so, only what may be run twice is. The mark is the
id of the answer, kept in the store beside the thread, and no words of it. A conversation on a gateway elsewhere has no
marks: its calls count as begun.
"""

from __future__ import annotations

import asyncio
import time

from clew.chat.conversation import AsyncConversation
from clew.chat.local import COMMIT_SECONDS, LocalDesk

__all__ = ["mark", "unmark", "was_begun"]


async def mark(conversation: AsyncConversation, turn: str) -> None:
    """The calls of this turn's answer are begun. Raises StoreError if that cannot be kept."""
    await _set(conversation, turn)


async def unmark(conversation: AsyncConversation) -> None:
    """There is nothing left that was begun."""
    await _set(conversation, None)


async def was_begun(conversation: AsyncConversation, turn: str) -> bool:
    """Did somebody begin to run the calls of this turn's answer?"""
    desk = conversation.desk
    if not isinstance(desk, LocalDesk):
        return True
    kept = await asyncio.to_thread(desk.store.settings, desk.thread.principal)
    return kept.get(_name(conversation)) == turn


async def _set(conversation: AsyncConversation, turn: str | None) -> None:
    desk = conversation.desk
    if isinstance(desk, LocalDesk):
        kept = desk.store.set(_name(conversation), turn, scope=desk.thread.principal, at=time.time())
        await asyncio.wait_for(asyncio.wrap_future(kept), COMMIT_SECONDS)


def _name(conversation: AsyncConversation) -> str:
    return f"calls-begun:{conversation.thread}"

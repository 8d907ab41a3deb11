"""Marks: that the calls of an answer were begun, kept before the first of them runs.

A process can die between a call and its result. Whoever opens the thread again finds calls without results, and has to know
whether somebody had begun to run them: if not, they are run as ever; if so, only what may be run twice is. The mark is the
id of the answer, kept in the store beside the thread, and no words of it; a gateway elsewhere keeps it too.
"""

from __future__ import annotations

from clew.chat.conversation import AsyncConversation

__all__ = ["mark", "unmark", "was_begun"]


async def mark(conversation: AsyncConversation, turn: str) -> None:
    """The calls of this turn's answer are begun. Raises StoreError if that cannot be kept."""
    await conversation.desk.mark(turn)


async def unmark(conversation: AsyncConversation) -> None:
    """There is nothing left that was begun."""
    await conversation.desk.mark("")


async def was_begun(conversation: AsyncConversation, turn: str) -> bool:
    """Did somebody begin to run the calls of this turn's answer?"""
    return await conversation.desk.marked() == turn

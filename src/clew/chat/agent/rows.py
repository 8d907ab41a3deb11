"""The row of a backend, as far as a conversation in this process knows it. One on a gateway elsewhere knows names alone."""

from __future__ import annotations

from clew.backends.row import Backend
from clew.chat.conversation import AsyncConversation
from clew.chat.local import LocalDesk

__all__ = ["row_of"]


def row_of(conversation: AsyncConversation, backend: str) -> Backend | None:
    desk = conversation.desk
    return desk.works.current.settings.backends.get(backend) if isinstance(desk, LocalDesk) else None

"""What a front end posts: the AI SDK's own fields, and ours beside them."""

from __future__ import annotations

import re
from typing import Final, Literal

from msgspec import Struct, field

from clew.chat.request import Wishes
from clew.chat.turns import Tree
from clew.chat.ui.positions import UiPosition, position_of, position_of_single
from clew.chat.ui.requests import system_of
from clew.engine.ids import new_id
from clew.errors import RequestInvalid
from clew.model.json import JsonObject
from clew.pipeline.ui.parts import derived_id
from clew.settings.values import ChatSettings

__all__ = ["Posted", "thread_id"]

_USUAL: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_NO_SEGMENT: Final = (".", "..")
_SHOWN: Final[JsonObject] = {"type": "adaptive", "display": "summarized"}
_OFF: Final[JsonObject] = {"type": "disabled"}


class Posted(Struct, frozen=True, kw_only=True):
    """The body of `POST /api/chat`. What it holds besides is the front end's business."""

    id: str = ""
    """Of the chat; a new one if it is left out."""
    messages: list[JsonObject] = []
    """All messages of the chat, the last of which is to be answered."""
    message: JsonObject | None = None
    """Instead of all: the last alone, which then follows the newest answer."""
    trigger: Literal["submit-message", "regenerate-message"] = "submit-message"
    message_id: str | None = field(name="messageId", default=None)
    backend: str | None = None
    """Who is asked for this answer alone; "" is whichever is active."""
    model: str = ""
    effort: str = ""
    thinking: bool | JsonObject | None = None
    system: str = ""
    tools: list[JsonObject] = []
    """As the Messages API has them. Whoever posts runs them."""
    max_tokens: int | None = None

    @property
    def checked_id(self) -> str:
        """Raises RequestInvalid for one that no path can name: the other routes of this chat could not be reached."""
        if self.id in _NO_SEGMENT:
            raise RequestInvalid("the id of a chat is part of a path: it may be neither . nor ..", path="id")
        return self.id

    def place(self, tree: Tree) -> UiPosition:
        """Which turn this is. A message that is named was there before, and is asked anew or in other words."""
        again, named = self.trigger == "regenerate-message", self.message_id or ""
        if self.messages:
            return position_of(self.messages, tree, again=again or bool(named))
        return position_of_single(self.message, tree, named=named, again=again)

    def wishes(self, usual: ChatSettings, *, new: bool) -> Wishes:
        """How to ask: as the body says, else as the settings do. An old chat has a model already."""
        return Wishes(
            model=self.model or (usual.model if new else ""),
            max_tokens=self.max_tokens or usual.max_tokens,
            system=self.system or system_of(self.messages) or usual.system,
            tools=self.tools,
            thinking=_thinking(usual.thinking if self.thinking is None else self.thinking),
            effort=self.effort or usual.effort,
        )


def _thinking(wanted: bool | JsonObject) -> JsonObject | None:
    if isinstance(wanted, bool):
        return _SHOWN if wanted else _OFF
    return wanted


def thread_id(chat: str) -> str:
    """The thread of a chat: of the same name where that is a usual one, else of one that follows from it."""
    if not chat:
        return new_id()
    return chat if _USUAL.fullmatch(chat) else derived_id("chat", chat)

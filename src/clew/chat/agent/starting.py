"""How a run begins: with a question, or where a run before it ended."""

from __future__ import annotations

from typing import Final

from clew.chat.agent.tools import ToolFailed
from clew.chat.answer import AsyncAnswer
from clew.chat.contents import Content, result_block
from clew.chat.conversation import AsyncConversation
from clew.errors import RequestInvalid
from clew.model.json import JsonObject, JsonValue

__all__ = ["asked", "resumed"]

NOT_RUN: Final = "Not run: the work stopped before this call, and something else was asked."


def asked(conversation: AsyncConversation, content: Content) -> AsyncAnswer:
    """Ask. Calls that wait get a result that says so, and results that were never answered go with the question."""
    held = _held(conversation)
    said = [content] if isinstance(content, str) else content
    return conversation.ask([*held, *said] if held else content)


def resumed(conversation: AsyncConversation) -> AsyncAnswer | None:
    """A question that came to nothing is asked again; None if there are calls to go on with, or there is an answer.

    Raises RequestInvalid if nothing was said.
    """
    turns = conversation.turns
    if not turns:
        raise RequestInvalid("nothing was said yet, so there is nothing to resume")
    return None if turns[-1].outcome == "whole" else conversation.retry()


def _held(conversation: AsyncConversation) -> list[JsonObject]:
    if calls := conversation.calls:
        return [result_block(call.id, ToolFailed(NOT_RUN)) for call in calls]
    last = conversation.turns[-1:]
    unanswered = [message for turn in last if turn.answer is None for message in turn.asked]
    return [block for message in unanswered for block in _results(message.get("content"))]


def _results(content: JsonValue) -> list[JsonObject]:
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    return [block for block in blocks if block.get("type") == "tool_result"]

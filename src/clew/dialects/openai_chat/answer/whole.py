"""A whole answer as a message of the Messages API, in the form that a translated stream would have told it."""

from __future__ import annotations

from clew.dialects.openai_chat.answer.decoder import Asked
from clew.dialects.openai_chat.answer.responses import Answer, answer_of
from clew.dialects.openai_chat.options import ChatAnswerOptions
from clew.model.failure import Failure
from clew.model.json import JsonObject
from clew.model.loose_json import objects_of
from clew.model.payload import signature_of

__all__ = ["translated"]


def translated(
    body: bytes, asked: Asked, speech: ChatAnswerOptions | None = None, *, own_ids: bool = True
) -> JsonObject | Failure:
    """The message, with what its maker needs back as signatures, and the maker's own ids on calls; or why there is none."""
    answer = answer_of(body, asked, speech)
    if isinstance(answer, Failure):
        return answer
    blocks = objects_of(answer.message.get("content"))
    return {**answer.message, "content": [_proved(answer, *each, own_ids) for each in enumerate(blocks)]}


def _proved(answer: Answer, index: int, block: JsonObject, own_ids: bool) -> JsonObject:
    if block.get("type") == "thinking":
        return {**block, "signature": signature_of(answer.payloads.get(index, {}))}
    own = answer.wire_ids.get(str(block.get("id"))) if own_ids and block.get("type") == "tool_use" else ""
    return {**block, "id": own} if own else block

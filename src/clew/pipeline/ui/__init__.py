"""What a chat server sends to Claude's API instead of what it stores and shows.

Three pure transforms, in this order: tool structure, reasoning → thinking, thinking first. They make copies; a message that
needs nothing is the same object, and what is stored and shown is never touched. All three run for every request, whatever
the tool structure was.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from clew.model.json import JsonObject
from clew.pipeline.step import ThinkingFirst
from clew.pipeline.ui.reasoning import (
    Accepts,
    Conversion,
    accepts_native,
    convert_reasoning_to_thinking,
    ensure_thinking_block_compliance,
    lacks_leading_thinking,
)
from clew.pipeline.ui.structure import (
    Defect,
    StructureError,
    ensure_tool_message_structure,
    ensure_uuid_ids,
    role_of,
    validate_tool_message_structure,
)

__all__ = [
    "ApiMessages",
    "Conversion",
    "Defect",
    "StructureError",
    "ThinkingFirst",
    "convert_reasoning_to_thinking",
    "ensure_thinking_block_compliance",
    "ensure_tool_message_structure",
    "ensure_uuid_ids",
    "for_api",
    "lacks_leading_thinking",
    "validate_tool_message_structure",
]


class ApiMessages(Struct, frozen=True):
    """The messages to send, and which of them forbid manual thinking: they call tools, and no thinking leads."""

    messages: list[JsonObject]
    unled: list[int]


def for_api(
    messages: Sequence[JsonObject],
    *,
    thinking_first: ThinkingFirst = "keep",
    accepts: Accepts = accepts_native,
    mode: Conversion | None = None,
) -> ApiMessages:
    """Stored messages as they are sent. `mode` is `signed` by default, and `rename` with `reorder`."""
    mode = mode or ("rename" if thinking_first == "reorder" else "signed")
    sent = ensure_tool_message_structure([message for message in messages if role_of(message) != "system"])
    sent = convert_reasoning_to_thinking(sent, mode=mode, accepts=accepts)
    sent = ensure_thinking_block_compliance(sent, thinking_first=thinking_first)
    return ApiMessages(sent, lacks_leading_thinking(sent))

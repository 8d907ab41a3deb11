"""clew keeps a conversation's reasoning intact while models and backends change.

The public names, imported when first used, so that a command that needs few of them starts fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.backends.translator import Translator
    from clew.chat.blocking import Conversation
    from clew.chat.contents import document, image
    from clew.chat.conversation import AsyncConversation
    from clew.chat.events import Ended, TextDelta, ThinkingDelta
    from clew.chat.messages import Message, ToolCall
    from clew.chat.report import log_thinking_metrics, thinking_report
    from clew.chat.responses import format_response
    from clew.chat.sending import format_messages
    from clew.chat.thoughts import extract_thinking_blocks
    from clew.errors import ClewError
    from clew.model.assemble import Assembler
    from clew.model.change import Change
    from clew.model.origin import Origin
    from clew.model.recording import Recording, Shelf
    from clew.model.target import Target
    from clew.pipeline.options import Options
    from clew.pipeline.project import Projection, project
    from clew.pipeline.step import Facts
    from clew.thinking.compliance import Violation, check
    from clew.thinking.profiles import profile_for
    from clew.thinking.registry import ThinkingRegistry
    from clew.thinking.seal import Sealer

__all__ = [
    "Assembler",
    "AsyncConversation",
    "Change",
    "ClewError",
    "Conversation",
    "Ended",
    "Facts",
    "Message",
    "Options",
    "Origin",
    "Projection",
    "Recording",
    "Sealer",
    "Shelf",
    "Target",
    "TextDelta",
    "ThinkingDelta",
    "ThinkingRegistry",
    "ToolCall",
    "Translator",
    "Violation",
    "check",
    "document",
    "extract_thinking_blocks",
    "format_messages",
    "format_response",
    "image",
    "log_thinking_metrics",
    "profile_for",
    "project",
    "thinking_report",
]

_HOMES = {
    "Assembler": "clew.model.assemble",
    "AsyncConversation": "clew.chat.conversation",
    "Change": "clew.model.change",
    "ClewError": "clew.errors",
    "Conversation": "clew.chat.blocking",
    "Ended": "clew.chat.events",
    "Facts": "clew.pipeline.step",
    "Message": "clew.chat.messages",
    "Options": "clew.pipeline.options",
    "Origin": "clew.model.origin",
    "Projection": "clew.pipeline.project",
    "Recording": "clew.model.recording",
    "Sealer": "clew.thinking.seal",
    "Shelf": "clew.model.recording",
    "Target": "clew.model.target",
    "TextDelta": "clew.chat.events",
    "ThinkingDelta": "clew.chat.events",
    "ThinkingRegistry": "clew.thinking.registry",
    "ToolCall": "clew.chat.messages",
    "Translator": "clew.backends.translator",
    "Violation": "clew.thinking.compliance",
    "check": "clew.thinking.compliance",
    "document": "clew.chat.contents",
    "extract_thinking_blocks": "clew.chat.thoughts",
    "format_messages": "clew.chat.sending",
    "format_response": "clew.chat.responses",
    "image": "clew.chat.contents",
    "log_thinking_metrics": "clew.chat.report",
    "profile_for": "clew.thinking.profiles",
    "project": "clew.pipeline.project",
    "thinking_report": "clew.chat.report",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'clew' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

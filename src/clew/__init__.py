"""clew keeps a conversation's reasoning intact while models and backends change.

The public names, imported when first used, so that a command that needs few of them starts fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.chat.agent.agent import AsyncAgent
    from clew.chat.agent.blocking import Agent, Run
    from clew.chat.agent.events import (
        CallApproved,
        CallDenied,
        CallProposed,
        CallSuspended,
        FromAgent,
        LimitReached,
        OutputRejected,
        Result,
        RunEnded,
        StepFinished,
        StepRetried,
        StepStarted,
        ToolFinished,
        ToolStarted,
    )
    from clew.chat.agent.plan import Limits
    from clew.chat.agent.run import AsyncRun
    from clew.chat.agent.tools import Denied, Later, Tool, ToolFailed, tool
    from clew.chat.blocking import Conversation
    from clew.chat.conversation import AsyncConversation
    from clew.chat.formatting import (
        Formatted,
        ThinkingParameters,
        asking_for,
        format_messages,
        format_system,
        formatted,
        recovered,
    )
    from clew.chat.messages import Message, ToolCall, document, format_response, image
    from clew.chat.metrics import (
        Estimate,
        cache_efficiency,
        extract_thinking_blocks,
        log_thinking_metrics,
        thinking_report,
        thinking_tokens,
    )
    from clew.chat.service import Compacted, Ended, TextDelta, ThinkingDelta
    from clew.chat.turns import Turn
    from clew.chat.ui.parts import ui_headers
    from clew.chat.ui.requests import UiAsked, api_messages, ui_asked
    from clew.chat.ui.streams import ui_frames, ui_stream
    from clew.errors import ClewError
    from clew.model.assemble import Assembler
    from clew.model.change import Change
    from clew.model.facts.models import profile_for
    from clew.model.origin import Origin, Target
    from clew.model.recording import Recording, Shelf
    from clew.pipeline.builder import BuiltRequest, RequestParts, build_request, mark_messages
    from clew.pipeline.context_edits import context_management
    from clew.pipeline.project import Projection, project
    from clew.pipeline.step import CacheRules, Facts, Options
    from clew.pipeline.stream.answer import StreamAssembler
    from clew.pipeline.trailing_thinking import (
        TrailingThinking,
        filter_trailing_thinking,
        is_thinking_block,
        normalise_messages,
    )
    from clew.pipeline.translator import Translator
    from clew.pipeline.ui.reasoning import (
        convert_reasoning_to_thinking,
        ensure_thinking_block_compliance,
        lacks_leading_thinking,
    )
    from clew.pipeline.ui.structure import (
        StructureError,
        ensure_tool_message_structure,
        ensure_uuid_ids,
        validate_tool_message_structure,
    )
    from clew.thinking.budgets import (
        Budget,
        BudgetEvent,
        BudgetRules,
        BudgetWish,
        ThinkingTokens,
        budget_for,
        is_budget_keyword,
        parse_budget_wish,
    )
    from clew.thinking.compliance import Violation, check
    from clew.thinking.registry.blocks import exact_block_key, fast_hash
    from clew.thinking.registry.table import CacheStats, RegistryEntry, ThinkingRegistry
    from clew.thinking.seal import Sealer

__all__ = [
    "Agent",
    "Assembler",
    "AsyncAgent",
    "AsyncConversation",
    "AsyncRun",
    "Budget",
    "BudgetEvent",
    "BudgetRules",
    "BudgetWish",
    "BuiltRequest",
    "CacheRules",
    "CacheStats",
    "CallApproved",
    "CallDenied",
    "CallProposed",
    "CallSuspended",
    "Change",
    "ClewError",
    "Compacted",
    "Conversation",
    "Denied",
    "Ended",
    "Estimate",
    "Facts",
    "Formatted",
    "FromAgent",
    "Later",
    "LimitReached",
    "Limits",
    "Message",
    "Options",
    "Origin",
    "OutputRejected",
    "Projection",
    "Recording",
    "RegistryEntry",
    "RequestParts",
    "Result",
    "Run",
    "RunEnded",
    "Sealer",
    "Shelf",
    "StepFinished",
    "StepRetried",
    "StepStarted",
    "StreamAssembler",
    "StructureError",
    "Target",
    "TextDelta",
    "ThinkingDelta",
    "ThinkingParameters",
    "ThinkingRegistry",
    "ThinkingTokens",
    "Tool",
    "ToolCall",
    "ToolFailed",
    "ToolFinished",
    "ToolStarted",
    "TrailingThinking",
    "Translator",
    "Turn",
    "UiAsked",
    "Violation",
    "api_messages",
    "asking_for",
    "budget_for",
    "build_request",
    "cache_efficiency",
    "check",
    "context_management",
    "convert_reasoning_to_thinking",
    "document",
    "ensure_thinking_block_compliance",
    "ensure_tool_message_structure",
    "ensure_uuid_ids",
    "exact_block_key",
    "extract_thinking_blocks",
    "fast_hash",
    "filter_trailing_thinking",
    "format_messages",
    "format_response",
    "format_system",
    "formatted",
    "image",
    "is_budget_keyword",
    "is_thinking_block",
    "lacks_leading_thinking",
    "log_thinking_metrics",
    "mark_messages",
    "normalise_messages",
    "parse_budget_wish",
    "profile_for",
    "project",
    "recovered",
    "thinking_report",
    "thinking_tokens",
    "tool",
    "ui_asked",
    "ui_frames",
    "ui_headers",
    "ui_stream",
    "validate_tool_message_structure",
]

_HOMES = {
    "Agent": "clew.chat.agent.blocking",
    "Assembler": "clew.model.assemble",
    "AsyncAgent": "clew.chat.agent.agent",
    "AsyncConversation": "clew.chat.conversation",
    "AsyncRun": "clew.chat.agent.run",
    "Budget": "clew.thinking.budgets",
    "BudgetEvent": "clew.thinking.budgets",
    "BudgetRules": "clew.thinking.budgets",
    "BudgetWish": "clew.thinking.budgets",
    "BuiltRequest": "clew.pipeline.builder",
    "CacheRules": "clew.pipeline.step",
    "CacheStats": "clew.thinking.registry.table",
    "CallApproved": "clew.chat.agent.events",
    "CallDenied": "clew.chat.agent.events",
    "CallProposed": "clew.chat.agent.events",
    "CallSuspended": "clew.chat.agent.events",
    "Change": "clew.model.change",
    "ClewError": "clew.errors",
    "Compacted": "clew.chat.service",
    "Conversation": "clew.chat.blocking",
    "Denied": "clew.chat.agent.tools",
    "Ended": "clew.chat.service",
    "Estimate": "clew.chat.metrics",
    "Facts": "clew.pipeline.step",
    "Formatted": "clew.chat.formatting",
    "FromAgent": "clew.chat.agent.events",
    "Later": "clew.chat.agent.tools",
    "LimitReached": "clew.chat.agent.events",
    "Limits": "clew.chat.agent.plan",
    "Message": "clew.chat.messages",
    "Options": "clew.pipeline.step",
    "Origin": "clew.model.origin",
    "OutputRejected": "clew.chat.agent.events",
    "Projection": "clew.pipeline.project",
    "Recording": "clew.model.recording",
    "RegistryEntry": "clew.thinking.registry.table",
    "RequestParts": "clew.pipeline.builder",
    "Result": "clew.chat.agent.events",
    "Run": "clew.chat.agent.blocking",
    "RunEnded": "clew.chat.agent.events",
    "Sealer": "clew.thinking.seal",
    "Shelf": "clew.model.recording",
    "StepFinished": "clew.chat.agent.events",
    "StepRetried": "clew.chat.agent.events",
    "StepStarted": "clew.chat.agent.events",
    "StreamAssembler": "clew.pipeline.stream.answer",
    "StructureError": "clew.pipeline.ui.structure",
    "Target": "clew.model.origin",
    "TextDelta": "clew.chat.service",
    "ThinkingDelta": "clew.chat.service",
    "ThinkingParameters": "clew.chat.formatting",
    "ThinkingRegistry": "clew.thinking.registry.table",
    "ThinkingTokens": "clew.thinking.budgets",
    "Tool": "clew.chat.agent.tools",
    "ToolCall": "clew.chat.messages",
    "ToolFailed": "clew.chat.agent.tools",
    "ToolFinished": "clew.chat.agent.events",
    "ToolStarted": "clew.chat.agent.events",
    "TrailingThinking": "clew.pipeline.trailing_thinking",
    "Translator": "clew.pipeline.translator",
    "Turn": "clew.chat.turns",
    "UiAsked": "clew.chat.ui.requests",
    "Violation": "clew.thinking.compliance",
    "api_messages": "clew.chat.ui.requests",
    "asking_for": "clew.chat.formatting",
    "budget_for": "clew.thinking.budgets",
    "build_request": "clew.pipeline.builder",
    "cache_efficiency": "clew.chat.metrics",
    "check": "clew.thinking.compliance",
    "context_management": "clew.pipeline.context_edits",
    "convert_reasoning_to_thinking": "clew.pipeline.ui.reasoning",
    "document": "clew.chat.messages",
    "ensure_thinking_block_compliance": "clew.pipeline.ui.reasoning",
    "ensure_tool_message_structure": "clew.pipeline.ui.structure",
    "ensure_uuid_ids": "clew.pipeline.ui.structure",
    "exact_block_key": "clew.thinking.registry.blocks",
    "extract_thinking_blocks": "clew.chat.metrics",
    "fast_hash": "clew.thinking.registry.blocks",
    "filter_trailing_thinking": "clew.pipeline.trailing_thinking",
    "format_messages": "clew.chat.formatting",
    "format_response": "clew.chat.messages",
    "format_system": "clew.chat.formatting",
    "formatted": "clew.chat.formatting",
    "image": "clew.chat.messages",
    "is_budget_keyword": "clew.thinking.budgets",
    "is_thinking_block": "clew.pipeline.trailing_thinking",
    "lacks_leading_thinking": "clew.pipeline.ui.reasoning",
    "log_thinking_metrics": "clew.chat.metrics",
    "mark_messages": "clew.pipeline.builder",
    "normalise_messages": "clew.pipeline.trailing_thinking",
    "parse_budget_wish": "clew.thinking.budgets",
    "profile_for": "clew.model.facts.models",
    "project": "clew.pipeline.project",
    "recovered": "clew.chat.formatting",
    "thinking_report": "clew.chat.metrics",
    "thinking_tokens": "clew.chat.metrics",
    "tool": "clew.chat.agent.tools",
    "ui_asked": "clew.chat.ui.requests",
    "ui_frames": "clew.chat.ui.streams",
    "ui_headers": "clew.chat.ui.parts",
    "ui_stream": "clew.chat.ui.streams",
    "validate_tool_message_structure": "clew.pipeline.ui.structure",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'clew' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

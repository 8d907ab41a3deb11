"""The library for chat apps and agents: messages as they are kept, sent and shown.

A model's answer is kept as the model made it (`Message.raw_content`). What is sent to a model is worked out from that each
time (`format_messages`), and so is what a person reads (`thinking_report`). None of the three is made from another's output.
"""

from clew.chat.formatting import (
    Formatted,
    ThinkingParameters,
    asking_for,
    format_messages,
    format_system,
    formatted,
    recovered,
    without_calls,
)
from clew.chat.messages import Message, ToolCall, format_response
from clew.chat.metrics import (
    Estimate,
    ThinkingBlock,
    cache_efficiency,
    extract_thinking_blocks,
    log_thinking_metrics,
    thinking_report,
    thinking_tokens,
)

__all__ = [
    "Estimate",
    "Formatted",
    "Message",
    "ThinkingBlock",
    "ThinkingParameters",
    "ToolCall",
    "asking_for",
    "cache_efficiency",
    "extract_thinking_blocks",
    "format_messages",
    "format_response",
    "format_system",
    "formatted",
    "log_thinking_metrics",
    "recovered",
    "thinking_report",
    "thinking_tokens",
    "without_calls",
]

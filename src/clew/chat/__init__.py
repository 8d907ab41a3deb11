"""The library for chat apps and agents: messages as they are kept, sent and shown.

What a model said is kept as it was said (`Message.raw_content`), what goes to a model is worked out from it each time
(`format_messages`), and what a person reads is worked out too (`thinking_report`). None of the three is ever made from
another's output.
"""

from clew.chat.asking import Asking, asking_for
from clew.chat.counts import Estimate, cache_efficiency, thinking_tokens
from clew.chat.messages import Message, ToolCall
from clew.chat.recovery import recovered, without_calls
from clew.chat.report import log_thinking_metrics, thinking_report
from clew.chat.responses import format_response
from clew.chat.sending import Formatted, format_messages, format_system, formatted
from clew.chat.thoughts import ThinkingBlock, extract_thinking_blocks

__all__ = [
    "Asking",
    "Estimate",
    "Formatted",
    "Message",
    "ThinkingBlock",
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

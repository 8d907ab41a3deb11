"""The dated names of the vendor's that code speaks of: betas, and context edits.

A new version gets a new name, and then this is the one place to look at. That each is in the tables is a test.
"""

from typing import Final

__all__ = [
    "BINDING_BETA",
    "CLEAR_THINKING",
    "CLEAR_TOOL_USES",
    "COMPACT",
    "CONTEXT_BETA",
    "INTERLEAVED_BETA",
    "MCP_WITHOUT_TOOLSETS_BETA",
    "TOKEN_COUNT_BETA",
]

INTERLEAVED_BETA: Final = "interleaved-thinking-2025-05-14"
"""Thinking between tool calls, in manual mode."""
BINDING_BETA: Final = "thinking-binding-controls-2026-08-01"
CONTEXT_BETA: Final = "context-management-2025-06-27"
TOKEN_COUNT_BETA: Final = "thinking-token-count-2026-05-13"  # noqa: S105 - a header value
MCP_WITHOUT_TOOLSETS_BETA: Final = "mcp-client-2025-04-04"
"""The version of MCP in which a server needs no toolset."""

CLEAR_THINKING: Final = "clear_thinking_20251015"
CLEAR_TOOL_USES: Final = "clear_tool_uses_20250919"
COMPACT: Final = "compact_20260112"

"""What a model thought, for a person to read: the thoughts, and one line about their cost.

Thinking is shown whenever there is some, whatever the count says: zero tokens do not mean that nothing was thought, and a
count that was not reported is not zero. What cannot be read has its place among the rest, with a lock. Everything is made
harmless for a terminal, which is where both a screen and a log file end up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from clew.chat.counts import Estimate
from clew.chat.terminal import harmless

__all__ = ["Logger", "log_thinking_metrics", "thinking_report"]

REDACTED = "[REDACTED - Content encrypted for safety]"
HIDDEN = "[reasoning hidden by the provider]"


class Logger(Protocol):
    """Who takes a line: `logging.Logger`, or anything else with `info`."""

    def info(self, msg: str, /) -> object: ...


def thinking_report(tokens: int | Estimate | None, blocks: Sequence[Mapping[str, object]] | None) -> list[str]:
    """The thinking of one answer as messages to show: the thoughts, if any can be shown, and the metrics.

    `blocks` are what `extract_thinking_blocks` gives; without any there is nothing to report. `tokens` None is "not
    reported"; an `Estimate` (`clew.chat.thinking_tokens` makes one) is marked as such.

    >>> thinking_report(0, [{"type": "thinking", "content": "Let me look around."}])
    ['🧠 Agent Thinking:\\nLet me look around.', '📊 Thinking Metrics: 0 tokens used for reasoning']
    >>> thinking_report(None, [{"type": "redacted_thinking"}])[1]
    '📊 Thinking Metrics: token count not reported'
    """
    if not blocks:
        return []
    thoughts = _thoughts(blocks)
    return [thoughts, _metrics(tokens)] if thoughts else [_metrics(tokens)]


def log_thinking_metrics(
    logger: Logger | None, tokens: int | Estimate | None, blocks: Sequence[Mapping[str, object]] | None
) -> None:
    """Tell a logger what `thinking_report` says, one message at a time. Without a logger nothing happens.

    >>> from types import SimpleNamespace
    >>> log_thinking_metrics(SimpleNamespace(info=print), 1500, [{"type": "thinking", "content": "Two and two."}])
    🧠 Agent Thinking:
    Two and two.
    📊 Thinking Metrics: 1500 tokens used for reasoning
    """
    if logger is None:
        return
    for message in thinking_report(tokens, blocks):
        logger.info(message)


def _metrics(tokens: int | Estimate | None) -> str:
    used = "token count not reported" if tokens is None else f"{tokens} tokens used for reasoning"
    return f"📊 Thinking Metrics: {used}"


def _thoughts(blocks: Sequence[Mapping[str, object]]) -> str:
    """All in one message, a blank line between them; "" if there is nothing to show."""
    shown = list(_shown(blocks))
    if any(text for text, _ in shown):
        return "🧠 Agent Thinking:\n" + "\n\n".join(text or f"🔒 {instead}" for text, instead in shown)
    return "🔒 Hidden Reasoning:\n" + "\n\n".join(instead for _, instead in shown) if shown else ""


def _shown(blocks: Sequence[Mapping[str, object]]) -> Iterator[tuple[str, str]]:
    """For each block that has something to show: its text, or what stands for it."""
    for block in blocks:
        content = block.get("content")
        if block.get("type") == "redacted_thinking":
            yield "", REDACTED
        elif isinstance(content, str) and (text := harmless(content.strip())):
            yield text, ""
        elif block.get("hidden"):
            yield "", HIDDEN

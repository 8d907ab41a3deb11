"""The counts of an answer, and its thinking for a person to read.

Some vendors report thinking tokens, some do not: then `output_tokens` minus the visible part is an estimate. An `Estimate`
is no number, so that it cannot be mistaken for a report.

Thinking is shown whenever there is some, whatever the count says: zero tokens do not mean that there was no thinking, and a
count that was not reported is not zero. Thinking that cannot be read is shown as a lock. Every text is made harmless for a
terminal, because screens and log files end up there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal, Protocol, TypedDict

from msgspec import Struct

from clew.chat.messages import Message, ObjectLike, object_from, objects_from
from clew.model.json import JsonObject, JsonValue
from clew.model.tokens import tokens_of
from clew.model.turn import TokenUsage

_PROMPT: Final = ("cache_read_input_tokens", "cache_creation_input_tokens", "input_tokens")
_REDACTED: Final = "[REDACTED - Content encrypted for safety]"
_HIDDEN: Final = "[reasoning hidden by the provider]"


class Estimate(Struct, frozen=True):
    """An estimated number of tokens, for a vendor that did not report it.

    >>> str(Estimate(1500))
    '≈1500'
    """

    tokens: int

    def __str__(self) -> str:
        return f"≈{self.tokens}"


def thinking_tokens(message: Message) -> int | Estimate | None:
    """Return the thinking tokens of an answer: the reported number, else an estimate. None if there is no thinking to
    estimate.

    >>> usage = {"output_tokens": 40, "output_tokens_details": {"thinking_tokens": 25}}
    >>> thinking_tokens(Message(role="assistant", content="Yes.", usage=usage))
    25
    """
    usage = message.usage or {}
    details = usage.get("output_tokens_details")
    reported = count_in((details if isinstance(details, dict) else usage).get("thinking_tokens"))
    if reported is not None:
        return reported
    thoughts = extract_thinking_blocks(message.raw_content)
    if not thoughts:
        return None
    visible = [message.content or "", *(f"{call.name} {call.arguments}" for call in message.tool_calls)]
    output = count_in(usage.get("output_tokens"))
    unseen = 0 if output is None else output - _tokens(*visible)
    about = unseen if unseen > 0 else _tokens(*(thought.get("content", "") for thought in thoughts))
    return Estimate(about) if about else None


def _tokens(*texts: str) -> int:
    return round(sum(tokens_of(text.encode("utf-8", "replace")) for text in texts))


def cache_efficiency(usage: ObjectLike | None) -> float | None:
    """Return the share of a prompt that came from the cache, from 0 to 100 %, or None if the usage does not say.

    >>> cache_efficiency({"input_tokens": 50, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 50})
    90.0
    """
    counts = object_from(usage) or {}
    read, written, fresh = (count_in(counts.get(name)) or 0 for name in _PROMPT)
    whole = read + written + fresh
    return 100 * read / whole if whole else None


def anthropic_usage(usage: TokenUsage) -> JsonObject:
    """The counts of the store under the names that Anthropic's API has for them.

    >>> anthropic_usage(TokenUsage(input=3, output=40, thinking=25))["output_tokens_details"]
    {'thinking_tokens': 25}
    """
    counts: JsonObject = {
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation_input_tokens": usage.cache_written,
    }
    thought: JsonObject = {"output_tokens_details": {"thinking_tokens": usage.thinking}}
    return counts if usage.thinking is None else counts | thought


def count_in(value: JsonValue) -> int | None:
    """The value if it is a count; None for a negative number and for anything but a whole number."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def sum_of_usage(usages: Sequence[TokenUsage]) -> TokenUsage:
    """The sum of these counts, without the thinking tokens."""
    return TokenUsage(
        input=sum(each.input for each in usages),
        output=sum(each.output for each in usages),
        cache_read=sum(each.cache_read for each in usages),
        cache_written=sum(each.cache_written for each in usages),
        estimated=any(each.estimated for each in usages),
    )


# Thinking


class ThinkingBlock(TypedDict, total=False):
    """The part of a thinking block that can be shown. It has no signature, and is never sent."""

    type: Literal["thinking", "redacted_thinking"]
    content: str
    hidden: bool
    """The maker signed the block and does not show its text."""


def extract_thinking_blocks(raw_content: object) -> list[ThinkingBlock]:
    """Return the thinking blocks among these blocks, in order. Anything that is not a list of blocks has none.

    Takes `Message.raw_content`, the content of an answer, or the SDK's blocks. Redacted thinking has nothing to read; a
    block that its maker signed and left empty is `hidden`.

    >>> extract_thinking_blocks([
    ...     {"type": "thinking", "thinking": "Blue scatters most.", "signature": "c2ln"},
    ...     {"type": "redacted_thinking", "data": "ZGF0YQ"},
    ...     {"type": "text", "text": "Because of scattering."},
    ... ])
    [{'type': 'thinking', 'content': 'Blue scatters most.'}, {'type': 'redacted_thinking'}]
    """
    found: list[ThinkingBlock] = []
    for block in objects_from(raw_content):
        text = block.get("thinking")
        if block.get("type") == "redacted_thinking":
            found.append({"type": "redacted_thinking"})
        elif block.get("type") == "thinking":
            shown: ThinkingBlock = {"type": "thinking", "content": text} if isinstance(text, str) else {"type": "thinking"}
            found.append({**shown, "hidden": True} if text == "" and block.get("signature") else shown)
    return found


# Reports


class Logger(Protocol):
    """Takes a line: `logging.Logger`, or any other object with `info`."""

    def info(self, msg: str, /) -> object: ...


def thinking_report(tokens: int | Estimate | None, blocks: Sequence[Mapping[str, object]] | None) -> list[str]:
    """Return the thinking of one answer as messages to show: the thoughts, if any can be shown, and the metrics.

    `blocks` are what `extract_thinking_blocks` gives; without any there is nothing to report. `tokens` None is "not
    reported"; an `Estimate` (`clew.chat.thinking_tokens` makes one) is marked as such.

    >>> thinking_report(0, [{"type": "thinking", "content": "Let me look around."}])
    ['🧠 Agent Thinking:\\nLet me look around.', '📊 Thinking Metrics: 0 tokens used for reasoning']
    >>> thinking_report(None, [{"type": "redacted_thinking"}])[1]
    '📊 Thinking Metrics: token count not reported'
    """
    if not blocks:
        return []
    shown: list[tuple[str, str]] = []  # for each block its text, or a placeholder
    for block in blocks:
        content = block.get("content")
        if block.get("type") == "redacted_thinking":
            shown.append(("", _REDACTED))
        elif isinstance(content, str) and (text := harmless(content.strip())):
            shown.append((text, ""))
        elif block.get("hidden"):
            shown.append(("", _HIDDEN))
    thoughts: list[str] = []
    if any(text for text, _ in shown):
        thoughts = ["🧠 Agent Thinking:\n" + "\n\n".join(text or f"🔒 {placeholder}" for text, placeholder in shown)]
    elif shown:
        thoughts = ["🔒 Hidden Reasoning:\n" + "\n\n".join(placeholder for _, placeholder in shown)]
    used = "token count not reported" if tokens is None else f"{tokens} tokens used for reasoning"
    return [*thoughts, f"📊 Thinking Metrics: {used}"]


def log_thinking_metrics(
    logger: Logger | None, tokens: int | Estimate | None, blocks: Sequence[Mapping[str, object]] | None
) -> None:
    """Log the messages of `thinking_report`, one by one. Without a logger it does nothing.

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


# Terminals

_PICTURES = {
    **{code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n"},
    0x7F: "␡",
    **dict.fromkeys(range(0x80, 0xA0), "�"),  # the same commands in one character
    **dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), "�"),
}
_LINE_END = re.compile("\r+\n")


def harmless(text: str) -> str:
    """The same text without anything that a terminal would obey.

    Control characters move the cursor, set the title, write the clipboard, and models repeat what they read. Each one but
    tab and newline becomes its picture. So does what turns the order of characters around: it can show other words.

    >>> harmless("plain \\x1b[31mred\\x07")
    'plain ␛[31mred␇'
    >>> harmless("safe\u202egnp.exe")
    'safe�gnp.exe'
    """
    return _LINE_END.sub("\n", text).translate(_PICTURES)

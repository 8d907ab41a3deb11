"""What OpenAI's dialects have in place of messages with blocks, as the pages show it.

A message of Chat Completions has its thinking and its calls in fields of their own. The Responses API has a list of items:
messages, and beside them thinking, calls and results. A member of a form that is not known is shown by its kind.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Final

import msgspec

from clew.model.json import JsonObject, JsonValue, objects_of, text_of
from clew.thinking.seal import is_seal
from clew.web.blocks import ShownBlock, blocks_in, cut_block, pretty, result_text, shown_blocks, shown_thinking

_THINKING_FIELDS: Final = ("reasoning_content", "reasoning", "thinking")
"""The fields in which messages carry thinking."""
_TEXTS: Final = ("input_text", "output_text", "summary_text", "reasoning_text")
"""The parts of items that are texts and nothing else."""
SUMMARIES: Final = ("compaction", "compaction_summary", "context_compaction")
"""The items that stand for a history, under a seal."""


def name_of(message: JsonObject) -> str:
    """The role of a message, or the type of an item that has none."""
    return text_of(message.get("role")) or text_of(message.get("type")) or "unknown"


def sent_blocks(message: JsonObject) -> list[ShownBlock]:
    """A message or an item: thinking, then words, then calls."""
    content, kind = message.get("content"), text_of(message.get("type"))
    if kind and kind != "message":
        return [_item_block(kind, message)]
    if message.get("role") == "tool":
        return [cut_block("result", result_text(content) or str(content or ""))]
    said = shown_blocks([_plain(part) for part in blocks_in(content)], role=str(message.get("role")))
    return [*_sent_thinking(message), *said, *_sent_calls(message.get("tool_calls"))]


def _plain(part: JsonObject) -> JsonObject:
    """A part of an item as a block, where it is a text."""
    if part.get("type") == "refusal":
        return {"type": "text", "text": part.get("refusal")}
    return {"type": "text", "text": part.get("text")} if part.get("type") in _TEXTS else part


def _item_block(kind: str, item: JsonObject) -> ShownBlock:
    """An item that is no message."""
    if kind == "reasoning":
        thoughts = [*blocks_in(item.get("summary")), *blocks_in(item.get("content"))]
        proof = text_of(item.get("encrypted_content"))
        return shown_thinking("\n\n".join(text_of(each.get("text")) for each in thoughts), sealed=is_seal(proof))
    if kind.endswith("_call"):
        name = ".".join(filter(None, (text_of(item.get("namespace")), text_of(item.get("name")))))
        words = text_of(item.get("input")) if "input" in item else _arguments(text_of(item.get("arguments")))
        return cut_block("call", words, label=name or kind)
    if kind.endswith("_output"):
        return cut_block("result", result_text([_plain(part) for part in blocks_in(item.get("output"))]))
    if kind in SUMMARIES:
        return ShownBlock(kind="other", label="a summary in place of what was said before, sealed")
    return ShownBlock(kind="other", label=kind.replace("_", " "))


def _sent_thinking(message: JsonObject) -> Iterator[ShownBlock]:
    for name in _THINKING_FIELDS:
        if isinstance(text := message.get(name), str):
            empty = ShownBlock(kind="other", label=f"{name} is there, and empty")
            yield shown_thinking(text) if text.strip() else empty
            return
    if details := message.get("reasoning_details"):
        yield cut_block("thinking", pretty(details))


def _sent_calls(calls: JsonValue) -> Iterator[ShownBlock]:
    for call in objects_of(calls):
        function = call.get("function")
        if isinstance(function, dict):
            arguments = _arguments(text_of(function.get("arguments")))
            yield cut_block("call", arguments, label=text_of(function.get("name")))


def _arguments(text: str) -> str:
    """The arguments of a call, spread over lines; what is no JSON stays as it is."""
    with suppress(msgspec.DecodeError):
        return msgspec.json.format(text, indent=2)
    return text

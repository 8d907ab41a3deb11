"""An answer of the Messages API as a `Message`: what it says for people and tools, and its own blocks where those matter.

The blocks are kept where text and calls could not be turned into the same answer again: with thinking in it always, and also
with a server's tools, citations, or text after a call. Then nothing is lost; otherwise nothing is kept twice.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from clew.chat.messages import Message, ToolCall
from clew.chat.plain import Given, object_from, objects_from
from clew.errors import BackendBroken
from clew.model.json import JsonObject, JsonValue
from clew.model.origin import Origin
from clew.model.target import Target
from clew.pipeline.builder import copied
from clew.pipeline.stream.answer import Answer

__all__ = ["format_response"]


def format_response(response: Given | Answer, *, target: Target | None = None) -> Message:
    """The answer as a message to keep: its text, its tool calls, and its own blocks where they must go back as they came.

    Takes the JSON of an answer, the `Message` of an Anthropic SDK, or an `Answer` of clew's. `target` is who gave it: with
    that noted, `format_messages` keeps thinking from those who cannot read it. Raises BackendBroken for what is no answer.

    >>> message = format_response(
    ...     {
    ...         "role": "assistant",
    ...         "content": [
    ...             {"type": "thinking", "thinking": "Blue scatters most.", "signature": "c2ln"},
    ...             {"type": "text", "text": "Because of scattering."},
    ...         ],
    ...         "stop_reason": "end_turn",
    ...     }
    ... )
    >>> message.content
    'Because of scattering.'
    >>> message.raw_content[0]["signature"]
    'c2ln'
    """
    whole, blocks = _read(response)
    texts = "".join(text for block in blocks if block.get("type") == "text" and (text := _text(block.get("text"))))
    calls = tuple(_call(block) for block in blocks if block.get("type") == "tool_use")
    stop_reason, usage = whole.get("stop_reason"), whole.get("usage")
    return Message(
        role="assistant",
        content=texts or (None if calls else ""),
        tool_calls=calls,
        raw_content=None if _says_all(blocks) else [*blocks],
        origin=Origin(target.realm, target.backend, target.model, target.account) if target else None,
        stop_reason=stop_reason if isinstance(stop_reason, str) else None,
        usage=usage if isinstance(usage, dict) else None,
    )


def _read(response: Given | Answer) -> tuple[JsonObject, list[JsonObject]]:
    if isinstance(response, Answer):
        return copied(response.message), [copied(block) for block in response.blocks]
    whole = object_from(response)
    if whole is None or not isinstance(whole.get("content"), list):
        raise BackendBroken("this is no answer of the Messages API: it has no list of content blocks")
    return copied(whole), [copied(block) for block in objects_from(whole["content"])]


def _call(block: JsonObject) -> ToolCall:
    arguments = json.dumps(block.get("input", {}), ensure_ascii=False)
    return ToolCall(_text(block.get("id")), _text(block.get("name")), arguments)


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


_ORDER = ("text", "tool_use")
_SAID = {"text": {"type", "text"}, "tool_use": {"type", "id", "name", "input"}}
_USUAL: tuple[JsonValue, ...] = (None, [], {"type": "direct"})
"""What a member means that is as good as absent: no citations, a call that the model made itself."""


def _says_all(blocks: Sequence[JsonObject]) -> bool:
    """Whether text and calls are all that there is to the answer: texts first, then calls, with nothing else in them."""
    types = [_text(block.get("type")) for block in blocks]
    return (
        all(kind in _ORDER for kind in types)
        and types == sorted(types, key=_ORDER.index)
        and all(not _more(block) for block in blocks)
    )


def _more(block: JsonObject) -> bool:
    said = _SAID[_text(block["type"])]
    return any(value not in _USUAL for name, value in block.items() if name not in said)

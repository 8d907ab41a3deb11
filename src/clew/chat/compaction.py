"""Compaction: a conversation that became too long goes on from a summary of itself.

The model is asked for the summary in a turn of its own, at the end of the line that is too long. The new line begins with
that summary and the question that did not fit any more; both are marked in what is said, so that every reader sees what
happened, whatever it read it from. Nothing of the old line is touched: it stays, and `branch` goes back to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from clew.chat.contents import result_block
from clew.chat.marks import marked_request, marked_summary
from clew.chat.messages import ToolCall
from clew.chat.turns import Spot, message_of
from clew.errors import BackendRejected
from clew.model.facts import rules
from clew.model.json import JsonObject, JsonValue

__all__ = ["beginning", "is_overflow", "summary_request", "transcript"]

_REQUEST: Final = """\
This conversation has become too long for one request. It goes on from a summary that you write now.

Write down whatever is needed to go on without the rest: what the user wants, in their own words where the wording matters; \
what was decided and why; facts, names, paths, numbers and code that are still needed; what was done, what came of it, and \
what is still open. Write the summary alone: call no tools, and do not answer the user."""

_LEFT_OUT: Final = "(left out: the conversation is summarised first)"
_STATUSES: Final = (400, 413)


def _words() -> tuple[str, ...]:
    """How the vendor begins to say that a prompt is too long. What other vendors say is told in these words too."""
    return tuple(rule.text.partition("{")[0].rstrip(": ") for rule in rules().values() if rule.phase == "length")


def is_overflow(error: BaseException | None) -> bool:
    """Was it refused because it does not fit the model's window?"""
    return isinstance(error, BackendRejected) and error.status in _STATUSES and any(each in str(error) for each in _words())


def summary_request(last: Spot) -> bytes:
    """The question for a summary, after this turn. Calls that wait get a result each: no model takes them without."""
    results: list[JsonValue] = [result_block(call.id, _LEFT_OUT) for call in _calls(last)]
    return _message([*results, {"type": "text", "text": marked_request(_REQUEST)}])


def beginning(summary: str, of: Spot, since: Iterable[Spot], asked: Sequence[bytes]) -> bytes:
    """How the new line begins: the summary, what was said since in plain words, and the question that did not fit."""
    text = "\n\n".join(filter(None, (summary, *transcript(since))))
    first: JsonValue = {"type": "text", "text": marked_summary(text, of.id)}
    calls = {call.id: call for call in _calls(of)}
    blocks = (block for raw in asked for block in _blocks(raw))
    return _message([first, *(said for block in blocks for said in _plain(block, calls))])


def transcript(spots: Iterable[Spot]) -> Iterator[str]:
    """What was said, in plain words: for turns that the summary does not tell of."""
    for spot in spots:
        texts = [text for raw in spot.passage.asked for block in _blocks(raw) for text in _texts(block)]
        message = message_of(spot)
        yield f"The user: {' '.join(texts)}"
        if message is not None:
            calls = (f"(called {call.name} with {call.arguments})" for call in message.tool_calls)
            yield f"You: {' '.join(filter(None, (message.content, *calls)))}"


def _calls(spot: Spot) -> Sequence[ToolCall]:
    message = message_of(spot)
    return message.tool_calls if message else ()


def _plain(block: JsonObject, calls: dict[str, ToolCall]) -> Iterator[JsonValue]:
    """A result becomes text: the call that it answers is not in the new line."""
    if block.get("type") != "tool_result":
        yield block
        return
    call = calls.get(str(block.get("tool_use_id")))
    name = f"{call.name} with {call.arguments}" if call else "a tool"
    failed = "failed" if block.get("is_error") else "gave"
    yield {"type": "text", "text": f"{name} {failed}: {' '.join(_texts(block))}"}
    content = block.get("content")
    yield from (part for part in content if not _is_text(part)) if isinstance(content, list) else ()


def _texts(block: JsonObject) -> Iterator[str]:
    content = block.get("content") if block.get("type") == "tool_result" else [block]
    if isinstance(content, str):
        yield content
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict) and isinstance(text := part.get("text"), str):
            yield text


def _is_text(part: JsonValue) -> bool:
    return isinstance(part, dict) and part.get("type") == "text"


def _blocks(raw: bytes) -> list[JsonObject]:
    content = msgspec.json.decode(raw, type=JsonObject).get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _message(content: Sequence[JsonValue]) -> bytes:
    return msgspec.json.encode({"role": "user", "content": content})

"""What two answers of a backend teach about it: where its reasoning is, whether it takes that back, what it counts.

Read from the bytes that went over the wire, not from what clew made of them: a field that clew overlooks is seen here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from clew.admin.trial.gateway import TrialAnswer
from clew.dialects.openai_chat.stream_tags import PAIRS
from clew.model.json import JsonObject, count_of, object_of, objects_of, read_object, text_of
from clew.wire.sse import SseReader

PassedBack: TypeAlias = Literal["accepted", "repaired", "refused", "not passed back", "no reasoning to pass back"]
Ids: TypeAlias = Literal["unique so far", "repeated", "empty", "not seen"]

_FIELDS: Final = ("reasoning_content", "reasoning", "reasoning_details", "thinking", "thinking_blocks", "extra_content")
_BLOCKS: Final = ("thinking", "redacted_thinking")


class TrialUsage(Struct, frozen=True, kw_only=True):
    """Tokens of the whole round trip, as Anthropic counts."""

    input: int = 0
    output: int = 0
    reasoning: int | None = None
    """None: it does not say."""
    cached: int = 0


class BackendLessons(Struct, frozen=True, kw_only=True):
    """What is known of a backend after one round trip with thinking and a tool."""

    reasoning: tuple[str, ...] = ()
    """The fields in which reasoning came, by the names of the wire."""
    called: bool = False
    """It called the tool that it was offered."""
    passed_back: PassedBack = "no reasoning to pass back"
    """What became of its reasoning in the next request."""
    back_in: tuple[str, ...] = ()
    """The fields in which its reasoning went back."""
    tool_ids: Ids = "not seen"
    usage: TrialUsage = TrialUsage()


def learn(first: TrialAnswer, second: TrialAnswer) -> BackendLessons:
    """From a question with a tool, and the request that goes on from its answer."""
    reasoning = tuple(dict.fromkeys(reasoning_in(first.came)))
    back = tuple(dict.fromkeys(reasoning_sent(second.sent)))
    called = any(block.get("type") == "tool_use" for block in first.answer.blocks)
    ids = [*_tool_ids(first.came), *_tool_ids(second.came)]
    tool_ids: Ids = "empty" if called else "not seen"  # some vendors call tools and leave the id empty
    if ids:
        tool_ids = "unique so far" if len(ids) == len(set(ids)) else "repeated"
    counts = [first.answer.usage, second.answer.usage]
    details = [object_of(count.get("output_tokens_details")).get("thinking_tokens") for count in counts]
    thought = [count for count in details if isinstance(count, int)]
    return BackendLessons(
        reasoning=reasoning,
        called=called,
        passed_back=_passed_back(second, bool(back)) if reasoning else "no reasoning to pass back",
        back_in=back,
        tool_ids=tool_ids,
        usage=TrialUsage(
            input=sum(count_of(count.get("input_tokens")) for count in counts),
            output=sum(count_of(count.get("output_tokens")) for count in counts),
            cached=sum(count_of(count.get("cache_read_input_tokens")) for count in counts),
            reasoning=sum(thought) if thought else None,
        ),
    )


def reasoning_in(reply: bytes) -> Iterator[str]:
    """The fields of an answer in which reasoning came, in any dialect."""
    content = ""
    for event in _objects(reply):
        yield from _in_blocks([object_of(event.get("content_block")), *objects_of(event.get("content"))])
        yield from _in_items(_items(event))
        for choice in objects_of(event.get("choices")):
            said = object_of(choice.get("delta")) or object_of(choice.get("message"))
            yield from _in_message(said, (name for name in _FIELDS if said.get(name)))
            content += text_of(said.get("content"))
    if content.lstrip().startswith(tuple(PAIRS)):
        yield "tags"


def model_in(reply: bytes) -> str:
    """The model's name in a reply, as the backend writes it; "" if the reply has none."""
    for each in _objects(reply):
        said = object_of(each.get("message")) or object_of(each.get("response")) or each
        if name := text_of(said.get("model")):
            return name
    return ""


def reasoning_sent(request: bytes) -> Iterator[str]:
    """The fields of a request's assistant messages, or its items, in which reasoning goes back."""
    body = read_object(request) or {}
    yield from _in_items(objects_of(body.get("input")))
    for said in objects_of(body.get("messages")):
        if said.get("role") == "assistant":
            yield from _in_message(said, (name for name in _FIELDS if name in said))  # "" is sent on purpose
            yield from _in_blocks(objects_of(said.get("content")))
            yield from ["tags"] if text_of(said.get("content")).lstrip().startswith(tuple(PAIRS)) else []


def _in_message(message: JsonObject, fields: Iterable[str]) -> Iterator[str]:
    yield from fields
    if any(isinstance(part.get("thinking"), list) for part in objects_of(message.get("content"))):
        yield "content chunks"
    if any("extra_content" in call for call in objects_of(message.get("tool_calls"))):
        yield "tool_calls.extra_content"


def _in_blocks(blocks: Iterable[JsonObject]) -> Iterator[str]:
    for block in blocks:
        if block.get("type") in _BLOCKS and not isinstance(block.get("thinking"), list):
            yield f"{text_of(block.get('type'))} blocks"


def _items(event: JsonObject) -> list[JsonObject]:
    """The output items that are whole in this event, or in this response."""
    return [object_of(event.get("item")), *objects_of(event.get("output"))]


def _in_items(items: Iterable[JsonObject]) -> Iterator[str]:
    if any(item.get("type") == "reasoning" for item in items):
        yield "reasoning items"


def _passed_back(second: TrialAnswer, back: bool) -> PassedBack:
    if not (back or second.repairs):
        return "not passed back"
    if second.status != 200:
        return "refused"
    return "repaired" if second.repairs else "accepted"


def _tool_ids(reply: bytes) -> Iterator[str]:
    """The backend's own ids of its tool calls."""
    found: dict[str, None] = {}
    for event in _objects(reply):
        blocks = [object_of(event.get("content_block")), *objects_of(event.get("content"))]
        found |= {text_of(block.get("id")): None for block in blocks if block.get("type") == "tool_use"}
        found |= {text_of(item.get("call_id")): None for item in _items(event) if item.get("type") == "function_call"}
        for choice in objects_of(event.get("choices")):
            said = object_of(choice.get("delta")) or object_of(choice.get("message"))
            found |= {text_of(call.get("id")): None for call in objects_of(said.get("tool_calls"))}
    yield from filter(None, found)


def _objects(reply: bytes) -> Iterator[JsonObject]:
    """The JSON objects of a reply: each event's if it is a stream, else the whole body."""
    if whole := read_object(reply):
        yield whole
        return
    reader = SseReader()
    yield from (read_object(event.data) or {} for event in [*reader.feed(reply), *reader.flush()])

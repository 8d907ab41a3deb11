"""Stored turns of a thread as UI messages, and the metadata of each message.

A turn that has only tool results continues the answer before it: to a person the whole tool loop is one message. This
message has the id of its first turn; a user's message has the id of its turn and a number.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

import msgspec
from msgspec import Struct, structs

from clew.backends.row import Backend
from clew.chat.metrics import sum_of_usage
from clew.chat.prices import cost_of, total_cost
from clew.chat.request import held_blocks_of
from clew.chat.turns import StoredTurn
from clew.chat.ui.parts import Part, summary_part
from clew.chat.ui.steps import MessageFold, StepParts, message_of_parts
from clew.model.change import bounded, count_of
from clew.model.json import JsonObject, JsonValue
from clew.model.turn import Exchange
from clew.model.unfold import events_of
from clew.thinking.seal import Sealer

MetadataOf: TypeAlias = Callable[[Sequence[StoredTurn]], JsonObject]
"""Makes the metadata of a message from its turns."""

_ONE_CHUNK: Final = 1 << 30
_MOST_CHANGES: Final = 100


class TurnGroup(Struct, frozen=True):
    """The turns of one message of the assistant, and the user's messages before them."""

    asked: tuple[JsonObject, ...]
    turns: tuple[StoredTurn, ...]

    @property
    def id(self) -> str:
        return self.turns[0].id


def groups_of(line: Iterable[StoredTurn]) -> list[TurnGroup]:
    """The turns of a line, grouped by message."""
    groups: list[list[StoredTurn]] = []
    for stored in line:
        if groups and has_only_results(stored):
            groups[-1].append(stored)
        else:
            groups.append([stored])
    return [TurnGroup(_asked_in(stored_turns[0]), tuple(stored_turns)) for stored_turns in groups]


def has_only_results(stored: StoredTurn) -> bool:
    """Does the question of this turn consist of tool results alone?"""
    asked = _asked_in(stored)
    return bool(asked) and not any(map(_has_words, asked))


def _asked_in(stored: StoredTurn) -> tuple[JsonObject, ...]:
    return tuple(msgspec.json.decode(raw, type=JsonObject) for raw in stored.passage.asked)


def ui_messages(line: Sequence[StoredTurn], sealer: Sealer, metadata: MetadataOf) -> list[JsonObject]:
    """The line as a chat front end has it."""
    groups = groups_of(line)
    messages: list[JsonObject] = []
    for group, following in zip(groups, [*groups[1:], None], strict=True):
        messages += _user_messages(group)
        if any(each.answer for each in group.turns):
            late_results = result_parts(following.asked) if following else iter(())
            end: Part = {"type": "finish", "messageMetadata": metadata(group.turns)}
            messages.append(message_of_parts([*parts_of_group(group, sealer), *late_results, end]))
    return messages


def _user_messages(group: TurnGroup) -> Iterator[JsonObject]:
    """The user's messages. A front end can bring a conversation that began elsewhere, so there may be answers among them."""
    stored, answer = group.turns[0], MessageFold()
    metadata: JsonObject = {"turn": stored.id, "at": _started_at(stored), "outcome": stored.outcome}
    for number, asked in enumerate(group.asked):
        id = f"{stored.id}.{number}"
        if asked.get("role") == "assistant":
            answer.feed({"type": "start", "messageId": id})
            answer.feed_all(_step_parts(id, _blocks_in(asked)))
            continue
        answer.feed_all(part for part in result_parts([asked]) if answer.has_call(part))
        if _has_words(asked):
            yield from answer.whole()
            answer = MessageFold()
            parts: list[JsonValue] = [*map(_user_part, _blocks_without_results(asked))]
            yield {"id": id, "role": "user", "metadata": metadata, "parts": parts}


def parts_of_group(group: TurnGroup, sealer: Sealer) -> Iterator[Part]:
    """The parts of a stored answer, without its end: the answer may continue."""
    yield {"type": "start", "messageId": group.id}
    for number, stored in enumerate(group.turns):
        if number:
            yield from result_parts(_asked_in(stored))
        if stored.answer is not None:
            yield from _step_parts(stored.id, held_blocks_of(stored.answer, sealer))


def _step_parts(name: str, blocks: Iterable[JsonObject]) -> Iterator[Part]:
    yield {"type": "start-step"}
    step = StepParts(name)
    for event in events_of({"type": "message", "content": [*blocks]}, chunk=_ONE_CHUNK):
        yield from step.feed(event)
    yield {"type": "finish-step"}


def result_parts(asked: Iterable[JsonObject]) -> Iterator[Part]:
    """The tool results in these messages."""
    for block in (block for message in asked for block in _blocks_in(message) if block.get("type") == "tool_result"):
        call, content = block.get("tool_use_id"), block.get("content")
        if block.get("is_error"):
            text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
            yield {"type": "tool-output-error", "toolCallId": call, "errorText": text}
        else:
            yield {"type": "tool-output-available", "toolCallId": call, "output": _tool_output(content)}


def _tool_output(content: JsonValue) -> JsonValue:
    """The output of a tool. Values were stored as JSON, texts as they are; JSON with half a character stays a text."""
    if not isinstance(content, str) or not content.startswith(("{", "[")):
        return content
    try:
        return msgspec.json.decode(content)
    except (ValueError, RecursionError):
        return content


def _has_words(message: JsonObject) -> bool:
    """Is there anything beside tool results in this message?"""
    return message.get("role") != "system" and bool(_blocks_without_results(message))


def _blocks_without_results(message: JsonObject) -> list[JsonObject]:
    return [block for block in _blocks_in(message) if block.get("type") != "tool_result"]


def _blocks_in(message: JsonObject) -> list[JsonObject]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _user_part(block: JsonObject) -> JsonObject:
    """The part for a block of the user. A picture or a document keeps its data or its address."""
    match block:
        case {"type": "text", "text": str(text)}:
            return summary_part(block) or {"type": "text", "text": text}
        case {"type": "image" | "document", "source": {"type": "base64", "media_type": str(kind), "data": str(data)}}:
            return {"type": "file", "mediaType": kind, "url": f"data:{kind};base64,{data}"}
        case {"type": "image" | "document", "source": {"type": "url", "url": str(url)}}:
            return {"type": "file", "mediaType": "image/*" if block["type"] == "image" else "application/pdf", "url": url}
        case _:
            return {"type": "data-block", "data": block}


# Metadata


def metadata_of(stored_turns: Sequence[StoredTurn], backends: Mapping[str, Backend]) -> JsonObject:
    """The thread and turn of a message, its model, tokens and cost, and the changes to its thinking.

    Usage and cost are the sums over all model calls of the message; everything else is from the last call.
    """
    last = stored_turns[-1]
    thread = last.passage.recording.thread if last.passage.recording else ""
    metadata: JsonObject = {"thread": thread, "turn": last.id, "at": _started_at(last), "outcome": last.outcome}
    exchange = last.exchange
    if exchange is None:
        return metadata
    exchanges = [found for stored in stored_turns if (found := stored.exchange)]
    cost = total_cost(
        cost_of(
            each.model,
            each.usage,
            backend=backends.get(each.backend),
            complete=each.outcome == "whole",
            at=each.started,
        )
        for each in exchanges
    )
    changes: list[JsonValue] = [msgspec.to_builtins(change) for change in bounded(exchange.changes, _MOST_CHANGES)]
    return {
        **metadata,
        "backend": exchange.backend,
        "model": exchange.model,
        "usage": _total_usage(exchanges),
        "cost": {"usd": float(cost.usd), "estimated": cost.estimated} if cost else None,
        "thinking": {"kept": exchange.kept, "changed": count_of(exchange.changes), "changes": changes},
    }


def _started_at(stored: StoredTurn) -> float:
    return stored.exchange.started if stored.exchange else stored.passage.at


def _total_usage(exchanges: Sequence[Exchange]) -> JsonValue:
    counts = [each.usage for each in exchanges if each.usage]
    if not counts:
        return None
    thinking = [each.thinking for each in counts if each.thinking is not None]
    total = sum_of_usage(counts)
    estimated = len(counts) < len(exchanges) or total.estimated
    return msgspec.to_builtins(structs.replace(total, estimated=estimated, thinking=sum(thinking) if thinking else None))

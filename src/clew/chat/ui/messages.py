"""One model call as parts of a UI message, stored turns of a thread as UI messages, and the metadata of each message.

Nothing is moved or joined: each block is a part with an id of its own, in the order in which the model made them. The proof
of a thinking block travels as the provider's metadata, where the SDK's own Anthropic provider puts it. A stored answer goes
through the same parts as a streamed one, so a page that is loaded again shows what it showed during the answer.

A message has the id of its first turn; a user's message has the id of its turn and a number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final, TypeAlias

import msgspec
from msgspec import structs

from clew.backends.row import Backend
from clew.chat.messages import blocks_in
from clew.chat.metrics import sum_of_usage
from clew.chat.prices import cost_of, total_cost
from clew.chat.request import held_blocks_of
from clew.chat.turns import StoredTurn
from clew.chat.ui.parts import MessageFold, Part, message_of_parts, output_part, summary_part
from clew.chat.ui.positions import TurnGroup, blocks_without_results, groups_of, has_words
from clew.model.assemble import AssembledBlock, Assembler
from clew.model.change import bounded, count_of
from clew.model.events import BlockDelta, BlockStart, BlockStop, Event, MessageDelta
from clew.model.json import JsonObject, JsonValue
from clew.model.turn import Exchange
from clew.model.unfold import events_of
from clew.thinking.seal import Sealer

MetadataOf: TypeAlias = Callable[[Sequence[StoredTurn]], JsonObject]
"""Makes the metadata of a message from its turns."""

_CALLS: Final = ("tool_use", "server_tool_use", "mcp_tool_use")
_UI_KINDS: Final = {"text": "text", "thinking": "reasoning"}
_UNREADABLE: Final = "The model's arguments for this call are not JSON."
_ONE_CHUNK: Final = 1 << 30
_MOST_CHANGES: Final = 100


# Model calls


class StepParts:
    """`feed` it the events of one answer. `name` makes the ids of its parts different from those of other steps."""

    def __init__(self, name: str) -> None:
        self.stop_reason = ""
        self._name = name
        self._assembler = Assembler()
        self._open: dict[int, JsonObject] = {}
        self._sources = 0

    def feed(self, event: Event) -> Iterator[Part]:
        """The parts of this event. Raises StreamIllegal for an event that may not come here."""
        whole = self._assembler.feed(event)
        match event:
            case BlockStart():
                yield from self._start_block(event.index, event.content_block)
            case BlockDelta():
                index = event.index
                match event.delta:
                    case {"type": "text_delta", "text": str(text)} if text:
                        yield {"type": "text-delta", "id": self._id(index), "delta": text}
                    case {"type": "thinking_delta", "thinking": str(text)} if text:
                        yield {"type": "reasoning-delta", "id": self._id(index), "delta": text}
                    case {"type": "input_json_delta", "partial_json": str(text)} if text:
                        call = self._open[index].get("id")
                        yield {"type": "tool-input-delta", "toolCallId": call, "inputTextDelta": text}
                    case {"type": "citations_delta", "citation": {"url": str(url), **more}}:
                        self._sources += 1
                        source: Part = {"type": "source-url", "sourceId": f"{self._name}.source.{self._sources}", "url": url}
                        yield {**source, "title": title} if isinstance(title := more.get("title"), str) else source
                    case _:
                        pass
            case BlockStop():
                yield from self._stop_block(event.index, whole)
            case MessageDelta():
                self.stop_reason = str(event.delta.get("stop_reason") or self.stop_reason)
            case _:
                pass

    def _id(self, index: int) -> str:
        return f"{self._name}.{index}"

    def _start_block(self, index: int, block: JsonObject) -> Iterator[Part]:
        self._open[index] = block
        kind = block.get("type")
        if kind in _CALLS:
            yield {"type": "tool-input-start", **_call_names(block)}
        elif kind == "redacted_thinking":
            yield {"type": "reasoning-start", "id": self._id(index), **_proof("redactedData", block.get("data"))}
        elif kind in ("text", "thinking"):
            ui_kind = _UI_KINDS[kind]
            yield {"type": f"{ui_kind}-start", "id": self._id(index)}
            if text := block.get(kind):
                yield {"type": f"{ui_kind}-delta", "id": self._id(index), "delta": text}

    def _stop_block(self, index: int, whole: AssembledBlock | None) -> Iterator[Part]:
        block = whole.block if whole else self._open[index]
        del self._open[index]
        kind = str(block.get("type"))
        if kind in _CALLS and whole and whole.unparsed is not None:
            yield {"type": "tool-input-error", **_call_names(block), "input": whole.unparsed, "errorText": _UNREADABLE}
        elif kind in _CALLS:
            yield {"type": "tool-input-available", **_call_names(block), "input": block.get("input") or {}}
        elif kind == "text":
            yield {"type": "text-end", "id": self._id(index)}
        elif kind in ("thinking", "redacted_thinking"):
            proof = _proof("signature", block.get("signature")) if kind == "thinking" else {}
            yield {"type": "reasoning-end", "id": self._id(index), **proof}
        elif kind.endswith("_tool_result"):
            content = block.get("content")
            error = content.get("error_code") if isinstance(content, dict) else None
            is_error = isinstance(error, str)
            part = output_part(block.get("tool_use_id"), error if is_error else content, is_error=is_error)
            yield {**part, "providerExecuted": True}
        else:
            yield {"type": "data-block", "id": self._id(index), "data": block}


def _proof(name: str, value: JsonValue) -> JsonObject:
    """What the model's maker wants back of a thinking block, if there is anything."""
    return {"providerMetadata": {"anthropic": {name: value}}} if isinstance(value, str) and value else {}


def _call_names(block: JsonObject) -> JsonObject:
    """A call's id and name. A call that the vendor runs itself is marked: the client has nothing to do."""
    names: JsonObject = {"toolCallId": block.get("id"), "toolName": block.get("name")}
    return names if block.get("type") == "tool_use" else {**names, "providerExecuted": True}


# Messages


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
    metadata: JsonObject = {"turn": stored.id, "at": stored.at, "outcome": stored.outcome}
    for number, asked in enumerate(group.asked):
        id = f"{stored.id}.{number}"
        if asked.get("role") == "assistant":
            answer.feed({"type": "start", "messageId": id})
            answer.feed_all(_step_parts(id, blocks_in(asked)))
            continue
        answer.feed_all(part for part in result_parts([asked]) if answer.has_call(part))
        if has_words(asked):
            yield from answer.whole()
            answer = MessageFold()
            parts: list[JsonValue] = [*map(_user_part, blocks_without_results(asked))]
            yield {"id": id, "role": "user", "metadata": metadata, "parts": parts}
    yield from answer.whole()  # the results of its calls were the last that the front end brought


def parts_of_group(group: TurnGroup, sealer: Sealer) -> Iterator[Part]:
    """The parts of a stored answer, without its end: the answer may continue."""
    yield {"type": "start", "messageId": group.id}
    for number, stored in enumerate(group.turns):
        if number:
            yield from result_parts(stored.asked)
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
    for block in (block for message in asked for block in blocks_in(message) if block.get("type") == "tool_result"):
        call, content = block.get("tool_use_id"), block.get("content")
        is_error = bool(block.get("is_error"))
        if isinstance(content, str) and content.startswith(("{", "[")) and not is_error:  # values were stored as JSON
            with suppress(ValueError, RecursionError):  # JSON with half a character stays a text
                content = msgspec.json.decode(content)
        yield output_part(call, content, is_error=is_error)


def _user_part(block: JsonObject) -> JsonObject:
    """The part for a block of the user. A picture or a document keeps its data or its address."""
    match block:
        case {"type": "text", "text": str(text)}:
            return summary_part(block) or {"type": "text", "text": text}
        case {"type": "image" | "document", "source": {"type": "base64", "media_type": str(kind), "data": str(data)}}:
            named: JsonObject = {"filename": title} if (title := block.get("title")) else {}
            return {"type": "file", "mediaType": kind, "url": f"data:{kind};base64,{data}", **named}
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
    metadata: JsonObject = {"thread": thread, "turn": last.id, "at": last.at, "outcome": last.outcome}
    exchange = last.exchange
    if exchange is None:
        return metadata
    exchanges = [found for stored in stored_turns if (found := stored.exchange)]
    cost = total_cost(
        cost_of(
            each.model, each.usage, backend=backends.get(each.backend), complete=each.outcome == "whole", at=each.started
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


def _total_usage(exchanges: Sequence[Exchange]) -> JsonValue:
    counts = [each.usage for each in exchanges if each.usage]
    if not counts:
        return None
    thinking = [each.thinking for each in counts if each.thinking is not None]
    total = sum_of_usage(counts)
    estimated = len(counts) < len(exchanges) or total.estimated
    return msgspec.to_builtins(structs.replace(total, estimated=estimated, thinking=sum(thinking) if thinking else None))

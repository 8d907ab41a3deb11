"""An answer as output items: each block in the vendor's form, with the events that add up to it.

What a stream adds up to and what comes whole are the same by construction: an `OutputItem` holds the item as it begins, its
events, and the item as it ends. What the vendor remembers is what it gave.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from clew.model.json import JsonObject, JsonValue
from clew.simulator.answers import AnswerBlock, ModelAnswer
from clew.simulator.identity import Ids
from clew.simulator.openai_responses.blobs import BlobContent, signature_of_thought
from clew.simulator.openai_responses.judge.case import OfferedTool, ResponsesCase
from clew.simulator.script import Pause, SendEvent, SendPings
from clew.simulator.values import as_dict, as_list, as_str

_TITLE: Final = "**Thinking it over**\n\n"
_HALF: Final = 2
_MESSAGES_ONLY: Final = re.compile(r"(server|mcp)_tool_use|.*_tool_result|fallback|container_upload")
"""Blocks of the Messages API that no item corresponds to."""


@dataclass(frozen=True, slots=True)
class ItemEvent:
    """An event of an item, without the fields that all events of it share."""

    type: str
    value: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputItem:
    """An item of the answer."""

    start: JsonObject
    events: tuple[ItemEvent, ...] = ()
    item: JsonObject
    thought: str = ""
    """The text behind a reasoning item."""


OutputStep: TypeAlias = OutputItem | Pause | SendPings | SendEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemWriter:
    """What is needed to write the items of one answer."""

    case: ResponsesCase
    ids: Ids
    refuses: bool
    """The text is a refusal."""
    steps: list[OutputStep] = field(default_factory=list[OutputStep])

    def id(self, prefix: str) -> str:
        return self.ids.item(prefix, len(self.steps))


def output_steps(answer: ModelAnswer, case: ResponsesCase, ids: Ids) -> tuple[OutputStep, ...]:
    """The items of the answer, and what is between them on the wire."""
    writer = ItemWriter(case=case, ids=ids, refuses=answer.stop_reason == "refusal")
    cut = answer.stop_reason == "max_tokens"
    blocks = [item for item in answer.items if isinstance(item, AnswerBlock)]
    last_call = max((n for n, each in enumerate(blocks) if each.block.get("type") == "tool_use"), default=-1)
    number = 0
    for item in answer.items:
        if isinstance(item, AnswerBlock):
            _write(writer, item, cut=cut and number == len(blocks) - 1, calls_follow=number < last_call)
            number += 1
        else:
            writer.steps.append(item)
    return tuple(writer.steps)


def _write(writer: ItemWriter, block: AnswerBlock, *, cut: bool, calls_follow: bool) -> None:
    match block.block.get("type"):
        case "thinking" | "redacted_thinking":
            _add_thought(writer, block, cut=cut)
        case "text":
            _add_message(writer, block, cut=cut, phase="commentary" if calls_follow else "final_answer")
        case "tool_use":
            name = as_str(block.block.get("name"))
            tool = writer.case.tool_named(name)
            pieces = [piece for delta in block.deltas if (piece := as_str(delta.get("partial_json")))]
            if tool is not None and tool.kind == "custom":
                text = as_str(as_dict(block.block.get("input")).get("input"))
                _add_call_item(writer, block, tool, name, text, _pieces(text, max(map(len, pieces), default=1)), cut=cut)
            else:
                _add_call_item(writer, block, tool, name, "".join(pieces) or "{}", pieces or ["{}"], cut=cut)
        case str(kind) if _MESSAGES_ONLY.fullmatch(kind):
            pass  # such blocks do not exist in this dialect
        case _:  # an item of the scenario, as it stands
            item: JsonObject = {"id": writer.id("item"), **block.block}
            writer.steps.append(OutputItem(start=item, item=item))


# Reasoning.


def _add_thought(writer: ItemWriter, block: AnswerBlock, *, cut: bool) -> None:
    traits, case = writer.case.traits, writer.case
    is_asked = "reasoning.encrypted_content" in as_list(case.body.get("include"))
    redacted = block.block.get("type") == "redacted_thinking"
    text = as_str(block.block.get("data" if redacted else "thinking"))
    id_ = writer.id("rs")
    pieces = [as_str(delta.get("thinking")) for delta in block.deltas]
    item: JsonObject = {"id": id_, "type": "reasoning", "summary": []}
    events: list[ItemEvent] = []
    if text and not redacted and traits.text:
        item["content"] = [{"type": "reasoning_text", "text": text}]
        events += _text_events(case, text, [piece for piece in pieces if piece])
    if text and not redacted and _shows_summary(case):
        paragraphs = text.split("\n\n") if case.reasoning.get("summary") == "detailed" else [text]
        parts = [_TITLE + part if traits.titles else part for part in paragraphs]
        item["summary"] = [{"type": "summary_text", "text": part} for part in parts]
        events += _summary_events(parts, max((len(piece) for piece in pieces), default=1))
    start = {**item, "summary": [], **({"content": []} if "content" in item else {})}
    if traits.format:
        item["format"] = start["format"] = traits.format
    if traits.signs and not redacted:
        item["signature"] = signature_of_thought(case.memory.secret, case.model, text)
    if traits.blob != "none" and (traits.blob_if == "always" or is_asked) and not cut:
        item["encrypted_content"] = case.key.make(BlobContent(id=id_, model=case.model, text=text), salt=id_)
        begun = BlobContent(id=id_, model=case.model, text=text[: len(text) // _HALF], part=True)
        start["encrypted_content"] = case.key.make(begun, salt=id_)
    elif traits.blob == "none" and (redacted or not text):
        return  # nothing is left of it
    if cut:
        item["status"] = "incomplete"
    writer.steps.append(OutputItem(start=start, events=tuple(events), item=item, thought="" if redacted else text))


def _shows_summary(case: ResponsesCase) -> bool:
    match case.traits.summary:
        case "asked":
            return case.reasoning.get("summary") is not None
        case "always":
            return True
        case "never":
            return False


def _summary_events(parts: Sequence[str], size: int) -> Iterator[ItemEvent]:
    for number, text in enumerate(parts):
        index: JsonObject = {"summary_index": number}
        yield ItemEvent("response.reasoning_summary_part.added", {**index, "part": {"type": "summary_text", "text": ""}})
        for piece in _pieces(text, size):
            yield ItemEvent("response.reasoning_summary_text.delta", {**index, "delta": piece})
        yield ItemEvent("response.reasoning_summary_text.done", {**index, "text": text})
        yield ItemEvent("response.reasoning_summary_part.done", {**index, "part": {"type": "summary_text", "text": text}})


def _text_events(case: ResponsesCase, text: str, pieces: Sequence[str]) -> Iterator[ItemEvent]:
    index: JsonObject = {"content_index": 0}
    if case.vendor.stream.text_parts:
        yield ItemEvent("response.content_part.added", {**index, "part": {"type": "reasoning_text", "text": ""}})
    for piece in pieces:
        yield ItemEvent("response.reasoning_text.delta", {**index, "delta": piece})
    yield ItemEvent("response.reasoning_text.done", {**index, "text": text})
    if case.vendor.stream.text_parts:
        yield ItemEvent("response.content_part.done", {**index, "part": {"type": "reasoning_text", "text": text}})


def _pieces(text: str, size: int) -> list[str]:
    return [text[place : place + size] for place in range(0, len(text), size)]


# Messages and calls.


def _add_message(writer: ItemWriter, block: AnswerBlock, *, cut: bool, phase: str) -> None:
    text, index = as_str(block.block.get("text")), {"content_index": 0}
    pieces = [as_str(delta.get("text")) for delta in block.deltas]
    events: list[ItemEvent] = []
    if writer.refuses:
        part: JsonObject = {"type": "refusal", "refusal": text}
        events.append(ItemEvent("response.content_part.added", {**index, "part": {"type": "refusal", "refusal": ""}}))
        events += [ItemEvent("response.refusal.delta", {**index, "delta": piece}) for piece in pieces]
        events.append(ItemEvent("response.refusal.done", {**index, "refusal": text}))
    else:
        part = {"type": "output_text", "annotations": [], "logprobs": [], "text": text}
        events.append(ItemEvent("response.content_part.added", {**index, "part": {**part, "text": ""}}))
        events += [ItemEvent("response.output_text.delta", {**index, "delta": piece, "logprobs": []}) for piece in pieces]
        events.append(ItemEvent("response.output_text.done", {**index, "text": text, "logprobs": []}))
    events.append(ItemEvent("response.content_part.done", {**index, "part": part}))
    head: JsonObject = {"id": writer.id("msg"), "type": "message", "role": "assistant"}
    if writer.case.traits.phases:
        head["phase"] = phase
    item: JsonObject = {**head, "status": _status(cut=cut), "content": [part]}
    writer.steps.append(OutputItem(start={**head, "status": "in_progress", "content": []}, events=tuple(events), item=item))


def _add_call_item(
    writer: ItemWriter,
    block: AnswerBlock,
    tool: OfferedTool | None,
    name: str,
    text: str,
    pieces: Sequence[str],
    *,
    cut: bool,
) -> None:
    custom = tool is not None and tool.kind == "custom"
    field_, what = ("input", "custom_tool_call_input") if custom else ("arguments", "function_call_arguments")
    head: JsonObject = {
        "id": writer.id("ctc" if custom else "fc"),
        "type": "custom_tool_call" if custom else "function_call",
        "call_id": block.block.get("id"),
        "name": tool.name if tool else name,
    }
    if tool is not None and tool.namespace:
        head["namespace"] = tool.namespace
    deltas = pieces if writer.case.vendor.stream.call_deltas else ()
    events = [ItemEvent(f"response.{what}.delta", {"delta": piece}) for piece in deltas]
    if not cut:
        events.append(ItemEvent(f"response.{what}.done", {field_: text}))
    start: JsonObject = {**head, "status": "in_progress", field_: ""}
    item: JsonObject = {**head, "status": _status(cut=cut), field_: text}
    writer.steps.append(OutputItem(start=start, events=tuple(events), item=item))


def _status(*, cut: bool) -> JsonValue:
    return "incomplete" if cut else "completed"

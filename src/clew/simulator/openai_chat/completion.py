"""An answer as a chat completion: each block in the vendor's form, as one JSON object or as chunks; and the usage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

from clew.model.json import JsonObject, JsonValue
from clew.simulator.answers import AnswerBlock, ModelAnswer
from clew.simulator.openai_chat.judge.case import ChatCase
from clew.simulator.openai_chat.memory import seal
from clew.simulator.openai_chat.thoughts import THOUGHT_FORMS, ChatDelta, MessageDraft, ThoughtToWrite
from clew.simulator.openai_chat.vendors import ChatVendor, UsageFormat, decoded, in_tokens, written_call
from clew.simulator.script import Pause, SendEvent, SendPings
from clew.simulator.steps import Send, Silence, Step, repeated
from clew.simulator.values import as_dict, as_str

_FIELDS: Final = {"details": "reasoning_details", "chunks": "content", "tags": "content"}
"""The field of a message that a form writes to, where the form is not named after it."""


def draft_of(answer: ModelAnswer, case: ChatCase, salt: str) -> MessageDraft:
    """The answer in the vendor's form. `salt` is unique to the answer and goes into its seals."""
    draft = MessageDraft()
    for item in answer.items:
        if not isinstance(item, AnswerBlock):
            draft.steps.append(item)
            continue
        match item.block.get("type"):
            case "thinking" | "redacted_thinking":
                _add_thought(draft, item, case, salt)
            case "text":
                text = as_str(item.block.get("text"))
                draft.text += text
                draft.content += text
                in_list = case.form == "chunks" and bool(draft.chunks)
                if in_list:
                    draft.chunks.append({"type": "text", "text": text})
                for delta in item.deltas:
                    part = delta.get("text")
                    draft.add("content", {"content": [{"type": "text", "text": part}] if in_list else part})
            case "tool_use":
                _add_call(draft, item, case, salt)
            case _:
                pass  # other blocks of the Messages API do not exist in this dialect
    if draft.text and not draft.calls and case.thinking:
        # An answer without calls is signed as a whole. A stream has the signature at its end, beside an empty text.
        draft.signed = _signature(draft, case, salt)
        if draft.signed:
            draft.add("content", {"content": "", **draft.signed})
    return draft


def message_of(draft: MessageDraft, case: ChatCase) -> JsonObject:
    """The answer as one chat message."""
    content: JsonValue = draft.content or (None if draft.calls else "")
    if draft.chunks and case.form == "chunks":
        content = [*draft.chunks]
    message: JsonObject = {"role": "assistant", "content": content}
    mirrors: JsonObject = dict.fromkeys(case.traits.mirrors, draft.reasoning)
    match case.form if case.thinking else "hidden":
        case "reasoning_content" | "reasoning" as field:
            message |= {field: draft.reasoning, **mirrors}
        case "details":
            message |= {**mirrors, "reasoning_details": draft.details}
        case "tags" if draft.reasoning:
            message |= mirrors
        case _:
            pass
    if draft.calls:
        message["tool_calls"] = draft.calls
    return message | draft.signed


def reasoning_field(draft: MessageDraft, case: ChatCase) -> str:
    """The field that the client has to send back; "" if there is none."""
    if case.traits.signs and (draft.calls or draft.signed):
        return "extra_content"
    name = case.traits.back or _FIELDS.get(case.form, case.form)
    there = draft.details if case.form == "details" else draft.reasoning
    return name if there and name in case.traits.takes else ""


def _add_thought(draft: MessageDraft, piece: AnswerBlock, case: ChatCase, salt: str) -> None:
    parts = [as_str(delta.get("thinking")) for delta in piece.deltas if delta.get("type") == "thinking_delta"]
    redacted = piece.block.get("type") == "redacted_thinking"
    thought = ThoughtToWrite(
        text=as_str(piece.block.get("data" if redacted else "thinking")),
        pieces=[part for part in parts if part],
        redacted=redacted,
        traits=case.traits,
        model=case.model,
        secret=case.memory.secret,
        salt=salt,
    )
    THOUGHT_FORMS[case.form](draft, thought)


def _add_call(draft: MessageDraft, piece: AnswerBlock, case: ChatCase, salt: str) -> None:
    parts = [part for delta in piece.deltas if (part := as_str(delta.get("partial_json")))]
    id_, name, arguments = piece.block["id"], piece.block["name"], "".join(parts) or "{}"
    if form := case.traits.writes_calls:
        _add_text_call(draft, written_call(form, as_str(name), arguments))
        return
    number, signed = len(draft.calls), _signature(draft, case, salt)
    head: JsonObject = {"id": id_, "type": "function"}
    draft.calls.append({**head, "function": {"name": name, "arguments": arguments}, **signed})
    chunks = case.vendor.chunks
    index: JsonObject = {"index": number} if chunks.indices else {}
    whole = chunks.calls == "whole" and case.body.get(chunks.pieces_if) is not True
    function: JsonObject = {"name": name, "arguments": arguments if whole else ""}
    draft.add("tool_calls", {"tool_calls": [{**index, **head, "function": function, **signed}]})
    for part in [] if whole else parts or ["{}"]:
        draft.add("tool_calls", {"tool_calls": [{**index, **decoded(chunks.again), "function": {"arguments": part}}]})
    if case.form == "details" and case.traits.makes == "gemini" and not number:
        # The signature of a call through an aggregator is an entry with the call's id.
        entry: JsonObject = {
            "type": "reasoning.encrypted",
            "data": seal(case.memory.secret, as_str(id_), salt=salt),
            "id": id_,
            "format": "google-gemini-v1",
            "index": 0,
        }
        draft.add_entry(entry)


def _add_text_call(draft: MessageDraft, written: str) -> None:
    text = f"\n{written}\n"
    draft.text += text
    draft.content += text
    draft.has_text_calls = True
    for delta in in_tokens(text):
        draft.add("content", delta)


def _signature(draft: MessageDraft, case: ChatCase, salt: str) -> JsonObject:
    """A thought signature on the first call of a step, as Gemini has it in this dialect."""
    if not case.traits.signs or draft.calls:
        return {}
    data = seal(case.memory.secret, msgspec.json.encode(draft.text).decode(), salt=salt)
    return {"extra_content": {"google": {"thought_signature": data}}}


# On the wire.

_DONE: Final = Send(b"data: [DONE]\n\n", "done")
_FINISHES: Final = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "refusal": "content_filter",
}
_BESIDE: Final = {"reasoning": "beside_reasoning", "content": "beside_content", "tool_calls": "beside_calls"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A whole answer, to be written as a completion or as a stream of chunks."""

    id: str
    model: str
    created: int
    vendor: ChatVendor
    draft: MessageDraft
    message: JsonObject
    stop_reason: str
    usage: JsonObject
    usage_asked: bool

    @property
    def finish(self) -> str:
        """The finish reason. A scenario may set any."""
        reason = _FINISHES.get(self.stop_reason, self.stop_reason)
        if reason == "tool_calls" and self.draft.has_text_calls:  # the server knows of no call
            reason = "stop"
        return self.vendor.finishes.get(reason, reason)


def completion(whole: Completion) -> JsonObject:
    """The answer as one JSON object."""
    extra = decoded(whole.vendor.chunks.choice)
    choice: JsonObject = {"index": 0, "message": whole.message, "finish_reason": whole.finish, **extra}
    return {**_frame(whole, "chat.completion"), "choices": [choice], "usage": whole.usage, **decoded(whole.vendor.extra)}


def chunks(whole: Completion) -> Iterator[Step]:
    """The steps that send an answer as a stream."""
    format_ = whole.vendor.chunks
    if format_.comment:
        yield _comment(format_.comment)
    if format_.preface:
        yield Send(f"data: {format_.preface}\n\n".encode(), "preface")
    first = dict(decoded(format_.first))
    if "content" in first or len(first) > 1:
        yield _chunk(whole, first, "role")
        first = {}
    for step in whole.draft.steps:
        match step:
            case ChatDelta(kind, value):
                beside = decoded(getattr(format_, _BESIDE[kind]))
                yield _chunk(whole, {**first, **beside, **value}, kind)
                first = {}
            case Pause(seconds):
                yield Silence(seconds)
            case SendPings(times, every):
                yield from repeated(_comment(format_.comment or "keep-alive"), times, every)
            case SendEvent(name, data):
                yield Send(f"data: {data}\n\n".encode(), name)
    yield from _end(whole)


def _end(whole: Completion) -> Iterator[Step]:
    format_ = whole.vendor.chunks
    beside: JsonObject = {"usage": whole.usage} if format_.usage == "finish" else {}
    if format_.twice:
        beside[format_.twice] = {"id": f"req_{whole.id}", "usage": whole.usage}
    yield _chunk(whole, dict(decoded(format_.last)), "finish", finish=whole.finish, beside=beside)
    if format_.usage == "own" or (format_.usage == "asked" and whole.usage_asked):
        body: JsonObject = {**_frame(whole, "chat.completion.chunk"), "choices": [], "usage": whole.usage}
        yield _send({**body, **decoded(whole.vendor.extra)}, "usage")
    yield _DONE


def _chunk(
    whole: Completion, delta: JsonObject, event: str, *, finish: str | None = None, beside: JsonObject | None = None
) -> Send:
    format_ = whole.vendor.chunks
    choice: JsonObject = {"index": 0, "delta": delta}
    if finish is not None or format_.finish == "null":
        choice["finish_reason"] = finish
    choice |= decoded(format_.choice)
    if finish is not None and "native_finish_reason" in choice:
        choice["native_finish_reason"] = finish
    return _send({**_frame(whole, "chat.completion.chunk"), "choices": [choice], **(beside or {})}, event)


def _frame(whole: Completion, kind: str) -> JsonObject:
    frame: JsonObject = {"id": whole.id, "object": kind, "created": whole.created, "model": whole.model}
    return {**frame, **as_dict(decoded(whole.vendor.chunks.frame))}


def _send(data: JsonObject, event: str) -> Send:
    return Send(b"data: " + msgspec.json.encode(data) + b"\n\n", event)


def _comment(text: str) -> Send:
    return Send(f": {text}\n\n".encode())


def usage_of(answer: ModelAnswer, prompt: int, cached: int, format_: UsageFormat) -> JsonObject:
    """The `usage` of an answer in this vendor's format. A scenario's numbers replace the counted ones."""
    given = answer.usage
    prompt, cached = given.get("input_tokens", prompt), given.get("cache_read_input_tokens", cached)
    output = given.get("output_tokens", answer.output_tokens)
    reasoning = given.get("thinking_tokens", answer.thinking_tokens)
    usage: JsonObject = {
        "prompt_tokens": prompt,
        "completion_tokens": output - (reasoning if format_.reasoning == "beside" else 0),
        "total_tokens": prompt + output,
    }
    if format_.cached in ("details", "hit-miss"):
        usage["prompt_tokens_details"] = {"cached_tokens": cached}
    if format_.cached == "hit-miss":
        usage["prompt_cache_hit_tokens"] = cached
        usage["prompt_cache_miss_tokens"] = prompt - cached
    if format_.cached == "top":
        usage["cached_tokens"] = cached
    if format_.reasoning in ("details", "beside"):
        usage["completion_tokens_details"] = {"reasoning_tokens": reasoning}
    if format_.reasoning == "top":
        usage["reasoning_tokens"] = reasoning
    return {**usage, **decoded(format_.extra)}

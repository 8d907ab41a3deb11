"""Streams of the Responses API, written as backends write them."""

from __future__ import annotations

import json
from typing import Any

from clew.dialects.openai_responses.options import ResponsesOptions
from clew.dialects.openai_responses.streams import ResponsesStreamReader
from clew.dialects.shape import AnswerContext
from clew.model.assemble import assemble
from clew.model.events import Event
from clew.model.lifecycle import STRICT, Lifecycle

Json = dict[str, Any]

USAGE: Json = {
    "input_tokens": 10,
    "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 1},
    "output_tokens": 7,
    "output_tokens_details": {"reasoning_tokens": 3},
    "total_tokens": 17,
}


def event(kind: str, **members: Any) -> Json:
    return {"type": kind, **members}


def created(**more: Any) -> Json:
    return event("response.created", response={"id": "resp_b", "status": "in_progress", "output": [], **more})


def added(index: int, item: Json) -> Json:
    return event("response.output_item.added", output_index=index, item=item)


def done(index: int, item: Json) -> Json:
    return event("response.output_item.done", output_index=index, item=item)


def ended(kind: str = "completed", **more: Any) -> Json:
    response = {"id": "resp_b", "status": kind, "output": [], "usage": USAGE, **more}
    return event(f"response.{kind}", response=response)


def reasoning(name: str = "rs_1", *texts: str, blob: str | None = "BLOB", **more: Any) -> Json:
    summary = [{"type": "summary_text", "text": text} for text in texts]
    return {"id": name, "type": "reasoning", "summary": summary, "encrypted_content": blob, **more}


def message(text: str, name: str = "msg_1", **more: Any) -> Json:
    content = [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}] if text else []
    return {"id": name, "type": "message", "role": "assistant", "status": "completed", "content": content, **more}


def call(arguments: str, name: str = "f", call_id: str = "call_1", **more: Any) -> Json:
    head = {"id": f"fc_{call_id}", "type": "function_call", "call_id": call_id, "name": name}
    return {**head, "arguments": arguments, "status": "completed", **more}


def text_deltas(index: int, *texts: str, part: int = 0) -> list[Json]:
    kind = "response.output_text.delta"
    return [event(kind, output_index=index, item_id="msg_1", content_index=part, delta=text) for text in texts]


def thought_deltas(index: int, *texts: str, part: int = 0) -> list[Json]:
    kind = "response.reasoning_summary_text.delta"
    return [event(kind, output_index=index, item_id="rs_1", summary_index=part, delta=text) for text in texts]


def argument_deltas(index: int, *texts: str) -> list[Json]:
    kind = "response.function_call_arguments.delta"
    return [event(kind, output_index=index, item_id="fc_1", delta=text) for text in texts]


def stream(*events: Json | list[Json], done_mark: bool = False) -> bytes:
    """The bytes, events numbered."""
    flat = [each for given in events for each in (given if isinstance(given, list) else [given])]
    numbered = [{**each, "sequence_number": number} for number, each in enumerate(flat)]
    told = b"".join(b"event: %b\ndata: %b\n\n" % (e["type"].encode(), json.dumps(e).encode()) for e in numbered)
    return told + b"data: [DONE]\n\n" * done_mark


CONTEXT = AnswerContext(model="m", message_id="msg_x", input_tokens=5)


def read(*pieces: bytes, context: AnswerContext = CONTEXT, **options: Any) -> list[Event]:
    """The events, each held to the strict grammar on the way."""
    reader = ResponsesStreamReader(context, ResponsesOptions(**options))
    events = list(reader.begin())
    for piece in pieces:
        events += reader.feed(piece)
    events += reader.flush()
    lifecycle = Lifecycle(STRICT)
    for each in events:
        lifecycle.accept(each)
    return events


def message_of(*events: Json | list[Json], context: AnswerContext = CONTEXT, **options: Any) -> Json:
    """The canonical message that these events tell."""
    found: Any = assemble(read(stream(*events), context=context, **options))
    return found


def blocks_of(*events: Json | list[Json], **options: Any) -> list[Json]:
    """Its blocks, with the payloads of thoughts read."""
    blocks: list[Json] = []
    for block in message_of(*events, **options)["content"]:
        signature = block.get("signature", "")
        blocks.append({**block, "signature": json.loads(signature)} if signature.startswith("{") else block)
    return blocks

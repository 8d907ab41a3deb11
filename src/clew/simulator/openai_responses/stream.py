"""An answer as a stream of events: each with its type and its number, the items in between, exactly one end."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Final, TypeAlias

import msgspec

from clew.model.json import JsonObject, JsonValue
from clew.simulator.openai_responses.items import OutputItem
from clew.simulator.openai_responses.response import WholeResponse
from clew.simulator.openai_responses.vendors import StreamFormat
from clew.simulator.script import Pause, SendEvent, SendPings
from clew.simulator.steps import Send, Silence, Step
from clew.simulator.values import as_dict, as_list, as_str

Written: TypeAlias = tuple[str, JsonObject]
KEEPALIVE: Final = "keepalive"
_DONE: Final = Send(b"data: [DONE]\n\n", "done")
_OBFUSCATION: Final = 16


def events(whole: WholeResponse) -> Iterator[Step]:
    """The steps that send an answer as a stream."""
    format_ = whole.case.vendor.stream
    number = 0
    for step in _steps(whole):
        match step:
            case Pause(seconds):
                yield Silence(seconds)
            case SendEvent(name, data):
                yield Send(f"event: {name}\ndata: {data}\n\n".encode(), name)
            case (type_, value):
                yield event(type_, _own_ids(type_, _obfuscated(whole, type_, value), number, format_), number, format_)
                number += 1
            case Silence():
                yield step
    if format_.done:
        yield _DONE


def event(type_: str, value: JsonObject, number: int, format_: StreamFormat) -> Send:
    """An event as the bytes of a stream."""
    data = msgspec.json.encode({"type": type_, "sequence_number": number, **value})
    name = f"event: {type_}\n".encode() if format_.names else b""
    return Send(name + b"data: " + data + b"\n\n", type_)


def _steps(whole: WholeResponse) -> Iterator[Written | Pause | Silence | SendEvent]:
    yield "response.created", {"response": whole.begun()}
    yield "response.in_progress", {"response": whole.begun()}
    index = 0
    for step in whole.steps:
        match step:
            case OutputItem():
                place: JsonObject = {"output_index": index}
                yield "response.output_item.added", {**place, "item": step.start}
                for each in step.events:
                    yield each.type, {"item_id": step.item["id"], **place, **each.value}
                yield "response.output_item.done", {**place, "item": step.item}
                index += 1
            case SendPings(times, every):
                for _ in range(times):
                    yield KEEPALIVE, {}
                    yield Silence(every)
            case Pause() | SendEvent():
                yield step
    yield f"response.{whole.status}", {"response": whole.ended()}


def _obfuscated(whole: WholeResponse, type_: str, value: JsonObject) -> JsonObject:
    """Deltas are padded, unless the client does not want it, so that their lengths say nothing."""
    asked = as_dict(whole.case.body.get("stream_options")).get("include_obfuscation") is not False
    if not (type_.endswith(".delta") and whole.case.vendor.stream.obfuscates and asked):
        return value
    delta = as_str(value.get("delta"))
    return {**value, "obfuscation": hashlib.sha256(delta.encode()).hexdigest()[: _OBFUSCATION - len(delta) % _OBFUSCATION]}


def _own_ids(type_: str, value: JsonObject, number: int, format_: StreamFormat) -> JsonObject:
    """The ids of items as this vendor has them in its events."""
    if format_.ids == "rotating" and type_ != "response.output_item.done":
        return _renamed(value, str(number))
    if format_.ids == "final" and "response" in value:
        return _renamed(value, "final")
    return value


def _renamed(value: JsonObject, salt: str) -> JsonObject:
    """An event with other ids of its items, of the same kind."""

    def other(id_: JsonValue) -> JsonValue:
        prefix, _, rest = as_str(id_).partition("_")
        return f"{prefix}_{hashlib.sha256(f'{salt} {rest}'.encode()).hexdigest()[:24]}"

    changed = dict(value)
    if "item_id" in value:
        changed["item_id"] = other(value["item_id"])
    if isinstance(item := value.get("item"), dict):
        changed["item"] = {**item, "id": other(item.get("id"))}
    if isinstance(response := value.get("response"), dict):
        output = [{**as_dict(item), "id": other(as_dict(item).get("id"))} for item in as_list(response.get("output"))]
        changed["response"] = {**response, "output": [*output]}
    return changed

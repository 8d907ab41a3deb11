"""An answer as a stream of events: each with its type and its number, the items in between, exactly one end.

An error inside a stream is an `error` event in one of two shapes, then the end. An error on demand continues the stream that
it breaks: it has the next number, and `response.failed` repeats the response that began.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Final, TypeAlias, cast

import msgspec

from clew.model.json import JsonObject, JsonValue
from clew.simulator.error_shapes import ShapedErrors
from clew.simulator.interfaces import VendorRefusal
from clew.simulator.openai_responses.items import OutputItem
from clew.simulator.openai_responses.judge.case import RESPONSES_RULES
from clew.simulator.openai_responses.response import WholeResponse
from clew.simulator.openai_responses.vendors import ResponsesVendor, StreamFormat
from clew.simulator.script import Pause, SendEvent, SendPings
from clew.simulator.steps import Send, Silence, Step, Steps
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


_CODES: Final = {
    "overloaded_error": "server_is_overloaded",
    "rate_limit_error": "rate_limit_exceeded",
    "api_error": "server_error",
}
"""Types of errors of the Messages API, which scenarios use, as codes."""
_STATUSES: Final = {
    "insufficient_quota": 429,
    "context_length_exceeded": 400,
    "invalid_prompt": 400,
    "rate_limit_exceeded": 429,
    "server_is_overloaded": 503,
    "slow_down": 503,
}


class ResponsesErrors(ShapedErrors):
    """Writes errors as one vendor does."""

    def __init__(self, vendor: ResponsesVendor) -> None:
        super().__init__(RESPONSES_RULES, vendor)
        self._vendor = vendor

    @property
    def ping(self) -> bytes:
        return event(KEEPALIVE, {}, 0, self._vendor.stream).data

    def event(self, fault: str, message: str, form: str = "", before: Steps = ()) -> bytes:
        """A fault on demand, inside a stream that began with 200. Its type is the error's code."""
        row = self.fault("", message, self.status(fault))
        code = _CODES.get(fault, fault) or row.code
        known = next((rule for rule in RESPONSES_RULES.rules.values() if rule.code == code), None)
        text = message or (known.text if known else row.message)
        error: JsonObject = {"type": known.type if known else row.type, "code": code, "message": text, "param": None}
        numbered = [step for step in before if isinstance(step, Send) and step.event]
        last = as_dict(_data(numbered[-1])).get("sequence_number") if numbered else None
        number = last + 1 if isinstance(last, int) else 0
        return b"".join(step.data for step in self._events(error, _begun(before), number, form))

    def status(self, fault: str) -> int:
        return _STATUSES.get(_CODES.get(fault, fault)) or super().status(fault)

    def refusal_events(self, refusal: VendorRefusal, begun: JsonObject) -> Iterator[Send]:
        """A refusal inside a stream: the response begins, and fails."""
        error: JsonObject = {
            "type": refusal.error_type,
            "code": refusal.code or None,
            "message": refusal.message,
            "param": refusal.param or None,
        }
        yield event("response.created", {"response": begun}, 0, self._vendor.stream)
        yield event("response.in_progress", {"response": begun}, 1, self._vendor.stream)
        yield from self._events(error, begun, 2, "")

    def _events(self, error: JsonObject, begun: JsonObject, number: int, form: str) -> Iterator[Send]:
        """`form` "nested" or "flat" is an error event with the error inside it or beside it, and then `response.failed`;
        "failed" is `response.failed` alone; "" is the vendor's own form."""
        format_ = self._vendor.stream
        shape = form or format_.error
        if shape != "failed":
            yield event("error", {"error": error} if shape == "nested" else error | {"type": "error"}, number, format_)
            number += 1
        if shape == "failed" or (format_.fails and begun):
            told: JsonObject = {"code": error["code"], "message": error["message"]}
            failed: JsonObject = {**begun, "status": "failed", "error": told}
            yield event("response.failed", {"response": failed}, number, format_)


def _begun(before: Steps) -> JsonObject:
    """The response of the stream so far, as it began."""
    for step in before:
        if isinstance(step, Send) and step.event == "response.created":
            return as_dict(as_dict(_data(step)).get("response"))
    return {}


def _data(step: Send) -> JsonObject:
    try:
        value = msgspec.json.decode(step.data.partition(b"data: ")[2])
    except msgspec.DecodeError:
        return {}
    return cast(JsonObject, value) if isinstance(value, dict) else {}

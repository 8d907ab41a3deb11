"""How a vendor that speaks Responses writes errors inside a stream: an `error` event in one of two shapes, then the end.

An error on demand continues the stream that it breaks: it has the next number, and `response.failed` repeats the response
that began.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, cast

import msgspec

from clew.model.json import JsonObject
from clew.simulator.error_shapes import ShapedErrors
from clew.simulator.interfaces import VendorRefusal
from clew.simulator.openai_responses.judge.case import RESPONSES_RULES
from clew.simulator.openai_responses.stream import KEEPALIVE, event
from clew.simulator.openai_responses.vendors import ResponsesVendor
from clew.simulator.steps import Send, Steps
from clew.simulator.values import as_dict

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

"""The body as JSON (R4, R63): what is read, and what stands in the way of reading it."""

from __future__ import annotations

from clew.errors import BodyTooLarge, RequestInvalid
from clew.model.json import JsonValue
from clew.simulator.judge.findings import Finding
from clew.wire.strict_json import JsonFault, decode_json, find_fault

__all__ = ["read_document"]

_SURROGATE = "lone surrogate in string"


def read_document(raw: bytes) -> JsonValue | Finding:
    """The value, or why there is none. A lone surrogate is a matter of the schema (R63), all else of the grammar."""
    if not raw:
        return Finding("R4.body-empty")
    try:
        return decode_json(raw)
    except BodyTooLarge:
        return _not_json(JsonFault("recursion limit exceeded", 0, 1, 1))
    except RequestInvalid:
        fault = find_fault(raw)
        return Finding("R63.lone-surrogate") if fault.reason == _SURROGATE else _not_json(fault)


def _not_json(fault: JsonFault) -> Finding:
    return Finding("R4.body-not-json", names=fault._asdict())

"""`GET /models`: what the vendor lists, in the shape that all of them share."""

from __future__ import annotations

from collections.abc import Mapping

from clew.model.json import JsonObject, JsonValue
from clew.simulator.chat.vendors import Vendor

__all__ = ["listing", "row_of"]


def listing(vendor: Vendor, kind: str) -> JsonObject:
    """All models."""
    return {"object": "list", "data": [_row(name, vendor, kind) for name in vendor.listed]}


def row_of(name: str, vendor: Vendor, kind: str) -> JsonObject | None:
    """One model; None if there is none."""
    return _row(name, vendor, kind) if vendor.traits_of(name) else None


def _row(name: str, vendor: Vendor, kind: str) -> JsonObject:
    traits = vendor.traits_of(name) or vendor.traits
    row: JsonObject = {"id": name, "object": "model", "created": 0, "owned_by": kind}
    told: dict[str, JsonValue] = {"$id": name, "$context": traits.context}
    return row | {key: _filled(value, told) for key, value in vendor.lists.items()}


def _filled(value: JsonValue, told: Mapping[str, JsonValue]) -> JsonValue:
    if isinstance(value, dict):
        return {key: _filled(each, told) for key, each in value.items()}
    return told.get(value, value) if isinstance(value, str) else value

"""`GET /models`: what the vendor lists, in the shape that all of them share."""

from __future__ import annotations

from clew.model.json import JsonObject
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
    if vendor.envelope == "openrouter":
        row |= {"name": name, "context_length": traits.context, "supported_parameters": ["reasoning", "tools"]}
    elif vendor.envelope == "vllm":
        row["max_model_len"] = traits.context
    elif vendor.envelope == "llamacpp":
        row["meta"] = {"n_ctx_train": traits.context}
    return row

"""Which vendors are simulated: rows of `vendors.toml`, whose head explains the fields. A model may have other traits."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from clew.model.json import JsonObject
from clew.simulator.openai_vendor import ModelPattern, traits_for
from clew.simulator.rule_book import OpenaiVendor

BlobShape: TypeAlias = Literal["fernet", "base64", "prefixed", "plain", "none"]
"""How encrypted content looks."""

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""All values of `reasoning.effort`, in the vendor's order."""


class StreamFormat(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a vendor writes its stream."""

    names: bool = True
    done: bool = False
    obfuscates: bool = False
    text_parts: bool = True
    call_deltas: bool = True
    ids: Literal["stable", "rotating", "final"] = "stable"
    error: Literal["nested", "flat"] = "nested"
    fails: bool = True
    overflow: bool = False


class ResponsesTraits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What can differ between the models of a vendor."""

    thinks: Literal["always", "on", "never"] = "on"
    efforts: tuple[str, ...] = EFFORTS
    summary: Literal["asked", "always", "never"] = "asked"
    summaries: tuple[str, ...] = ("concise", "detailed", "auto")
    titles: bool = False
    text: bool = False
    blob: BlobShape = "fernet"
    blob_if: Literal["always", "included"] = "always"
    format: str = ""
    signs: bool = False
    needs: Literal["nothing", "text"] = "nothing"
    reads: Literal["all_turns", "current_turn"] = "current_turn"
    phases: bool = False
    refuses: tuple[str, ...] = ()
    context: int = 200_000
    max_output: int = 0
    maker: str = ""


class ResponsesVendor(OpenaiVendor, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A vendor that speaks Responses: a row of `vendors.toml`."""

    params: bool = True
    models: tuple[ModelPattern, ...] = (ModelPattern(names=("*",)),)
    traits: ResponsesTraits = ResponsesTraits()
    items: tuple[str, ...] = ()
    item_fields: tuple[str, ...] = ()
    stores: bool = True
    serves: tuple[str, ...] = ()
    stream: StreamFormat = StreamFormat()
    unit: int = 128

    def traits_of(self, model: str) -> ResponsesTraits | None:
        """The traits of the model with this name; None if there is none."""
        return traits_for(model, self.models, self.traits)


@cache
def responses_vendors() -> dict[str, ResponsesVendor]:
    """All vendors that speak Responses, by name."""
    text = resources.files(__package__ or "").joinpath("vendors.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), dict[str, ResponsesVendor])


def model_list(vendor: ResponsesVendor, kind: str) -> JsonObject:
    """All models that the vendor lists."""
    return {"object": "list", "data": [model_row(name, kind) for name in vendor.listed]}


def model_row(name: str, kind: str) -> JsonObject:
    """A model, as the vendor lists it."""
    return {"id": name, "object": "model", "created": 0, "owned_by": kind}

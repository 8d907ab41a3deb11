"""Who is simulated: rows of `vendors.toml`. The table's head explains the fields; a model may differ from its vendor."""

from __future__ import annotations

import tomllib
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct, structs

from clew.model.json import JsonObject, JsonValue
from clew.simulator.ids import ToolIds

__all__ = ["Chunks", "Given", "Model", "Numbers", "Traits", "Vendor", "chat_vendors", "decoded"]

Form: TypeAlias = Literal["reasoning_content", "reasoning", "details", "chunks", "tags", "hidden"]
Makes: TypeAlias = Literal["text", "claude", "openai", "xai", "gemini", "minimax"]
Needs: TypeAlias = Literal["nothing", "key", "text", "absence", "details", "signature"]
Envelope: TypeAlias = Literal[
    "openai", "short", "openrouter", "xai", "mistral", "minimax", "vllm", "llamacpp", "google", "flat", "object", "zai"
]


class Chunks(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The small ways of a vendor's stream. Deltas are JSON texts, since TOML has no null."""

    first: str = '{"role":"assistant","content":""}'
    beside_reasoning: str = "{}"
    beside_content: str = "{}"
    beside_calls: str = "{}"
    last: str = "{}"
    finish: Literal["null", "absent"] = "null"
    calls: Literal["pieces", "whole"] = "pieces"
    pieces_if: str = ""
    again: str = "{}"
    preface: str = ""
    twice: str = ""
    indices: bool = True
    usage: Literal["asked", "own", "finish"] = "asked"
    frame: str = "{}"
    choice: str = "{}"
    comment: str = ""


class Numbers(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the usage is spelt."""

    reasoning: Literal["details", "beside", "top", "none"] = "details"
    cached: Literal["details", "hit-miss", "top", "none"] = "details"
    unit: int = 128
    extra: str = "{}"


class Given(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A refusal in the vendor's own words: what differs from the book's row."""

    text: str | None = None
    status: int | None = None
    type: str | None = None
    code: str | None = None
    verified: bool = True


class Traits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What may differ from model to model."""

    thinks: Literal["always", "on", "off", "never"] = "on"
    shows: Form = "reasoning_content"
    mirrors: tuple[str, ...] = ()
    makes: Makes = "text"
    needs: Needs = "nothing"
    signs: bool = False
    takes: tuple[str, ...] = ("reasoning_content",)
    back: str = ""
    earlier_if: str = ""
    shows_if: dict[str, Form] = {}
    tag: str = "think"
    cumulative: bool = False
    switches: tuple[str, ...] = ()
    thinking: tuple[str, ...] = ("enabled", "disabled")
    thinking_fields: tuple[str, ...] = ()
    efforts: tuple[str, ...] = ()
    refuses: dict[str, str] = {}
    pinned: dict[str, float] = {}
    forced_tools: Literal["always", "not_named", "not_thinking"] = "always"
    budget: int = 0
    vision: bool = True
    context: int = 200_000
    max_output: int = 0
    maker: str = ""


class Model(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Models whose names fit a pattern, and what the vendor's traits are for them."""

    names: tuple[str, ...]
    traits: dict[str, object] = {}


class Vendor(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One vendor."""

    about: str
    source: str
    date: str
    reference: bool = False
    envelope: Envelope = "openai"
    open: bool = False
    key_header: str = "authorization"
    listed: tuple[str, ...]
    lists: dict[str, JsonValue] = {}
    models: tuple[Model, ...] = (Model(names=("*",)),)
    traits: Traits = Traits()
    fields: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    message_fields: tuple[str, ...] = ()
    call_fields: tuple[str, ...] = ()
    part_fields: tuple[str, ...] = ()
    parts: dict[str, tuple[str, ...]] = {}
    roles: tuple[str, ...] = ("system", "user", "assistant", "tool")
    stops: int = 4
    without: tuple[str, ...] = ()
    special: tuple[str, ...] = ()
    words: dict[str, Given] = {}
    tool_ids: ToolIds = "call"
    completion_id: str = "chatcmpl-"
    chunks: Chunks = Chunks()
    numbers: Numbers = Numbers()
    extra: str = "{}"
    finishes: dict[str, str] = {}

    def traits_of(self, model: str) -> Traits | None:
        """What is true of the model with that name; None if there is none. The first pattern that fits counts."""
        for row in self.models:
            if any(fnmatchcase(model, pattern) for pattern in row.names):
                return _merged(self.traits, row.traits)
        return None


@cache
def chat_vendors() -> dict[str, Vendor]:
    """All rows by name."""
    text = resources.files(__package__ or "").joinpath("vendors.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), dict[str, Vendor])


@cache
def decoded(text: str) -> JsonObject:
    """The object that a row gives as JSON. Readers must not change it."""
    return msgspec.json.decode(text, type=JsonObject)


def _merged(traits: Traits, changes: dict[str, object]) -> Traits:
    return msgspec.convert({**structs.asdict(traits), **changes}, Traits) if changes else traits

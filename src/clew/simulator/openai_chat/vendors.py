"""Which vendors are simulated: rows of `vendors.toml`, whose head explains the fields. A model may differ from its vendor.

`model_list` and `model_row` are what `GET /models` answers, in the shape that all vendors share.

A server without a parser for its tool calls leaves them in the content, as the model itself writes them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import Struct

from clew.model.json import JsonObject, JsonValue
from clew.simulator.identity import ToolIds
from clew.simulator.openai_vendor import ModelPattern, traits_for
from clew.simulator.rule_book import OpenaiVendor

Form: TypeAlias = Literal["reasoning_content", "reasoning", "details", "chunks", "tags", "hidden"]
Makes: TypeAlias = Literal["text", "claude", "openai", "xai", "gemini", "minimax"]
Needs: TypeAlias = Literal["nothing", "key", "text", "absence", "details", "signature"]


class ChunkFormat(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a vendor writes its stream. Deltas are JSON texts, since TOML has no null."""

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


class UsageFormat(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which fields a vendor's usage has."""

    reasoning: Literal["details", "beside", "top", "none"] = "details"
    cached: Literal["details", "hit-miss", "top", "none"] = "details"
    unit: int = 128
    extra: str = "{}"


class Traits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What can differ between the models of a vendor."""

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
    instead: dict[str, str] = {}
    pinned: dict[str, float] = {}
    forced_tools: Literal["always", "not_named", "not_thinking"] = "always"
    budget: int = 0
    vision: bool = True
    context: int = 200_000
    max_output: int = 0
    maker: str = ""
    writes_calls: WrittenForm = ""


class ChatVendor(OpenaiVendor, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A vendor that speaks Chat Completions: a row of `vendors.toml`."""

    lists: Mapping[str, JsonValue] = {}
    models: tuple[ModelPattern, ...] = (ModelPattern(names=("*",)),)
    traits: Traits = Traits()
    lacks: tuple[str, ...] = ()
    message_fields: tuple[str, ...] = ()
    call_fields: tuple[str, ...] = ()
    part_fields: tuple[str, ...] = ()
    parts: Mapping[str, tuple[str, ...]] = {}
    roles: tuple[str, ...] = ("system", "user", "assistant", "tool")
    stops: int = 4
    tool_ids: ToolIds = "call"
    completion_id: str = "chatcmpl-"
    chunks: ChunkFormat = ChunkFormat()
    numbers: UsageFormat = UsageFormat()
    finishes: Mapping[str, str] = {}

    def traits_of(self, model: str) -> Traits | None:
        """The traits of the model with this name; None if there is none."""
        return traits_for(model, self.models, self.traits)


@cache
def chat_vendors() -> dict[str, ChatVendor]:
    """All vendors that speak Chat Completions, by name."""
    text = resources.files(__package__ or "").joinpath("vendors.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), dict[str, ChatVendor])


@cache
def decoded(text: str) -> JsonObject:
    """The object that a row has as a JSON text. It is shared, so it must not be changed."""
    return msgspec.json.decode(text, type=JsonObject)


def model_list(vendor: ChatVendor, kind: str) -> JsonObject:
    """All models that the vendor lists."""
    return {"object": "list", "data": [model_row(name, vendor, kind) for name in vendor.listed]}


def model_row(name: str, vendor: ChatVendor, kind: str) -> JsonObject:
    """One model. `$id` and `$context` in the vendor's row stand for values of the model."""
    traits = vendor.traits_of(name) or vendor.traits
    row: JsonObject = {"id": name, "object": "model", "created": 0, "owned_by": kind}
    values: dict[str, JsonValue] = {"$id": name, "$context": traits.context}
    return row | {key: _filled(value, values) for key, value in vendor.lists.items()}


def _filled(value: JsonValue, values: Mapping[str, JsonValue]) -> JsonValue:
    if isinstance(value, dict):
        return {key: _filled(each, values) for key, each in value.items()}
    return values.get(value, value) if isinstance(value, str) else value


TextForm: TypeAlias = Literal["hermes", "qwen-coder", "glm", "grok", "gpt-oss"]
WrittenForm: TypeAlias = TextForm | Literal[""]
"""The form in which calls are written; "": they are calls."""
_PIECE: Final = 5


def written_call(form: TextForm, name: str, arguments: str) -> str:
    """The call as text. The arguments are a JSON object."""
    given = msgspec.json.decode(arguments, type=dict[str, JsonValue])
    # Strings as they are, other values as JSON: so the templates of these models write them.
    texts = {key: value if isinstance(value, str) else msgspec.json.encode(value).decode() for key, value in given.items()}
    match form:
        case "hermes":
            return f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'
        case "gpt-oss":
            return f"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{arguments}<|call|>"
        case "qwen-coder":
            members = "".join(f"<parameter={key}>\n{text}\n</parameter>\n" for key, text in texts.items())
            return f"<tool_call>\n<function={name}>\n{members}</function>\n</tool_call>"
        case "glm":
            members = "".join(f"<arg_key>{key}</arg_key>\n<arg_value>{text}</arg_value>\n" for key, text in texts.items())
            return f"<tool_call>{name}\n{members}</tool_call>"
        case "grok":
            members = "".join(f'<xai:parameter name="{key}">{text}</xai:parameter>\n' for key, text in texts.items())
            return f'<xai:function_call name="{name}">\n{members}</xai:function_call>'


def in_tokens(text: str) -> list[JsonObject]:
    """The text as deltas of a few characters, so that tags are cut."""
    return [{"content": text[at : at + _PIECE]} for at in range(0, len(text), _PIECE)]

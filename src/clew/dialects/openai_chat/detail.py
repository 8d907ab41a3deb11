"""What a request of Chat Completions says that the canonical request has no place for: its `native.detail`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Raw, Struct

from clew.dialects.openai.fields import renamed_path
from clew.model.request import NativeRequest


class ChatDetail(Struct, frozen=True, kw_only=True, eq=False):
    """What one request says beyond its canonical form."""

    include_usage: bool = True
    """The client wants to be told what a streamed answer cost."""
    has_functions: bool = False
    """Its tools are the older `functions`: a call is given back as `function_call`."""
    custom_tools: frozenset[str] = frozenset()
    """Names of tools that take one text."""
    places: Sequence[Sequence[int]] = ()
    """By the index of a canonical message: that of the client's message; of each, where several results are one message."""
    schema_names: Mapping[str, Raw] = {}
    """The name and the description of the schema that the answer must fit."""
    fields: Mapping[str, Raw] = {}
    """The fields that the canonical request has no place for, as the client wrote them."""


_BLOCK: Final = re.compile(r"messages\.(\d+)(?:\.content\.(\d+))?")
_FIELDS: Final = {
    "stop_sequences": "stop",
    "output_config.format.schema": "response_format.json_schema.schema",
    "output_config.format": "response_format",
    "output_config.effort": "reasoning_effort",
    "tool_choice.disable_parallel_tool_use": "parallel_tool_calls",
}


def client_path(native: NativeRequest, path: str) -> str:
    """Where in the client's own request a place of the canonical one stands, for changes that people read."""
    found, places = _BLOCK.match(path), chat_detail(native).places
    if found is None:
        return renamed_path(path, _FIELDS)
    if int(found[1]) >= len(places):
        return path
    own = places[int(found[1])]
    return f"messages.{own[min(int(found[2] or 0), len(own) - 1)]}"


def chat_detail(native: NativeRequest | None) -> ChatDetail:
    """The detail of a client's request; the usual one where there is none."""
    detail = native.detail if native is not None else None
    return detail if isinstance(detail, ChatDetail) else ChatDetail()

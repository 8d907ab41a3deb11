"""What a request of Chat Completions says that the canonical request has no place for: its `native.detail`."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Raw, Struct

from clew.model.request import NativeRequest


class ChatDetail(Struct, frozen=True, kw_only=True, eq=False):
    """What one request says beyond its canonical form."""

    include_usage: bool = True
    """The client wants to be told what a streamed answer cost."""
    has_functions: bool = False
    """Its tools are the older `functions`: a call is given back as `function_call`."""
    custom_tools: frozenset[str] = frozenset()
    """Names of tools that take one text."""
    fields: Mapping[str, Raw] = {}
    """The fields that the canonical request has no place for, as the client wrote them."""


def chat_detail(native: NativeRequest | None) -> ChatDetail:
    """The detail of a client's request; the usual one where there is none."""
    detail = native.detail if native is not None else None
    return detail if isinstance(detail, ChatDetail) else ChatDetail()

"""How many tokens a request has: asked of a backend, and told to a client."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Raw

from clew.dialects.failures.reading import failure_in
from clew.dialects.openai_responses.options import ResponsesOptions
from clew.dialects.openai_responses.requests import write_request
from clew.dialects.shape import WrittenRequest
from clew.model.events import StreamFailed
from clew.model.json import JsonObject, read_object
from clew.model.request import Request

_COUNTED: Final = frozenset(
    {"model", "input", "instructions", "tools", "tool_choice", "reasoning", "text", "truncation", "parallel_tool_calls"}
)
"""The fields of a request whose tokens are counted. The others are about the answer."""
_fields: Final = msgspec.json.Decoder(dict[str, Raw])


def counts_tokens(options: ResponsesOptions) -> bool:
    return options.counts_tokens


def write_count_request(request: Request, options: ResponsesOptions) -> WrittenRequest:
    """As `write_request`, with nothing about the answer. Raises the same."""
    body, changes = write_request(request, options)
    counted = {name: value for name, value in _fields.decode(body).items() if name in _COUNTED}
    return WrittenRequest(msgspec.json.encode(counted), changes)


def read_count(raw: bytes) -> JsonObject | StreamFailed | None:
    """The count in canonical words; the failure that the body reports; None if it is neither."""
    counted = read_object(raw)
    if counted is None:
        return None
    if isinstance(tokens := counted.get("input_tokens"), int):
        return {"input_tokens": tokens}
    failure = failure_in(counted)
    return failure.event() if failure else None


def write_count(tokens: int) -> bytes:
    return b'{"object":"response.input_tokens","input_tokens":%d}' % tokens

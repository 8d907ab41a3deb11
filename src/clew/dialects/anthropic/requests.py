"""Requests of the Messages API: the canonical request document has their shape, so a client's bytes are edited in place."""

from __future__ import annotations

from clew.dialects.anthropic.options import AnthropicOptions
from clew.dialects.shape import ClientHeaders, WrittenRequest
from clew.model.request import Request, Wanted
from clew.wire.requests import encode, parse


def read_request(raw: bytes, headers: ClientHeaders, wanted: Wanted) -> Request:
    return parse(raw, betas=betas_in(headers), wanted=wanted)


def betas_in(headers: ClientHeaders) -> tuple[str, ...]:
    """The beta features that a client asks for."""
    words = headers.get("anthropic-beta", "").split(",")
    return tuple(word for each in words if (word := each.strip()))


def write_request(request: Request, options: AnthropicOptions) -> WrittenRequest:
    return WrittenRequest(encode(request))

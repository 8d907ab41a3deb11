"""Requests of the Messages API, with their paths and headers.

The canonical request document has the shape of these requests, so a client's bytes are edited in place.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from msgspec import UNSET, Struct

from clew.dialects.headers import request_headers as passed_headers
from clew.dialects.headers import response_headers as told_headers
from clew.dialects.shape import BackendFacts, BackendHeaders, ClientHeaders, ClientSession, Operation, WrittenRequest
from clew.model.request import Request, Wanted
from clew.wire.requests import encode, parse

# Where a backend that speaks the Messages API deviates from Anthropic's own.


class AnthropicOptions(Struct, frozen=True, kw_only=True):
    """Filled in by a backend's row."""

    is_first_party: bool = True
    """It is one of Anthropic's hosts: its errors are passed on as they came."""
    betas: bool = True
    """It takes the header `anthropic-beta`."""
    overlaps: bool = False
    """It leaves blocks open until its answer ends."""


def options_of(facts: BackendFacts) -> AnthropicOptions:
    return AnthropicOptions(is_first_party=facts.is_first_party, betas=facts.betas, overlaps=facts.overlaps)


def read_request(raw: bytes, headers: ClientHeaders, wanted: Wanted) -> Request:
    return parse(raw, betas=betas_in(headers), wanted=wanted)


def betas_in(headers: ClientHeaders) -> tuple[str, ...]:
    """The beta features that a client asks for."""
    return _betas(headers.get("anthropic-beta", ""))


@lru_cache(maxsize=256)
def _betas(listed: str) -> tuple[str, ...]:
    """Several parts of a request's way ask, and a client says the same with every request."""
    return tuple([word for each in listed.split(",") if (word := each.strip())])


def write_request(request: Request, options: AnthropicOptions) -> WrittenRequest:
    return WrittenRequest(encode(request))


def write_count_request(request: Request, options: AnthropicOptions) -> WrittenRequest:
    """Of a client of another dialect, without what is about the answer: its own count has no such fields."""
    if request.source.native is None:
        return write_request(request, options)
    return write_request(request.with_fields(**dict.fromkeys(_NOT_COUNTED, UNSET)), options)


_NOT_COUNTED: Final = ("max_tokens", "stream", "temperature", "top_p", "metadata")

PATHS: Final[dict[Operation, str]] = {"messages": "/v1/messages", "count_tokens": "/v1/messages/count_tokens"}
ROUTES: Final[dict[str, Operation]] = {
    **{path: operation for operation, path in PATHS.items()},
    # The AI SDK takes ANTHROPIC_BASE_URL for the whole of what stands before `/messages`.
    "/messages": "messages",
}

_SESSION = "x-claude-code-session-id"
_AGENT = "x-claude-code-agent-id"
_CLASS = "x-claude-code-request-class"
_BETA = b"anthropic-beta"
_AGENT_NAME = "user-agent"
VERSION: Final = "2023-06-01"
"""Of the API, for clients that name none."""


def session_of(headers: ClientHeaders) -> ClientSession:
    return ClientSession(headers.get(_SESSION, ""), headers.get(_AGENT, ""), headers.get(_CLASS, ""))


def request_headers(headers: ClientHeaders, request: Request, options: AnthropicOptions) -> tuple[tuple[bytes, bytes], ...]:
    """What passes of the client's own; its betas as the projection left them, where the backend takes any. Of a client of
    another dialect only its name passes: all else is about that dialect."""
    if request.source.native is not None:
        headers = {"anthropic-version": VERSION} | ({_AGENT_NAME: name} if (name := headers.get(_AGENT_NAME)) else {})
    passed = passed_headers(headers)
    if options.betas and request.betas == betas_in(headers):
        return passed
    rest = tuple(header for header in passed if header[0] != _BETA)
    betas = ",".join(request.betas) if options.betas else ""
    return (*rest, (_BETA, betas.encode("latin-1", "replace"))) if betas else rest


def response_headers(headers: BackendHeaders, wall: float) -> list[tuple[str, str]]:
    return told_headers(headers)

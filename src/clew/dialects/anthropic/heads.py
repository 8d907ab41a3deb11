"""Paths and headers of the Messages API, in both directions."""

from __future__ import annotations

from typing import Final

from clew.dialects.anthropic.options import AnthropicOptions
from clew.dialects.anthropic.requests import betas_in
from clew.dialects.headers import request_headers as passed_headers
from clew.dialects.headers import response_headers as told_headers
from clew.dialects.shape import BackendHeaders, ClientHeaders, ClientSession, Operation
from clew.model.request import Request

PATHS: Final[dict[Operation, str]] = {"messages": "/v1/messages", "count_tokens": "/v1/messages/count_tokens"}
ROUTES: Final[dict[str, Operation]] = {path: operation for operation, path in PATHS.items()}

_SESSION = "x-claude-code-session-id"
_AGENT = "x-claude-code-agent-id"
_CLASS = "x-claude-code-request-class"
_BETA = b"anthropic-beta"


def session_of(headers: ClientHeaders) -> ClientSession:
    return ClientSession(headers.get(_SESSION, ""), headers.get(_AGENT, ""), headers.get(_CLASS, ""))


def request_headers(headers: ClientHeaders, request: Request, options: AnthropicOptions) -> tuple[tuple[bytes, bytes], ...]:
    """What passes of the client's own; its betas as the projection left them, where the backend takes any."""
    passed = passed_headers(headers)
    if options.betas and request.betas == betas_in(headers):
        return passed
    rest = tuple(header for header in passed if header[0] != _BETA)
    betas = ",".join(request.betas) if options.betas else ""
    return (*rest, (_BETA, betas.encode("latin-1", "replace"))) if betas else rest


def response_headers(headers: BackendHeaders, wall: float) -> list[tuple[str, str]]:
    return told_headers(headers)

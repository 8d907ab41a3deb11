"""Paths, and headers of requests: what clients ask, and what goes to backends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from clew.dialects.openai_chat.options import ChatOptions
from clew.dialects.shape import ClientHeaders, ClientSession, Operation
from clew.model.request import Request

ROUTES: Final[Mapping[str, Operation]] = {"/v1/chat/completions": "messages", "/chat/completions": "messages"}
"""The second for clients whose base URL is meant to end in `/v1`, and does not."""
PATHS: Final[Mapping[Operation, str]] = {"messages": "/chat/completions"}
_SESSIONS: Final = ("x-session-id", "x-session-affinity")
"""What clients call their conversation: opencode, and others after it."""


def session_of(headers: ClientHeaders) -> ClientSession:
    return ClientSession(next((value for name in _SESSIONS if (value := headers.get(name))), ""))


def request_headers(headers: ClientHeaders, request: Request, options: ChatOptions) -> tuple[tuple[bytes, bytes], ...]:
    """None of the client's own: they are about another vendor's versions and betas."""
    return ((b"user-agent", b"clew"),)

"""Paths, and headers of requests: what clients ask, and what goes to backends.

Codex names its conversation by a thread. The threads of its sub-agents are of the same session.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from clew.dialects.openai_responses.options import ResponsesOptions
from clew.dialects.shape import ClientHeaders, ClientSession, Operation
from clew.model.request import Request

_BELOW: Final[Mapping[str, Operation]] = {
    "": "messages",
    "/input_tokens": "count_tokens",
    "/compact": "compact",
    "/*": "stored",
}
ROUTES: Final[Mapping[str, Operation]] = {
    f"{base}{path}": operation for base in ("/v1/responses", "/responses") for path, operation in _BELOW.items()
}
"""The second base is for clients whose base URL is meant to end in `/v1`, and does not."""
PATHS: Final[Mapping[Operation, str]] = {"messages": "/responses", "count_tokens": "/responses/input_tokens"}
_SESSIONS: Final = ("session-id", "x-session-id", "x-session-affinity")
"""What clients call their conversation: Codex; opencode, and others after it."""
_THREAD: Final = "thread-id"
_SUBAGENT: Final = "x-openai-subagent"


def session_of(headers: ClientHeaders) -> ClientSession:
    thread = headers.get(_THREAD, "")
    session = next((value for name in _SESSIONS if (value := headers.get(name))), thread)
    return ClientSession(session, thread if thread != session else "", headers.get(_SUBAGENT, ""))


def request_headers(headers: ClientHeaders, request: Request, options: ResponsesOptions) -> tuple[tuple[bytes, bytes], ...]:
    """None of the client's own: they are about another vendor's versions and betas."""
    return ((b"user-agent", b"clew"),)

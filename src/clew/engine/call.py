"""Call: what a client asks, as the engine gets it. Who asks, and whether it may, is settled before."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from clew.backends.row import Credential
from clew.thinking.recognise import Context

__all__ = ["AGENT", "CLASS", "SESSION", "Call", "Kind"]

Kind: TypeAlias = Literal["messages", "count_tokens"]

SESSION = "x-claude-code-session-id"
AGENT = "x-claude-code-agent-id"
CLASS = "x-claude-code-request-class"

_NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})


class Call:
    """One request of a client. What follows from its head is worked out once, for all calls with that head (`with_body`)."""

    __slots__ = ("betas", "body", "context", "credential", "headers", "kind", "principal", "query", "version")

    def __init__(
        self,
        *,
        kind: Kind = "messages",
        body: bytes,
        query: str = "",
        headers: Mapping[str, str] = _NO_HEADERS,
        principal: str = "local",
        credential: Credential = (),
    ) -> None:
        """`headers`: lower case, repeated ones joined. `credential`: the client's own `x-api-key` and `authorization`, for
        backends that take them."""
        self.kind: Kind = kind
        self.body = body
        self.query = query
        self.headers = headers
        self.principal = principal
        self.credential = credential
        self.context = Context(principal=principal, session=headers.get(SESSION, ""), agent=headers.get(AGENT, ""))
        words = headers.get("anthropic-beta", "").split(",")
        self.betas = tuple(word for each in words if (word := each.strip()))
        self.version = headers.get("anthropic-version", "2023-06-01")

    def with_body(self, body: bytes) -> Call:
        """The same head, another body."""
        made = Call.__new__(Call)
        made.kind, made.query, made.headers, made.version = self.kind, self.query, self.headers, self.version
        made.principal, made.credential, made.context = self.principal, self.credential, self.context
        made.betas, made.body = self.betas, body
        return made

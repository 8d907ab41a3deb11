"""Call: what a client asks, as the engine gets it. Who asks, and whether it may, is settled before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from clew.backends.row import Credential
from clew.thinking.recognise import Context

__all__ = ["AGENT", "CLASS", "SESSION", "Call", "Kind"]

Kind: TypeAlias = Literal["messages", "count_tokens"]

SESSION = "x-claude-code-session-id"
AGENT = "x-claude-code-agent-id"
CLASS = "x-claude-code-request-class"


class Call(Struct, frozen=True, kw_only=True, eq=False):
    """One request of a client."""

    kind: Kind = "messages"
    body: bytes
    query: str = ""
    headers: Mapping[str, str] = {}
    """Lower case; repeated ones joined."""
    principal: str = "local"
    credential: Credential = ()
    """The client's own `x-api-key` and `authorization`, for backends that take them."""

    @property
    def context(self) -> Context:
        headers = self.headers
        return Context(principal=self.principal, session=headers.get(SESSION, ""), agent=headers.get(AGENT, ""))

    @property
    def betas(self) -> tuple[str, ...]:
        words = self.headers.get("anthropic-beta", "").split(",")
        return tuple(word for each in words if (word := each.strip()))

    @property
    def version(self) -> str:
        return self.headers.get("anthropic-version", "2023-06-01")

"""Call: what a client asks, as the engine gets it. Who asks, and whether it may, is settled before."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from clew.backends.credential import Credential
from clew.dialects import anthropic
from clew.dialects.anthropic.requests import VERSION, betas_in
from clew.dialects.shape import Dialect, Operation
from clew.limits.keys import KeyRights
from clew.model.facts.clients import client_name
from clew.thinking.recognise import Context

Kind: TypeAlias = Literal["messages", "count_tokens"]
"""What a backend is asked for."""

_NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})


class OwnTurn(Struct, frozen=True, kw_only=True, eq=False):
    """The turn that a call is, said by a caller that keeps its own conversation, so that nothing of it has to be guessed."""

    id: str
    """Of the exchange. A turn that the caller kept under it as open is replaced by how it ends."""
    thread: str
    session: str = ""
    agent: str = ""
    follows: str = ""
    """The recording that this request goes on from; "" if it is the first."""
    backend: str = ""
    """Who is asked for this answer alone; "" is the thread's own backend, or whichever is active."""
    asked: tuple[bytes, ...]
    """What is new in it, as it was said."""


class Call:
    """One request of a client."""

    __slots__ = (
        "betas",
        "body",
        "client",
        "context",
        "credential",
        "entry",
        "front",
        "headers",
        "key",
        "kind",
        "method",
        "name",
        "operation",
        "principal",
        "query",
        "rights",
        "team",
        "version",
    )

    def __init__(
        self,
        *,
        kind: Operation = "messages",
        method: str = "POST",
        name: str = "",
        body: bytes,
        query: str = "",
        headers: Mapping[str, str] = _NO_HEADERS,
        principal: str = "local",
        credential: Credential = (),
        key: str = "",
        team: str = "",
        rights: tuple[KeyRights, ...] = (),
        entry: OwnTurn | None = None,
        front: Dialect[Any] = anthropic.DIALECT,
    ) -> None:
        """`kind`: what the client asks for. `name`: at the end of the path, where the route takes one. `headers`: lower
        case, repeated ones joined. `credential`: the client's own `x-api-key` and `authorization`, for backends that take
        them. `key`, `team`, `rights`: the name of the key that it showed, its team, and what it may do. `entry`: of a caller
        that keeps its own conversation. `front`: what the client speaks."""
        self.operation: Operation = kind
        self.kind: Kind = "count_tokens" if kind == "count_tokens" else "messages"
        self.method = method
        self.name = name
        self.body = body
        self.query = query
        self.headers = headers
        self.principal = principal
        self.credential = credential
        self.key = key
        self.team = team
        self.rights = rights
        self.entry = entry
        self.front = front
        client = front.session_of(headers)
        self.client = client
        session, agent = (entry.session, entry.agent) if entry else (client.session, client.agent)
        self.context = Context(principal=principal, session=session, agent=agent)
        self.betas = betas_in(headers)
        self.version = headers.get("anthropic-version", VERSION)

    @property
    def program(self) -> str:
        """The name of the client's program. A caller that keeps its own conversation is clew's chat, or uses the library."""
        return "" if self.entry else client_name(self.headers.get("user-agent", ""))

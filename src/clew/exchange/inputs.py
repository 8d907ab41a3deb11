"""Inputs: the values that an exchange begins with. Whatever had to be looked up for them is looked up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct

from clew.backends.credential import Secret
from clew.backends.row import Backend
from clew.errors import BackendDisabled, BackendUnknown, KeyForbidden
from clew.exchange.backend_dialect import BackendDialect
from clew.exchange.call import Call
from clew.exchange.redact import Redactor
from clew.model.http import Timeouts
from clew.model.origin import Target
from clew.model.recording import Recording, Shelf
from clew.model.request import Request
from clew.model.turn import Kind as ExchangeKind
from clew.pipeline.attempts import Candidate, CoolDowns, RetryPolicy
from clew.pipeline.step import Facts


class ExchangeOptions(Struct, frozen=True, kw_only=True, eq=False):
    """What the operator's settings say about exchanges. One value for each version of the settings."""

    retry: RetryPolicy
    ping_seconds: float
    """How long a client of a stream may hear nothing."""
    first_content_seconds: float
    by_sessions: bool
    """A counter of switches decides which thinking goes, and no seal is put on."""
    eager: bool
    """A stream begins before the backend says anything."""
    seals_by_reference: bool
    blank_signatures: bool
    hides_reasoning: bool
    keeps_content: bool
    keeps_bodies: bool


class ProcessFacts(Struct, frozen=True, kw_only=True, eq=False):
    """What this process has and knows when an exchange begins."""

    has_store: bool
    logs_bodies: bool
    logs_decisions: bool
    cool_downs: CoolDowns
    """Backends that should be left alone."""
    repairs: Mapping[Candidate, tuple[str, ...]] = {}
    """Repairs of requests that hold for an account."""
    redact: Redactor
    """Knows the secrets of this process."""
    has_limits: bool = False
    """There are limits on what somebody may use,"""
    has_hard_limits: bool = False
    """and some of them are hard."""


class BackendAddress(NamedTuple):
    """Where a base URL leads: the endpoint as it is shown, the path in front of the dialect's, and the `host` header."""

    endpoint: str
    path: str
    host: tuple[bytes, bytes]


class BackendRoute(Struct, kw_only=True, eq=False):
    """A backend, with one of its keys, as the reader of this request."""

    backend: Backend
    key: Secret | None
    target: Target
    candidate: Candidate
    """Its name in the story of attempts."""
    dialect: BackendDialect
    address: BackendAddress
    patience: Timeouts
    whole_patience: Timeouts
    """With an answer in one piece."""


class ReceivedRequest(Struct, frozen=True, kw_only=True, eq=False):
    """What is asked, and all that decides where it goes and in which form."""

    call: Call
    request: Request
    options: ExchangeOptions
    facts: Facts
    shelf: Shelf
    newest: Recording | None
    """The newest answer of this history that is recorded."""
    thread: str
    routes: tuple[BackendRoute, ...]
    """In order; none where `failure` says why nobody can be asked."""
    streams: bool
    """An answer is wanted, and event by event."""
    is_title: bool = False
    """The client wants a title of a conversation: no part of that, and none of its own."""
    compacts: bool = False
    """The client wants a summary of its history in place of an answer: no part of the conversation, but in the log."""
    failure: BackendDisabled | BackendUnknown | KeyForbidden | None = None

    @property
    def size(self) -> int:
        """How many bytes there are to work on. A request that names its history is longer than what its client sent."""
        return len(self.request.source.raw)

    @property
    def exchange_kind(self) -> ExchangeKind:
        """What the log calls it."""
        return "title" if self.is_title else "compact" if self.compacts else self.call.kind

    @property
    def has_one_route(self) -> bool:
        """Whether nobody but one backend, with one of its models, can answer."""
        return len({(route.backend.name, route.target.model) for route in self.routes}) == 1

    def patience_with(self, route: BackendRoute) -> Timeouts:
        """How long each phase of the call may last."""
        in_one_piece = self.call.kind == "messages" and not self.streams
        return route.whole_patience if in_one_piece else route.patience

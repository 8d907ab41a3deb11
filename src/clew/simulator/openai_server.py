"""What the servers of OpenAI's dialects share: keys, models, refusals in the vendor's shape, one path for faults."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from http import HTTPStatus
from typing import Final, Generic, Protocol, TypeVar

import msgspec
from msgspec import Struct, structs

from clew.http.message import HttpRefusal, HttpRequest
from clew.http.responder import Responder
from clew.model.json import JsonObject
from clew.simulator.identity import IdMaker, Ids, account_of_key, credential_of
from clew.simulator.interfaces import Account, VendorErrors, VendorRefusal
from clew.simulator.journal import JournalEntry
from clew.simulator.rule_book import RuleBook, RuleBreach, WordedVendor
from clew.simulator.steps import End, HeaderPairs, Send, SendHead, Steps, json_reply, rule_headers
from clew.simulator.vendor_server import SimulatorSettings, VendorServer

_MODELS: Final = "/models"

T = TypeVar("T", bound=Struct)
V = TypeVar("V", bound="KeyedVendor")


class ModelPattern(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The models whose names fit a pattern, and in which traits they differ from the vendor's."""

    names: tuple[str, ...]
    traits: dict[str, object] = {}


def traits_for(model: str, models: tuple[ModelPattern, ...], traits: T) -> T | None:
    """The traits of the model with this name; None if there is none. The first pattern that fits counts."""
    for row in models:
        if any(fnmatchcase(model, pattern) for pattern in row.names):
            return msgspec.convert({**structs.asdict(traits), **row.traits}, type(traits)) if row.traits else traits
    return None


class OpenaiErrors(VendorErrors, Protocol):
    """Writes errors as a vendor does, those of refusals too."""

    def refusal_body(self, refusal: VendorRefusal, names: Mapping[str, object], maker: str) -> bytes: ...


class KeyedVendor(WordedVendor, Protocol):
    """A vendor whose row says where keys are looked for."""

    @property
    def open(self) -> bool:
        """Whether the vendor serves requests without a key."""
        ...

    @property
    def key_headers(self) -> tuple[str, ...]: ...


class ForgetfulPart(Protocol):
    """A part of a server that keeps something of requests, until `reset`."""

    def reset(self) -> None: ...


class OpenaiServer(VendorServer, Generic[V]):
    """The server of one vendor. `now` counts seconds since the epoch."""

    ending: str
    """How the path of conversations ends, whatever comes before."""

    def __init__(
        self,
        settings: SimulatorSettings,
        vendor: V,
        id_maker: IdMaker,
        book: RuleBook,
        errors: OpenaiErrors,
        parts: tuple[ForgetfulPart, ...],
        now: Callable[[], float],
    ) -> None:
        super().__init__(settings, id_maker, errors, now)
        self.vendor = vendor
        self._errors = errors
        self._book = book
        self._parts = parts
        self._now = now

    @abstractmethod
    def model_list(self) -> JsonObject:
        """All models that the vendor lists."""

    @abstractmethod
    def model_row(self, name: str) -> JsonObject | None:
        """One model; None if there is none of this name."""

    def reset(self) -> None:
        """Forget everything that requests left behind."""
        super().reset()
        for part in self._parts:
            part.reset()

    def refuse(self, turned_away: HttpRefusal, respond: Responder) -> None:
        """A request that the HTTP layer refuses, in the vendor's shape."""
        headers = [("content-type", "application/json")]
        if turned_away.status != HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            body = self._errors.body("", turned_away.reason, turned_away.status, "")
            respond.send(turned_away.status, headers, body)
            return
        refusal = self.refusal("too-large")
        respond.send(refusal.status, [*headers, *rule_headers(refusal)], self._errors.refusal_body(refusal, {}, ""))

    def account(self, request: HttpRequest) -> Account | VendorRefusal:
        key = credential_of({name: request.joined.get(name, "") for name in self.vendor.key_headers})
        if not key and self.vendor.open:
            return Account(name="")
        if not key:
            return self.refusal("key-missing")
        return account_of_key(key) or self.refusal("key-invalid", key=f"****{key[-4:]}")

    def refusal(self, rule: str, **names: object) -> VendorRefusal:
        """The refusal by a rule, in the vendor's words."""
        return self._book.refusal(self.vendor, RuleBreach(f"{self._book.dialect}.{rule}", "", names))

    def answer_about_models(self, request: HttpRequest, ids: Ids, entry: JournalEntry) -> Steps:
        """The list of models, or one of them; else that there is nothing at this path."""
        before, _, name = request.path.partition(f"{_MODELS}/")
        if request.method == "GET" and request.path.endswith(_MODELS):
            return json_reply(self.model_list(), identity(ids))
        found = self.model_row(name) if request.method == "GET" and before != request.path else None
        if found is not None:
            return json_reply(found, identity(ids))
        return self.write_refusal(self.refusal("not-found", method=request.method, url=request.path), entry, identity(ids))

    def write_refusal(
        self,
        refusal: VendorRefusal,
        entry: JournalEntry,
        headers: HeaderPairs,
        names: Mapping[str, object] | None = None,
        maker: str = "",
    ) -> Steps:
        entry.record_refusal(refusal)
        body = self._errors.refusal_body(refusal, names or {}, maker)
        head = (("content-type", "application/json"), *headers, *rule_headers(refusal))
        return (SendHead(refusal.status, head), Send(body), End())

    def fault_path(self, request: HttpRequest) -> str:
        """Faults wait at one path, whatever the prefix of the request's."""
        return self.main_path if request.path.endswith(self.ending) else request.path


def identity(ids: Ids) -> HeaderPairs:
    """The header by which a vendor names a request."""
    return (("x-request-id", ids.request),)

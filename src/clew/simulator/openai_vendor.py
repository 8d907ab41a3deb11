"""What the vendors of OpenAI's dialects share.

Of the server: keys, models, refusals in the vendor's shape, one path for faults. Of the model: the request that scripts
read, how it is played, and the prompt cache. Scripts and the built-in model read requests of the Messages API, so a request
of another dialect is written as one first.
"""

from __future__ import annotations

import hashlib
import time
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import partial
from http import HTTPStatus
from typing import Final, Generic, Protocol, TypeVar

import msgspec
from msgspec import Struct, structs

from clew.http.message import HttpRefusal, HttpRequest
from clew.http.responder import Responder
from clew.model.json import JsonObject, JsonValue
from clew.simulator.identity import IdMaker, Ids, account_of_key, credential_of
from clew.simulator.interfaces import Account, Prompt, VendorErrors, VendorRefusal
from clew.simulator.journal import JournalEntry
from clew.simulator.player import PlayedTurn
from clew.simulator.rule_book import OpenaiVendor, RuleBook, RuleBreach
from clew.simulator.steps import End, HeaderPairs, Send, SendHead, Steps, json_reply, rule_headers
from clew.simulator.thought_index import add_mark
from clew.simulator.values import as_dict, as_list
from clew.simulator.vendor_server import ScriptedModel, SimulatorSettings, VendorServer

_MODELS: Final = "/models"

T = TypeVar("T", bound=Struct)
V = TypeVar("V", bound=OpenaiVendor)


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


class ForgetfulPart(Protocol):
    """A part of a server that keeps something of requests, until `reset`."""

    def reset(self) -> None: ...


class OpenaiServer(VendorServer, Generic[V]):
    """The server of one vendor."""

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
    ) -> None:
        super().__init__(settings, id_maker, errors, time.time)
        self.vendor = vendor
        self._errors = errors
        self._book = book
        self._parts = parts

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


_DEFAULT_LIMIT: Final = 4096
_CHOICES: Final[Mapping[str, str]] = {"none": "none", "auto": "auto", "required": "any", "any": "any"}


def model_request(
    body: JsonObject,
    *,
    model: str,
    limit: JsonValue,
    messages: list[JsonValue],
    tools: Iterable[tuple[JsonValue, JsonObject]],
    chosen: str,
    schema: JsonValue,
) -> JsonObject:
    """The request as one of the Messages API. `tools` are names and schemas, `chosen` is the tool that has to be called,
    `schema` is that of the answer."""
    request: JsonObject = {
        "model": model,
        "max_tokens": limit if isinstance(limit, int) else _DEFAULT_LIMIT,
        "messages": messages,
        "tools": [{"name": name, "input_schema": each or {"type": "object"}} for name, each in tools],
    }
    given = body.get("tool_choice")
    if isinstance(given, str):
        kind = _CHOICES.get(given, "auto")
    else:
        kind = "tool" if chosen else "any" if as_dict(given).get("mode") == "required" else ""
    single: JsonObject = {"disable_parallel_tool_use": True} if body.get("parallel_tool_calls") is False else {}
    if kind or single:
        request["tool_choice"] = {"type": kind or "auto", **({"name": chosen} if kind == "tool" else {}), **single}
    if isinstance(schema, dict):
        request["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    return request


def text_blocks(content: JsonValue) -> list[JsonValue]:
    """The texts of a content, which is a text or parts."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    parts = (as_dict(part) for part in as_list(content))
    return [{"type": "text", "text": part.get("text")} for part in parts if isinstance(part.get("text"), str)]


class OpenaiModel:
    """All models of one simulator. They remember how the prompts began that they have seen."""

    def __init__(self, *, scenario: str, seed: int) -> None:
        self._model = ScriptedModel(scenario=scenario, seed=seed)
        self._seen: set[bytes] = set()

    def play(self, request: JsonObject, *, thinks: bool, secret: bytes, ids: Ids) -> PlayedTurn:
        """The turn that is due. Raises SettingsInvalid if the request names an unknown scenario."""
        prompt = Prompt(thinking="adaptive" if thinks else "off", interleaved=True)
        return self._model.play(
            request, prompt=prompt, signer=None, ids=ids, empty_delta=False, mark=partial(add_mark, secret)
        )

    def cached(self, segments: Iterable[tuple[JsonValue, int]], *, owner: str, model: str, unit: int) -> int:
        """The number of prompt tokens that this owner sent before, from the beginning on, in whole units.

        A segment is a piece of the prompt and its tokens. The whole prompt counts as seen from now on.
        """
        running = hashlib.sha256(f"{owner}\n{model}".encode())
        cached = count = 0
        for segment, tokens in segments:
            running.update(msgspec.json.encode(segment, order="sorted"))
            count += tokens
            if running.digest() in self._seen:
                cached = count
            self._seen.add(running.digest())
        return cached // unit * unit if unit else 0

    def reset(self) -> None:
        self._seen.clear()

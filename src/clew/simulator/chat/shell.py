"""A chat vendor's front: its key, its paths under any prefix, its judge, its models, its errors."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Final

import msgspec

from clew.errors import SettingsInvalid
from clew.http.message import HttpRequest, Refusal
from clew.http.responder import Responder
from clew.simulator.accounts import account_of_key, credential_of
from clew.simulator.acts import Pause
from clew.simulator.anthropic.judge.signatures import signing_key
from clew.simulator.chat.books import ChatBooks, Remembered
from clew.simulator.chat.case import ChatCase
from clew.simulator.chat.catalogue import listing, row_of
from clew.simulator.chat.errors import ChatErrors
from clew.simulator.chat.judging import judge_chat
from clew.simulator.chat.model import ChatModel, Performance
from clew.simulator.chat.rules import Finding, refusal
from clew.simulator.chat.vendors import chat_vendors
from clew.simulator.chat.wire import chunks, completion
from clew.simulator.chat.writing import field_of
from clew.simulator.encoding import decoded
from clew.simulator.faults import Fault
from clew.simulator.front import Front, Settings, Visit, misuse
from clew.simulator.ids import Ids, Mint
from clew.simulator.interfaces import Account, Violation
from clew.simulator.journal import Entry
from clew.simulator.replies import HeaderPairs, json_reply, tags
from clew.simulator.spoil import spoil
from clew.simulator.steps import End, Head, Send, Step, Steps, Wait

__all__ = ["ChatShell"]

_COMPLETIONS: Final = "/chat/completions"
_MODELS: Final = "/models"
_SSE: Final = (("content-type", "text/event-stream; charset=utf-8"), ("cache-control", "no-cache"))


class ChatShell(Front):
    """One vendor that speaks Chat Completions. `now` counts seconds since the epoch."""

    main_path = "/v1/chat/completions"

    def __init__(self, settings: Settings, *, now: Callable[[], float] = time.time) -> None:
        self.vendor = chat_vendors()[settings.kind]
        super().__init__(settings, Mint(settings.seed, self.vendor.tool_ids), now)
        self._now = now
        self._errors = ChatErrors(self.vendor)
        self._model = ChatModel(scenario=settings.scenario, seed=settings.seed)
        self._books = ChatBooks(signing_key(settings.kind, settings.seed, settings.realm))

    def reset(self) -> None:
        """Forget all that requests left behind."""
        super().reset()
        for memory in (self._model, self._books):
            memory.reset()

    def refuse(self, turned_away: Refusal, respond: Responder) -> None:
        """What the HTTP layer does not even hand on, in the vendor's shape."""
        headers = [("content-type", "application/json")]
        if turned_away.status != HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            body = self._errors.body("", turned_away.reason, turned_away.status, "")
            respond.send(turned_away.status, headers, body)
            return
        violation = refusal(Finding("chat.too-large"), self.vendor)
        respond.send(violation.status, [*headers, *tags(violation)], self._errors.of(violation))

    # Who, and what.

    def _account(self, request: HttpRequest) -> Account | Violation:
        name = self.vendor.key_header
        key = credential_of({name: request.joined.get(name, "")})
        if not key and self.vendor.open:
            return Account(name="")
        if not key:
            return refusal(Finding("chat.key-missing"), self.vendor)
        return account_of_key(key) or refusal(Finding("chat.key-invalid", "", {"key": f"****{key[-4:]}"}), self.vendor)

    def _answer(self, request: HttpRequest, account: Account | Violation, ids: Ids, entry: Entry) -> Steps:
        if isinstance(account, Violation):
            return self._refused(account, entry, _identity(ids))
        visit = Visit(request=request, account=account, ids=ids, entry=entry)
        if request.method == "POST" and request.path.endswith(_COMPLETIONS):
            return self._judged(visit)
        if request.method == "GET" and request.path.endswith(_MODELS):
            return json_reply(listing(self.vendor, self.settings.kind), _identity(ids))
        if request.method == "GET" and f"{_MODELS}/" in request.path:
            return self._one_model(visit)
        return self._not_found(visit)

    def _one_model(self, visit: Visit) -> Steps:
        row = row_of(visit.request.path.partition(f"{_MODELS}/")[2], self.vendor, self.settings.kind)
        return json_reply(row, _identity(visit.ids)) if row else self._not_found(visit)

    def _not_found(self, visit: Visit) -> Steps:
        names = {"method": visit.request.method, "url": visit.request.path}
        violation = refusal(Finding("chat.not-found", "", names), self.vendor)
        return self._refused(violation, visit.entry, _identity(visit.ids))

    # The answer.

    def _judged(self, visit: Visit) -> Steps:
        request = decoded(visit.request)
        if isinstance(request, Violation):
            return self._refused(request, visit.entry, _identity(visit.ids))
        verdict = judge_chat(request.body, vendor=self.vendor, stance=self.settings.stance, books=self._books)
        visit.entry.found([piece.as_json() for piece in verdict.thinking], verdict.violation)
        if verdict.violation is not None or verdict.case is None:
            assert verdict.violation is not None, "what is legal has a case"
            maker = verdict.case.traits.maker if verdict.case else ""
            return self._told(verdict.violation, visit.entry, _identity(visit.ids), verdict.names, maker)
        try:
            return self._spoken(visit, verdict.case)
        except SettingsInvalid as error:
            return self._refused(misuse("sim.scenario", error), visit.entry, _identity(visit.ids))

    def _spoken(self, visit: Visit, case: ChatCase) -> Steps:
        performed = self._model.answer(case, account=visit.account.name, ids=visit.ids, created=int(self._now()))
        stream = self.settings.stance.answers_in_stream(case.body)
        visit.entry.played(performed.scenario, performed.turn)
        said = performed.completion
        visit.entry.answered(performed.answer, id=said.id, model=said.model, stop=said.finish, stream=stream)
        self._remember(performed, case)
        steps = (_streamed if stream else _whole)(performed, _identity(visit.ids))
        return self._spoil(performed.answer.faults, steps, visit.ids.request)

    def _remember(self, performed: Performance, case: ChatCase) -> None:
        said = performed.completion.said
        answer = Remembered(
            model=case.model,
            reasoning=said.reasoning,
            message=performed.completion.message,
            field=field_of(said, case),
        )
        self._books.note(answer, said.text)

    def _refused(self, violation: Violation, entry: Entry, headers: HeaderPairs) -> Steps:
        return self._told(violation, entry, headers, {}, "")

    def _told(
        self, violation: Violation, entry: Entry, headers: HeaderPairs, names: Mapping[str, object], maker: str
    ) -> Steps:
        entry.refused(violation)
        body = self._errors.of(violation, names, maker)
        head = (("content-type", "application/json"), *headers, *tags(violation))
        return (Head(violation.status, head), Send(body), End())

    def _spoil(self, faults: Sequence[Fault], steps: Steps, request_id: str) -> Steps:
        return spoil(faults, steps, request_id, self._errors)

    def _fault_path(self, request: HttpRequest) -> str:
        """Under whatever prefix conversations are asked for, faults wait at one place."""
        return self.main_path if request.path.endswith(_COMPLETIONS) else request.path


def _streamed(performed: Performance, headers: HeaderPairs) -> Steps:
    return (Head(200, (*_SSE, *headers)), *chunks(performed.completion), End())


def _whole(performed: Performance, headers: HeaderPairs) -> Steps:
    waits: list[Step] = [Wait(item.seconds) for item in performed.answer.items if isinstance(item, Pause)]
    head = Head(200, (("content-type", "application/json"), *headers))
    return (*waits, head, Send(msgspec.json.encode(completion(performed.completion))), End())


def _identity(ids: Ids) -> HeaderPairs:
    return (("x-request-id", ids.request),)

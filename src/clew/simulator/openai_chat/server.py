"""The server of a vendor that speaks Chat Completions: its key, its paths under any prefix, its answers."""

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
from clew.simulator.encoding import decoded
from clew.simulator.faults import Fault
from clew.simulator.front import Front, Settings, Visit, misuse
from clew.simulator.ids import Ids, Mint
from clew.simulator.interfaces import Account, Violation
from clew.simulator.journal import Entry
from clew.simulator.openai_chat.errors import ChatErrors
from clew.simulator.openai_chat.judge.case import ChatCase
from clew.simulator.openai_chat.judge.judging import judge_chat
from clew.simulator.openai_chat.judge.rules import BrokenChatRule, refusal_by
from clew.simulator.openai_chat.memory import AnswerMemory, GivenAnswer
from clew.simulator.openai_chat.message import reasoning_field
from clew.simulator.openai_chat.model import ChatModel
from clew.simulator.openai_chat.stream import chunks, completion
from clew.simulator.openai_chat.vendors import chat_vendors, model_list, model_row
from clew.simulator.replies import HeaderPairs, json_reply, tags
from clew.simulator.spoil import spoil
from clew.simulator.steps import End, Head, Send, Step, Steps, Wait

__all__ = ["ChatServer"]

_COMPLETIONS: Final = "/chat/completions"
_MODELS: Final = "/models"
_SSE: Final = (("content-type", "text/event-stream; charset=utf-8"), ("cache-control", "no-cache"))


class ChatServer(Front):
    """One vendor that speaks Chat Completions. `now` counts seconds since the epoch."""

    main_path = "/v1/chat/completions"

    def __init__(self, settings: Settings, *, now: Callable[[], float] = time.time) -> None:
        self.vendor = chat_vendors()[settings.kind]
        super().__init__(settings, Mint(settings.seed, self.vendor.tool_ids), now)
        self._now = now
        self._errors = ChatErrors(self.vendor)
        self._model = ChatModel(scenario=settings.scenario, seed=settings.seed)
        self._memory = AnswerMemory(signing_key(settings.kind, settings.seed, settings.realm))

    def reset(self) -> None:
        """Forget everything that requests left behind."""
        super().reset()
        self._model.reset()
        self._memory.reset()

    def refuse(self, turned_away: Refusal, respond: Responder) -> None:
        """A request that the HTTP layer refuses, in the vendor's shape."""
        headers = [("content-type", "application/json")]
        if turned_away.status != HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            body = self._errors.body("", turned_away.reason, turned_away.status, "")
            respond.send(turned_away.status, headers, body)
            return
        violation = self._violation("chat.too-large")
        respond.send(violation.status, [*headers, *tags(violation)], self._errors.refusal_body(violation, {}, ""))

    def _account(self, request: HttpRequest) -> Account | Violation:
        name = self.vendor.key_header
        key = credential_of({name: request.joined.get(name, "")})
        if not key and self.vendor.open:
            return Account(name="")
        if not key:
            return self._violation("chat.key-missing")
        return account_of_key(key) or self._violation("chat.key-invalid", key=f"****{key[-4:]}")

    def _violation(self, rule: str, **names: object) -> Violation:
        return refusal_by(self.vendor, BrokenChatRule(rule, "", names))

    def _answer(self, request: HttpRequest, account: Account | Violation, ids: Ids, entry: Entry) -> Steps:
        if isinstance(account, Violation):
            return self._refused(account, entry, _identity(ids))
        visit = Visit(request=request, account=account, ids=ids, entry=entry)
        if request.method == "POST" and request.path.endswith(_COMPLETIONS):
            return self._complete(visit)
        if request.method == "GET" and request.path.endswith(_MODELS):
            return json_reply(model_list(self.vendor, self.settings.kind), _identity(ids))
        name = request.path.partition(f"{_MODELS}/")[2]
        if request.method == "GET" and f"{_MODELS}/" in request.path and self.vendor.traits_of(name):
            return json_reply(model_row(name, self.vendor, self.settings.kind), _identity(ids))
        not_found = self._violation("chat.not-found", method=request.method, url=request.path)
        return self._refused(not_found, entry, _identity(ids))

    def _complete(self, visit: Visit) -> Steps:
        request = decoded(visit.request)
        if isinstance(request, Violation):
            return self._refused(request, visit.entry, _identity(visit.ids))
        verdict = judge_chat(request.body, vendor=self.vendor, stance=self.settings.stance, memory=self._memory)
        visit.entry.found([piece.as_json() for piece in verdict.thinking], verdict.violation)
        if verdict.violation is not None or verdict.case is None:
            assert verdict.violation is not None, "a legal request has a case"
            maker = verdict.case.traits.maker if verdict.case else ""
            return self._refused(verdict.violation, visit.entry, _identity(visit.ids), verdict.names, maker)
        try:
            return self._play_model(visit, verdict.case)
        except SettingsInvalid as error:
            return self._refused(misuse("sim.scenario", error), visit.entry, _identity(visit.ids))

    def _play_model(self, visit: Visit, case: ChatCase) -> Steps:
        played = self._model.answer(case, account=visit.account.name, ids=visit.ids, created=int(self._now()))
        answer, whole = played.answer, played.completion
        stream = self.settings.stance.answers_in_stream(case.body)
        visit.entry.played(played.scenario, played.turn)
        visit.entry.answered(answer, id=whole.id, model=whole.model, stop=whole.finish, stream=stream)
        given = GivenAnswer(
            model=case.model,
            reasoning=whole.draft.reasoning,
            message=whole.message,
            field=reasoning_field(whole.draft, case),
        )
        self._memory.record(given, whole.draft.text)
        headers = _identity(visit.ids)
        if stream:
            steps: Steps = (Head(200, (*_SSE, *headers)), *chunks(whole), End())
        else:
            waits: list[Step] = [Wait(item.seconds) for item in answer.items if isinstance(item, Pause)]
            head = Head(200, (("content-type", "application/json"), *headers))
            steps = (*waits, head, Send(msgspec.json.encode(completion(whole))), End())
        return self._spoil(answer.faults, steps, visit.ids.request)

    def _refused(
        self,
        violation: Violation,
        entry: Entry,
        headers: HeaderPairs,
        names: Mapping[str, object] | None = None,
        maker: str = "",
    ) -> Steps:
        entry.refused(violation)
        body = self._errors.refusal_body(violation, names or {}, maker)
        head = (("content-type", "application/json"), *headers, *tags(violation))
        return (Head(violation.status, head), Send(body), End())

    def _spoil(self, faults: Sequence[Fault], steps: Steps, request_id: str) -> Steps:
        return spoil(faults, steps, request_id, self._errors)

    def _fault_path(self, request: HttpRequest) -> str:
        """Faults wait at one path, whatever the prefix of the request's."""
        return self.main_path if request.path.endswith(_COMPLETIONS) else request.path


def _identity(ids: Ids) -> HeaderPairs:
    return (("x-request-id", ids.request),)

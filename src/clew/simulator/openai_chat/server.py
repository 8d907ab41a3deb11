"""The server of a vendor that speaks Chat Completions: its key, its paths under any prefix, its answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Final

from clew.errors import SettingsInvalid
from clew.http.message import HttpRefusal, HttpRequest
from clew.http.responder import Responder
from clew.simulator.fault_effects import apply_faults
from clew.simulator.identity import IdMaker, Ids, account_of_key, credential_of, signing_key
from clew.simulator.interfaces import Account, VendorRefusal
from clew.simulator.journal import JournalEntry
from clew.simulator.openai_chat.completion import chunks, completion, reasoning_field
from clew.simulator.openai_chat.errors import ChatErrors
from clew.simulator.openai_chat.judge.case import BrokenChatRule, ChatCase, refusal_by
from clew.simulator.openai_chat.judge.judging import judge_chat
from clew.simulator.openai_chat.memory import AnswerMemory, GivenAnswer
from clew.simulator.openai_chat.model import ChatModel
from clew.simulator.openai_chat.vendors import chat_vendors, model_list, model_row
from clew.simulator.steps import SSE_HEADERS, End, HeaderPairs, Send, SendHead, Steps, json_reply, rule_headers, silences_of
from clew.simulator.vendor_server import AccountRequest, SimulatorSettings, VendorServer, decoded, misuse

_COMPLETIONS: Final = "/chat/completions"
_MODELS: Final = "/models"


class ChatServer(VendorServer):
    """One vendor that speaks Chat Completions. `now` counts seconds since the epoch."""

    main_path = "/v1/chat/completions"

    def __init__(self, settings: SimulatorSettings, *, now: Callable[[], float] = time.time) -> None:
        self.vendor = chat_vendors()[settings.kind]
        self._errors = ChatErrors(self.vendor)
        super().__init__(settings, IdMaker(settings.seed, self.vendor.tool_ids), self._errors, now)
        self._now = now
        self._model = ChatModel(scenario=settings.scenario, seed=settings.seed)
        self._memory = AnswerMemory(signing_key(settings.kind, settings.seed, settings.realm))

    def reset(self) -> None:
        """Forget everything that requests left behind."""
        super().reset()
        self._model.reset()
        self._memory.reset()

    def refuse(self, turned_away: HttpRefusal, respond: Responder) -> None:
        """A request that the HTTP layer refuses, in the vendor's shape."""
        headers = [("content-type", "application/json")]
        if turned_away.status != HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            body = self._errors.body("", turned_away.reason, turned_away.status, "")
            respond.send(turned_away.status, headers, body)
            return
        refusal = self._refusal("chat.too-large")
        respond.send(refusal.status, [*headers, *rule_headers(refusal)], self._errors.refusal_body(refusal, {}, ""))

    def account(self, request: HttpRequest) -> Account | VendorRefusal:
        name = self.vendor.key_header
        key = credential_of({name: request.joined.get(name, "")})
        if not key and self.vendor.open:
            return Account(name="")
        if not key:
            return self._refusal("chat.key-missing")
        return account_of_key(key) or self._refusal("chat.key-invalid", key=f"****{key[-4:]}")

    def _refusal(self, rule: str, **names: object) -> VendorRefusal:
        return refusal_by(self.vendor, BrokenChatRule(rule, "", names))

    def answer(self, request: HttpRequest, account: Account | VendorRefusal, ids: Ids, entry: JournalEntry) -> Steps:
        if isinstance(account, VendorRefusal):
            return self.write_refusal(account, entry, _identity(ids))
        visit = AccountRequest(request=request, account=account, ids=ids, entry=entry)
        if request.method == "POST" and request.path.endswith(_COMPLETIONS):
            return self._complete(visit)
        if request.method == "GET" and request.path.endswith(_MODELS):
            return json_reply(model_list(self.vendor, self.settings.kind), _identity(ids))
        name = request.path.partition(f"{_MODELS}/")[2]
        if request.method == "GET" and f"{_MODELS}/" in request.path and self.vendor.traits_of(name):
            return json_reply(model_row(name, self.vendor, self.settings.kind), _identity(ids))
        not_found = self._refusal("chat.not-found", method=request.method, url=request.path)
        return self.write_refusal(not_found, entry, _identity(ids))

    def _complete(self, visit: AccountRequest) -> Steps:
        request = decoded(visit.request)
        if isinstance(request, VendorRefusal):
            return self.write_refusal(request, visit.entry, _identity(visit.ids))
        verdict = judge_chat(request.body, vendor=self.vendor, stance=self.settings.stance, memory=self._memory)
        visit.entry.record_thinking([piece.as_json() for piece in verdict.thinking], verdict.violation)
        if verdict.violation is not None or verdict.case is None:
            assert verdict.violation is not None, "a legal request has a case"
            maker = verdict.case.traits.maker if verdict.case else ""
            return self.write_refusal(verdict.violation, visit.entry, _identity(visit.ids), verdict.names, maker)
        try:
            return self._play_model(visit, verdict.case)
        except SettingsInvalid as error:
            return self.write_refusal(misuse("sim.scenario", str(error)), visit.entry, _identity(visit.ids))

    def _play_model(self, visit: AccountRequest, case: ChatCase) -> Steps:
        played, whole = self._model.answer(case, account=visit.account.name, ids=visit.ids, created=int(self._now()))
        answer = played.answer
        stream = self.settings.stance.answers_in_stream(case.body)
        visit.entry.record_answer(played, id=whole.id, model=whole.model, stop=whole.finish, stream=stream)
        given = GivenAnswer(
            model=case.model,
            reasoning=whole.draft.reasoning,
            message=whole.message,
            field=reasoning_field(whole.draft, case),
        )
        self._memory.record(given, whole.draft.text)
        headers = _identity(visit.ids)
        if stream:
            steps: Steps = (SendHead(200, (*SSE_HEADERS, *headers)), *chunks(whole), End())
        else:
            steps = (*silences_of(answer), *json_reply(completion(whole), headers))
        return apply_faults(answer.faults, steps, visit.ids.request, self._errors)

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
        return self.main_path if request.path.endswith(_COMPLETIONS) else request.path


def _identity(ids: Ids) -> HeaderPairs:
    return (("x-request-id", ids.request),)

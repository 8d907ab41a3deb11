"""The server of a vendor that speaks the Messages API: credential, judge, model, faults, answer.

All state that a request can change (ids, cache, quota, waiting faults, the journal) belongs to the `MessagesServer`, and
`reset` clears it. Accounts and signatures depend only on keys, so they survive a reset.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, Literal, cast

from clew.errors import SettingsInvalid
from clew.http.message import HttpRefusal, HttpRequest
from clew.http.responder import Responder
from clew.simulator.anthropic.judge.case import betas_of
from clew.simulator.anthropic.memory import GivenThinking, PromptCache, Quota
from clew.simulator.anthropic.replies import ANTHROPIC_ERRORS, MessageAnswer, error_body, events, message, type_of_status
from clew.simulator.anthropic.vendors import model_page, model_row, vendor_of
from clew.simulator.fault_effects import apply_faults
from clew.simulator.identity import IdMaker, Ids, account_of, organization_of, refusal_of_rule
from clew.simulator.interfaces import Account, Judge, JudgeVerdict, VendorRefusal
from clew.simulator.journal import JournalEntry
from clew.simulator.steps import SSE_HEADERS, End, HeaderPairs, Send, SendHead, Steps, json_reply, rule_headers, silences_of
from clew.simulator.vendor_server import AccountRequest, ScriptedModel, SimulatorSettings, VendorServer, decoded, misuse

_MESSAGES: Final = "/v1/messages"
_COUNT: Final = "/v1/messages/count_tokens"
_MODELS: Final = "/v1/models"
_GREETINGS: Final = ("/", "/api/hello")
_CODES: Final = {"R62.too-large-decoded": "request_body_too_large_after_decoding"}
"""Machine codes of refusals that have one (R62)."""


class MessagesServer(VendorServer):
    """One vendor that speaks the Messages API. `clock` and `now` count seconds."""

    main_path = _MESSAGES

    def __init__(
        self,
        settings: SimulatorSettings,
        judge: Judge,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        id_maker = IdMaker(settings.seed, vendor_of(settings.kind).tool_ids)
        super().__init__(settings, id_maker, ANTHROPIC_ERRORS, now)
        self._judge = judge
        self._model = ScriptedModel(scenario=settings.scenario, seed=settings.seed)
        self._cache = PromptCache(clock)
        self._quota = Quota(now)
        self._given = GivenThinking()

    def reset(self) -> None:
        """Forget everything that requests left behind."""
        super().reset()
        for memory in (self._cache, self._quota, self._given):
            memory.reset()

    def refuse(self, turned_away: HttpRefusal, respond: Responder) -> None:
        """A request that the HTTP layer refuses, in the vendor's shape."""
        kind, text, tags = type_of_status(turned_away.status), turned_away.reason, ()
        if turned_away.status == 413:
            refusal = refusal_of_rule("R62.too-large")
            text, tags = refusal.message, rule_headers(refusal)
        request_id = self._id_maker.ids("", "", text.encode()).request
        headers = [("content-type", "application/json"), ("request-id", request_id), *tags]
        respond.send(turned_away.status, headers, error_body(kind, text, request_id))

    def account(self, request: HttpRequest) -> Account | VendorRefusal:
        return account_of(request.joined, self.settings.stance)

    def answer(self, request: HttpRequest, account: Account | VendorRefusal, ids: Ids, entry: JournalEntry) -> Steps:
        if request.path in _GREETINGS and request.method in ("GET", "HEAD"):
            return json_reply({}, _identity(ids))
        if isinstance(account, VendorRefusal):
            return self.write_refusal(account, entry, _identity(ids))
        visit = AccountRequest(request=request, account=account, ids=ids, entry=entry)
        if request.method == "POST" and request.path in (_MESSAGES, _COUNT):
            return self._judge_and_answer(visit)
        if request.method == "GET" and (request.path == _MODELS or request.path.startswith(f"{_MODELS}/")):
            kind, known = self.settings.kind, self.settings.stance.models
            if visit.request.path == _MODELS:
                found = model_page(visit.request.query, kind, known)
            else:
                name = visit.request.path.removeprefix(f"{_MODELS}/")
                found = model_row(name, kind, known) or refusal_of_rule("R62.not-found")
            headers = _identity(visit.ids, visit.account)
            if isinstance(found, VendorRefusal):
                return self.write_refusal(found, visit.entry, headers)
            return json_reply(found, headers)
        return self.write_refusal(refusal_of_rule("R62.not-found"), entry, _identity(ids, account))

    def _judge_and_answer(self, visit: AccountRequest) -> Steps:
        settings, request = self.settings, decoded(visit.request)
        if isinstance(request, VendorRefusal):
            return self.write_refusal(request, visit.entry, self._headers(visit))
        path = cast(Literal["/v1/messages", "/v1/messages/count_tokens"], request.path)
        verdict = self._judge(
            request.body,
            request.joined,
            kind=settings.kind,
            account=visit.account,
            stance=settings.stance,
            path=path,
            seed=settings.seed,
            realm=settings.realm,
            books=self._given.books,
        )
        visit.entry.record_verdict(verdict)
        if verdict.violation is not None:
            return self.write_refusal(verdict.violation, visit.entry, self._headers(visit))
        if path == _COUNT:
            counted: dict[str, object] = {"input_tokens": verdict.prompt.input_tokens}
            if verdict.prompt.applied_edits is not None:
                counted["context_management"] = {"original_input_tokens": verdict.prompt.input_tokens}
            return json_reply(counted, self._headers(visit))
        try:
            return self._play_model(visit, verdict)
        except SettingsInvalid as error:
            return self.write_refusal(misuse("sim.scenario", str(error)), visit.entry, self._headers(visit))

    def _play_model(self, visit: AccountRequest, verdict: JudgeVerdict) -> Steps:
        request, prompt, stance = verdict.request, verdict.prompt, self.settings.stance
        assert verdict.signer is not None, "a legal request has a signer"
        played = self._model.play(
            request,
            prompt=prompt,
            signer=verdict.signer,
            ids=visit.ids,
            betas=frozenset(betas_of(visit.request.joined)),
            empty_delta=stance["C-11"] == "empty_delta",
        )
        answer, model, stream = played.answer, str(request.get("model")), stance.answers_in_stream(request)
        unread = {block.path for block in prompt.blocks if block.fate != "kept"}
        owner = f"{visit.account.name} {model}"
        cache = self._cache.use(request, owner=owner, minimum=prompt.cache_minimum, without=unread)
        whole = MessageAnswer(id=visit.ids.message, model=model, answer=answer, prompt=prompt, cache=cache)
        visit.entry.record_answer(played, id=whole.id, model=model, stop=answer.stop_reason, stream=stream)
        self._given.record(answer.content)
        headers = self._headers(visit, prompt.input_tokens, answer.output_tokens)
        if stream:
            steps: Steps = (SendHead(200, (*SSE_HEADERS, *headers)), *events(whole), End())
        else:
            steps = (*silences_of(answer), *json_reply(message(whole), headers))
        return apply_faults(answer.faults, steps, visit.ids.request, ANTHROPIC_ERRORS)

    def write_refusal(self, refusal: VendorRefusal, entry: JournalEntry, headers: HeaderPairs) -> Steps:
        entry.record_refusal(refusal)
        body = error_body(refusal.error_type, refusal.message, entry.request_id, _CODES.get(refusal.rule, ""))
        # Plain JSON, also where a stream was asked for (R63).
        head = SendHead(refusal.status, (("content-type", "application/json"), *headers, *rule_headers(refusal)))
        return (head, Send(body), End())

    def _headers(self, visit: AccountRequest, input_tokens: int = 0, output_tokens: int = 0) -> HeaderPairs:
        quota = self._quota.headers(visit.account.name, input_tokens=input_tokens, output_tokens=output_tokens)
        return (*_identity(visit.ids, visit.account), *quota)


def _identity(ids: Ids, account: Account | None = None) -> HeaderPairs:
    named = (("anthropic-organization-id", organization_of(account)),) if account else ()
    return (("request-id", ids.request), *named)

"""One request, from its credential to its last byte: auth, judge, model, faults, wire, journal, in this order.

All state that a request can touch (ids, cache, quota, faults in waiting, the journal) hangs on the `Shell`, and `reset`
forgets it. Accounts and signatures are functions of the key, so they outlive it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final, Literal, cast

from clew.errors import SettingsInvalid
from clew.http.message import HttpRequest, Refusal
from clew.http.responder import Responder
from clew.simulator import catalogue
from clew.simulator.accounts import account_of, organization_of, refusal
from clew.simulator.encoding import decoded
from clew.simulator.envelope import error_body, type_of_status
from clew.simulator.faults import Fault
from clew.simulator.front import Front, Settings, Visit, misuse
from clew.simulator.given import Given
from clew.simulator.ids import Ids, Mint
from clew.simulator.interfaces import Account, Judge, Verdict, Violation
from clew.simulator.journal import Entry
from clew.simulator.model import Model
from clew.simulator.quota import Quota
from clew.simulator.replies import HeaderPairs, json_reply, refused, streamed, tags, unary
from clew.simulator.spoil import spoil
from clew.simulator.steps import Steps
from clew.simulator.vendors import vendor_of

__all__ = ["Settings", "Shell"]

_MESSAGES: Final = "/v1/messages"
_COUNT: Final = "/v1/messages/count_tokens"
_MODELS: Final = "/v1/models"
_GREETINGS: Final = ("/", "/api/hello")


class Shell(Front):
    """The Anthropic dialect. `clock` and `now` count seconds."""

    main_path = _MESSAGES

    def __init__(
        self,
        settings: Settings,
        judge: Judge,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(settings, Mint(settings.seed, vendor_of(settings.kind).tool_ids), now)
        self._judge = judge
        self._model = Model(scenario=settings.scenario, stance=settings.stance, seed=settings.seed, clock=clock)
        self._quota = Quota(now)
        self._given = Given()

    def reset(self) -> None:
        """Forget all that requests left behind."""
        super().reset()
        for memory in (self._model, self._quota, self._given):
            memory.reset()

    def refuse(self, turned_away: Refusal, respond: Responder) -> None:
        """What the HTTP layer does not even hand on, in the vendor's shape."""
        kind, words, marks = type_of_status(turned_away.status), turned_away.reason, ()
        if turned_away.status == 413:
            violation = refusal("R62.too-large")
            words, marks = violation.message, tags(violation)
        request_id = self._mint.ids("", "", words.encode()).request
        headers = [("content-type", "application/json"), ("request-id", request_id), *marks]
        respond.send(turned_away.status, headers, error_body(kind, words, request_id))

    # The answer.

    def _account(self, request: HttpRequest) -> Account | Violation:
        return account_of(request.joined, self.settings.stance)

    def _answer(self, request: HttpRequest, account: Account | Violation, ids: Ids, entry: Entry) -> Steps:
        if request.path in _GREETINGS and request.method in ("GET", "HEAD"):
            return json_reply({}, _identity(ids))
        if isinstance(account, Violation):
            return self._refused(account, entry, _identity(ids))
        visit = Visit(request=request, account=account, ids=ids, entry=entry)
        if request.method == "POST" and request.path in (_MESSAGES, _COUNT):
            return self._judged(visit)
        if request.method == "GET" and request.path == _MODELS:
            return self._models(visit)
        if request.method == "GET" and request.path.startswith(f"{_MODELS}/"):
            return self._one_model(visit)
        return self._refused(refusal("R62.not-found"), entry, _identity(ids, account))

    def _judged(self, visit: Visit) -> Steps:
        settings, request = self.settings, decoded(visit.request)
        if isinstance(request, Violation):
            return self._refused(request, visit.entry, self._headers(visit))
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
        visit.entry.judged(verdict)
        if verdict.violation is not None:
            return self._refused(verdict.violation, visit.entry, self._headers(visit))
        if path == _COUNT:
            return self._counted(visit, verdict)
        try:
            return self._spoken(visit, verdict)
        except SettingsInvalid as error:
            return self._refused(misuse("sim.scenario", error), visit.entry, self._headers(visit))

    def _spoken(self, visit: Visit, verdict: Verdict) -> Steps:
        performed = self._model.answer(verdict, account=visit.account, ids=visit.ids, headers=visit.request.joined)
        answer = performed.message.answer
        stream = self.settings.stance.answers_in_stream(verdict.request)
        visit.entry.played(performed.scenario, performed.turn)
        said = performed.message
        visit.entry.answered(answer, id=said.id, model=said.model, stop=answer.stop_reason, stream=stream)
        self._given.note(answer.content)
        headers = self._headers(visit, verdict.prompt.input_tokens, answer.output_tokens)
        steps = (streamed if stream else unary)(performed.message, headers)
        return self._spoil(answer.faults, steps, visit.ids.request)

    def _counted(self, visit: Visit, verdict: Verdict) -> Steps:
        counted: dict[str, object] = {"input_tokens": verdict.prompt.input_tokens}
        if verdict.prompt.applied_edits is not None:
            counted["context_management"] = {"original_input_tokens": verdict.prompt.input_tokens}
        return json_reply(counted, self._headers(visit))

    def _models(self, visit: Visit) -> Steps:
        page = catalogue.listing(visit.request.query, self.settings.kind, self.settings.stance.models)
        headers = _identity(visit.ids, visit.account)
        return self._refused(page, visit.entry, headers) if isinstance(page, Violation) else json_reply(page, headers)

    def _one_model(self, visit: Visit) -> Steps:
        name = visit.request.path.removeprefix(f"{_MODELS}/")
        row = catalogue.row_of(name, self.settings.kind, self.settings.stance.models)
        if row is None:
            violation = refusal("R62.not-found")
            return self._refused(violation, visit.entry, _identity(visit.ids, visit.account))
        return json_reply(row, _identity(visit.ids, visit.account))

    def _refused(self, violation: Violation, entry: Entry, headers: HeaderPairs) -> Steps:
        entry.refused(violation)
        return refused(violation, entry.request_id, headers)

    def _headers(self, visit: Visit, input_tokens: int = 0, output_tokens: int = 0) -> HeaderPairs:
        quota = self._quota.headers(visit.account.name, input_tokens=input_tokens, output_tokens=output_tokens)
        return (*_identity(visit.ids, visit.account), *quota)

    def _spoil(self, faults: Sequence[Fault], steps: Steps, request_id: str) -> Steps:
        return spoil(faults, steps, request_id)


def _identity(ids: Ids, account: Account | None = None) -> HeaderPairs:
    named = (("anthropic-organization-id", organization_of(account)),) if account else ()
    return (("request-id", ids.request), *named)

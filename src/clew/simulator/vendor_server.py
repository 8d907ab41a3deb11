"""What the servers of all simulated vendors share: the model, the journal, faults on demand, the wire.

A `VendorServer` takes a request, opens its journal entry, lets the subclass make the answer (`answer`), applies a waiting
fault to it, and plays it. A subclass has the few methods that differ by dialect: how an answer is made, and how the vendor
writes an error.

The control routes are for tests and tools. They need no key:

GET  /_sim/journal[?since=N]     the entries after number N
GET  /_sim/journal/N/body        the body of entry N, byte for byte
POST /_sim/fault                 {"fault": "status 529 retry-after=2", "times": 2, "path": "/v1/messages", "key": "sim-a-1"};
                                 times null: from now on; without key: any request; without
                                 path: the path of conversations
POST /_sim/reset                 clear journal, cache, waiting faults and used ids
GET  /_sim/scenarios             the scenarios that can be played
"""

from __future__ import annotations

import re
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs

import msgspec

from clew.errors import SettingsInvalid
from clew.http.message import HttpRefusal, HttpRequest
from clew.http.responder import Responder
from clew.model.json import JsonObject
from clew.simulator.fault_effects import apply_faults
from clew.simulator.faults import FaultQueue, parse
from clew.simulator.identity import IdMaker, Ids, credential_of, refusal_of_rule
from clew.simulator.interfaces import Account, Kind, Prompt, Signer, Stance, VendorErrors, VendorRefusal
from clew.simulator.journal import Journal, JournalEntry, entries_json
from clew.simulator.player import PlayedTurn, TurnContext, play_turn
from clew.simulator.steps import End, HeaderPairs, Steps, json_reply, play
from clew.simulator.turns import DEFAULT, ScenarioPicker, calls_in, improvise, shipped, state_of, turn_of

_MAX_DECODED: Final = 32 * 1024 * 1024
_GZIP_OR_ZLIB: Final = zlib.MAX_WBITS | 32
_CODINGS: Final = ("gzip", "x-gzip", "deflate")
_CONTROL: Final = "/_sim/"
_JOURNAL_BODY: Final = re.compile(r"/_sim/journal/(\d+)/body")


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatorSettings:
    """The options with which a simulator is started."""

    stance: Stance
    kind: Kind = "anthropic"
    scenario: str = DEFAULT
    seed: int = 0
    realm: str = ""
    """Simulators with the same realm accept each other's signatures; without one, those of the same kind and seed."""
    journal: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountRequest:
    """A request of a known account."""

    request: HttpRequest
    account: Account
    ids: Ids
    entry: JournalEntry


class ScriptedModel:
    """All models of one simulator. They remember nothing: an answer depends on the request alone, as with real models."""

    def __init__(self, *, scenario: str, seed: int) -> None:
        self._scenarios = ScenarioPicker(scenario)
        self._seed = seed

    def play(
        self,
        request: JsonObject,
        *,
        prompt: Prompt,
        signer: Signer | None,
        ids: Ids,
        betas: frozenset[str] = frozenset(),
        empty_delta: bool = True,
        mark: Callable[[str], str] = str,
    ) -> PlayedTurn:
        """The turn that is due. `mark` changes thoughts of the built-in model.

        Raises SettingsInvalid if the request names an unknown scenario.
        """
        state = state_of(request)
        scenario = self._scenarios.scenario_for(request)
        turn = turn_of(scenario, state) if scenario else improvise(request, state, self._seed, mark)
        context = TurnContext(
            request=request,
            prompt=prompt,
            signer=signer,
            state=state,
            ids=ids,
            betas=betas,
            empty_delta=empty_delta,
            calls_before=calls_in(request),
        )
        name = scenario.name if scenario else DEFAULT
        return PlayedTurn(answer=play_turn(turn, context), scenario=name, turn=state.turn)


class VendorServer(ABC):
    """A simulator without its listener. `now` counts seconds since the epoch."""

    main_path: str
    """The path of conversations; faults without a path wait there."""

    def __init__(
        self, settings: SimulatorSettings, id_maker: IdMaker, errors: VendorErrors, now: Callable[[], float]
    ) -> None:
        self.settings = settings
        self.journal = Journal(settings.journal, now=now)
        self.faults = FaultQueue(self.main_path)
        self._id_maker = id_maker
        self._vendor_errors = errors

    def reset(self) -> None:
        """Forget everything that requests left behind."""
        for memory in (self.journal, self.faults, self._id_maker):
            memory.reset()

    async def handle(self, request: HttpRequest, respond: Responder) -> None:
        """Answer one request."""
        if request.path.startswith(_CONTROL):
            await play(control_answer(self, request), respond)
            return
        account = self.account(request)
        name = account.name if isinstance(account, Account) else ""
        ids = self._id_maker.ids(name, request.target, request.body)
        entry = self.journal.open(request, ids.request, name)
        steps = self._with_fault(request, entry, self.answer(request, account, ids, entry))
        broken = steps[-1] in (End("fin"), End("rst"))
        try:
            await play(steps, respond)
        finally:
            self.journal.close(entry, ("cut" if broken else "whole") if respond.ended else "client left")

    @abstractmethod
    def refuse(self, turned_away: HttpRefusal, respond: Responder) -> None:
        """Answer a request that the HTTP layer refuses, in the vendor's shape."""

    @abstractmethod
    def account(self, request: HttpRequest) -> Account | VendorRefusal:
        """The account of a request, or why there is none."""

    @abstractmethod
    def answer(self, request: HttpRequest, account: Account | VendorRefusal, ids: Ids, entry: JournalEntry) -> Steps:
        """The answer, before a fault is applied to it."""

    @abstractmethod
    def write_refusal(self, refusal: VendorRefusal, entry: JournalEntry, headers: HeaderPairs) -> Steps:
        """A refusal in the vendor's shape; it is recorded in the entry."""

    def fault_path(self, request: HttpRequest) -> str:
        """The path under which faults wait for this request."""
        return request.path

    def _with_fault(self, request: HttpRequest, entry: JournalEntry, steps: Steps) -> Steps:
        """The steps after the fault that the request's header names; without one, after the next fault that was ordered for
        this path."""
        asked, key = request.header("x-sim-fault"), credential_of(request.joined)
        try:
            fault = parse(asked) if asked else self.faults.take(self.fault_path(request), key)
        except SettingsInvalid as error:
            return self.write_refusal(misuse("sim.fault", str(error)), entry, (("request-id", entry.request_id),))
        if fault is None:
            return steps
        entry.faults.append(fault.kind)
        return apply_faults([fault], steps, entry.request_id, self._vendor_errors)


def misuse(rule: str, message: str, status: int = 400) -> VendorRefusal:
    """A refusal of the simulator itself, for a fault, a scenario or a body that it cannot use."""
    return VendorRefusal(rule=rule, grade="A", status=status, error_type="invalid_request_error", message=message)


def decoded(request: HttpRequest) -> HttpRequest | VendorRefusal:
    """The request with its body decompressed, within the same limit as plain bodies (R62); or why it cannot be read."""
    coding = (request.header("content-encoding") or "identity").strip().lower()
    if coding == "identity":
        return request
    if coding not in _CODINGS:
        return misuse("sim.encoding", f"content-encoding {coding!r} is not understood here; send gzip, deflate or none", 415)
    inflate = zlib.decompressobj(_GZIP_OR_ZLIB)
    try:
        body = inflate.decompress(request.body, _MAX_DECODED + 1)
    except zlib.error as error:
        return misuse("sim.encoding", f"the body is not {coding}: {error}")
    if len(body) > _MAX_DECODED:
        return refusal_of_rule("R62.too-large-decoded")
    if not inflate.eof:
        return misuse("sim.encoding", f"the body is not whole {coding}")
    return request.with_body(body)


# Control routes.


class _FaultOrder(msgspec.Struct, forbid_unknown_fields=True):
    fault: str
    times: int | None = 1
    path: str = ""
    key: str = ""


def control_answer(server: VendorServer, request: HttpRequest) -> Steps:
    """Carry out a control request."""
    match request.method, request.path:
        case "GET", "/_sim/journal":
            given = parse_qs(request.query).get("since", ["0"])[-1]
            found = server.journal.since(int(given) if given.isdecimal() else 0)
            return json_reply(msgspec.Raw(entries_json(found)))
        case "GET", path if found := _JOURNAL_BODY.fullmatch(path):
            entry = server.journal.find(int(found[1]))
            if entry is not None and entry.body is not None:
                return json_reply(msgspec.Raw(entry.body))
        case "GET", "/_sim/scenarios":
            return json_reply({name: scenario.about for name, scenario in shipped().items()})
        case "POST", "/_sim/fault":
            try:
                order = msgspec.json.decode(request.body, type=_FaultOrder)
                server.faults.put(parse(order.fault), times=order.times, path=order.path, key=order.key)
            except (msgspec.DecodeError, SettingsInvalid) as error:
                return json_reply({"ok": False, "error": str(error)}, status=400)
            return json_reply({"ok": True, "waiting": server.faults.waiting()})
        case "POST", "/_sim/reset":
            server.reset()
            return json_reply({"ok": True})
        case _:
            pass
    return json_reply({"ok": False, "error": f"there is no {request.method} {request.path}"}, status=404)

"""Routes about the gateway as a whole: its status, its health, its metrics, which backend is used, and a trial of one."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from msgspec import Struct, structs
from starlette.requests import Request
from starlette.responses import Response

from clew.admin.checkup import CHECKS, CheckResult, read_circumstances, run_check
from clew.admin.metrics import CONTENT_TYPE
from clew.admin.problems import AdminProblem
from clew.admin.requests import principal, read_body
from clew.admin.routing import as_json, caller_name
from clew.admin.services import AdminServices
from clew.admin.trial.rounds import trials
from clew.backends.names import FAMILIES
from clew.engine.choices import ACTIVE, AGENTS, choice_target, family_choice
from clew.errors import StoreError
from clew.exchange.redact import with_redacted_tries
from clew.limits.keys import LOCAL
from clew.model.turn import Exchange
from clew.settings.home import HOME_VARIABLE
from clew.settings.processes import RunningGateway, running_gateways
from clew.settings.rollout import Rollout, roll_out_choice, roll_out_pin, roll_out_shared
from clew.settings.values import DisabledBackend, RoutingRule, Settings
from clew.store.values import GatewayProcess, Health, Statistics


async def healthz(services: AdminServices, request: Request) -> Response:
    return as_json({"status": "ok"})


class BackendRow(Struct, frozen=True, kw_only=True):
    """A backend as `/api/backends` lists it, without its keys."""

    name: str
    dialect: str
    url: str
    realm: str
    auth: str
    keys: int
    model: str
    models: Mapping[str, str]
    active: bool


class Status(Struct, frozen=True, kw_only=True):
    """What `clew status` shows. No secret is part of it."""

    version: str
    pid: int
    active: str
    active_from: str
    backends: tuple[BackendRow, ...]
    disabled: tuple[DisabledBackend, ...]
    """Those of the file that lack a variable where this gateway runs: requests for one get a 503."""
    rules: tuple[RoutingRule, ...]
    chosen: tuple[RoutingRule, ...]
    """Those among them that were switched while everything runs."""
    failover: tuple[str, ...]
    policy: str
    open_streams: int
    settings_problem: str
    """Why a newer config was not taken; "" if there is nothing wrong."""
    store: Health | None
    """None: switched off."""
    thinking: Statistics | None
    gateways: tuple[RunningGateway, ...]
    """Those of the same home, each with the settings that its processes have applied."""
    shared: tuple[GatewayProcess, ...] = ()
    """The processes of all gateways that share this store, on whichever machine; none for a store in a file."""


class SessionStatus(Struct, frozen=True):
    """The last exchange of a session, the backend that its thread is pinned to, and the choice for all requests."""

    last: Exchange | None
    pin: str
    chosen: str


async def session_status(services: AdminServices, request: Request) -> Response:
    """What a status line shows: so the command that prints it opens no connection to a database of its own."""
    store, owner, session = services.kept, principal(request), request.query_params.get("session", "")

    def read() -> SessionStatus:
        thread = store.thread_of(owner, session, "") if session else None
        found = store.exchanges(owner, thread=thread, limit=1) if thread else []
        last = with_redacted_tries(found[0], services.redactor()) if found else None
        return SessionStatus(last, store.pin_of(owner, thread) if thread else "", store.settings().get(ACTIVE, ""))

    return as_json(await services.read(read))


async def status(services: AdminServices, request: Request) -> Response:
    return as_json(await services.read(lambda: status_of(services)))


def status_of(services: AdminServices) -> Status:
    """Reads the store and the registry: call it in a thread."""
    snapshot, redact = services.current.snapshot, services.redactor()
    settings, (thinking, shared) = snapshot.settings, _in_store(services)
    backends = [
        BackendRow(
            name=backend.name,
            dialect=backend.dialect,
            url=redact(backend.url),
            realm=backend.realm,
            auth=backend.auth,
            keys=len(backend.keys),
            model=backend.model,
            models=backend.models,
            active=backend.name == snapshot.active,
        )
        for backend in settings.backends.values()
    ]
    return Status(
        version=services.version,
        pid=os.getpid(),
        active=snapshot.active,
        active_from=snapshot.active_from,
        backends=tuple(backends),
        disabled=tuple(settings.disabled.values()),
        rules=settings.rules,
        chosen=snapshot.chosen,
        failover=settings.failover,
        policy=settings.thinking.policy,
        open_streams=services.open_streams(),
        settings_problem=redact(services.current.problem),
        store=services.health(),
        thinking=thinking,
        gateways=tuple(running_gateways(services.home)),
        shared=shared,
    )


def _in_store(services: AdminServices) -> tuple[Statistics | None, tuple[GatewayProcess, ...]]:
    """Counts of thinking, and the gateways that share the store; nothing of a store that cannot be read, as its health
    says."""
    store, active = services.store, services.current.snapshot.active
    if store is None:
        return None, ()
    try:
        return store.statistics(LOCAL, backend=active, now=time.time()), tuple(store.gateways())
    except StoreError:
        return None, ()


async def doctor(services: AdminServices, request: Request) -> Response:
    """The checks of `clew doctor`, as the gateway itself sees its surroundings."""
    online = request.query_params.get("online", "") == "1"
    return as_json({"checks": await services.read(lambda: checkup(services, online))})


def checkup(services: AdminServices, online: bool) -> list[CheckResult]:
    """Every check, in this admin's own home and on its own settings file. May take seconds."""
    environ = {**os.environ, HOME_VARIABLE: str(services.home.root)}
    at = read_circumstances(environ, Path.cwd(), time.time(), online=online, file=services.current.file)
    return [run_check(check, at, services.redactor()) for check in CHECKS]


async def metrics(services: AdminServices, request: Request) -> Response:
    services.metrics.know(services.current.snapshot.settings.backends)
    health = await services.read(services.health)
    await services.read(lambda: import_module("clew.admin.exposition"))
    return Response(services.metrics.text(health, services.open_streams(), services.version), media_type=CONTENT_TYPE)


class UseRequest(Struct, kw_only=True, forbid_unknown_fields=True):
    """Which backend, for which part of the requests. With `reset`: as the settings say again."""

    backend: str = ""
    thread: str = ""
    gateway: str = ""
    family: str = ""
    agents: bool = False
    reset: bool = False

    @property
    def setting(self) -> str:
        """The name of this choice in the store."""
        return AGENTS if self.agents else family_choice(self.family) if self.family else ACTIVE

    @property
    def target(self) -> str:
        """What the choice is about, as the audit names it."""
        return choice_target(thread=self.thread, gateway=self.gateway, family=self.family, agents=self.agents)


class UseReply(Struct, frozen=True):
    """What was chosen: for all, or for the part that is named. `backend` is "" where a choice was taken back."""

    backend: str
    thread: str
    gateway: str
    family: str
    agents: bool
    followed: Rollout
    """Whether all gateways of this home have applied it, and which processes have not."""


async def use(services: AdminServices, request: Request) -> Response:
    """Answers when every gateway and worker of this home has applied it, or says which has not."""
    body = await read_body(request, UseRequest)
    _check_use(body, services.current.snapshot.settings)
    before = await services.read(lambda: _chosen(services, body, principal(request)))
    if body.thread:
        backend = "" if body.reset else body.backend
        if not await services.wait_for_write(services.kept.pin(principal(request), body.thread, backend)):
            what = f"there is no thread {body.thread[:100]!r}"
            raise AdminProblem(404, what, "it may have been deleted", "list them with /api/threads")
    else:
        value = None if body.reset else body.backend
        await services.wait_for_write(services.kept.set(body.setting, value, scope=body.gateway, at=time.time()))
        await services.read(services.current.poll)

    def wait() -> Rollout:
        if body.thread:
            local = roll_out_pin(services.home, body.backend, services.kept.refresh_pins())
        else:
            of_part = None if body.setting == ACTIVE else body.backend
            local = roll_out_choice(services.home, services.kept.settings, gateway=body.gateway, of_part=of_part)
        return local if body.gateway else roll_out_shared(services.home, services.kept, local)

    what = "thread pinned" if body.thread else "backend chosen"
    await services.note(caller_name(request), what, body.target, before, body.backend)
    followed = await services.read(wait)
    return as_json(UseReply(body.backend, body.thread, body.gateway, body.family, body.agents, followed))


def _chosen(services: AdminServices, body: UseRequest, principal: str) -> str:
    """What was chosen before, for the part that is named."""
    store = services.kept
    if body.thread:
        return store.pin_of(principal, body.thread)
    return store.settings(body.gateway).get(body.setting, "")


def _check_use(body: UseRequest, settings: Settings) -> None:
    parts = [each for each in (body.thread, body.gateway, body.family, body.agents) if each]
    if body.reset == bool(body.backend) or len(parts) > 1:
        why = "name a backend or `reset`, and at most one of thread, gateway, family, agents"
        raise AdminProblem(400, "say one thing", why)
    if body.family and body.family not in FAMILIES:
        raise AdminProblem(404, f"there is no family {body.family[:100]!r}", f"there are: {', '.join(FAMILIES)}")
    if not body.reset:
        _check_backend(body.backend, settings)


def _check_backend(name: str, settings: Settings) -> None:
    if disabled := settings.disabled.get(name):
        raise AdminProblem(409, disabled.says, "set it where the gateway is started, and start the gateway again")
    if name not in settings.backends:
        known = ", ".join(sorted(settings.backends))
        raise AdminProblem(404, f"there is no backend {name[:100]!r}", f"there are: {known}")


class TrialRequest(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of `/api/trials`: the backend to try."""

    backend: str


async def try_backend(services: AdminServices, request: Request) -> Response:
    """What `clew backends test` does. It takes as long as the backend does, and some hundred tokens."""
    body, settings = await read_body(request, TrialRequest), services.current.snapshot.settings
    _check_backend(body.backend, settings)
    (trial,) = await trials(settings, {body.backend: settings.backends[body.backend]}, os.environ)
    return as_json(structs.replace(trial, says=services.redactor()(trial.says)))  # a backend may repeat its key

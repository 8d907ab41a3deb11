"""What the JSON routes answer."""

from __future__ import annotations

import os
import time
from importlib import import_module
from pathlib import Path

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from clew.admin.checkup import CHECKS, Examined, circumstances_of, examined
from clew.admin.desk import Desk
from clew.admin.metrics import CONTENT_TYPE
from clew.admin.parameters import count, number, principal, read_body
from clew.admin.problem import Problem
from clew.admin.routing import as_json
from clew.admin.status import status_of
from clew.admin.thread_view import projected, spoken
from clew.backends.names import FAMILIES
from clew.engine.choices import ACTIVE, AGENTS, family_choice
from clew.engine.told_tries import with_told_tries
from clew.settings.home import HOME_VARIABLE
from clew.settings.rollout import Rollout, roll_out_choice, roll_out_pin
from clew.store import Store
from clew.store.values import Bodies, Exchange, Heads, Hit, Passage, Thread

__all__ = [
    "checkup",
    "doctor",
    "exchange",
    "exchanges",
    "forget",
    "healthz",
    "metrics",
    "status",
    "thread",
    "threads",
    "use",
]


async def healthz(desk: Desk, request: Request) -> Response:
    return as_json({"status": "ok"})


async def status(desk: Desk, request: Request) -> Response:
    return as_json(await desk.read(lambda: status_of(desk)))


async def doctor(desk: Desk, request: Request) -> Response:
    """The check-up, as the gateway itself sees its surroundings."""
    online = request.query_params.get("online", "") == "1"
    return as_json({"checks": await desk.read(lambda: checkup(desk, online))})


def checkup(desk: Desk, online: bool) -> list[Examined]:
    """Every check, in this admin's own home and on its own settings file. May take seconds."""
    environ = {**os.environ, HOME_VARIABLE: str(desk.home.root)}
    at = circumstances_of(environ, Path.cwd(), time.time(), online=online, file=desk.current.file)
    return [examined(check, at, desk.redactor()) for check in CHECKS]


async def metrics(desk: Desk, request: Request) -> Response:
    desk.metrics.know(desk.current.snapshot.settings.backends)
    health = await desk.read(desk.health)
    await desk.read(lambda: import_module("clew.admin.exposition"))
    return Response(desk.metrics.text(health, desk.open_streams(), desk.version), media_type=CONTENT_TYPE)


class Use(Struct, kw_only=True, forbid_unknown_fields=True):
    """Which backend, for whom. With `reset`: as the settings say again."""

    backend: str = ""
    thread: str = ""
    gateway: str = ""
    family: str = ""
    agents: bool = False
    reset: bool = False

    @property
    def setting(self) -> str:
        """What the store calls it."""
        return AGENTS if self.agents else family_choice(self.family) if self.family else ACTIVE


class Used(Struct, frozen=True):
    """What was chosen: for all, or for the part that is named. `backend` is "" where a choice was taken back."""

    backend: str
    thread: str
    gateway: str
    family: str
    agents: bool
    followed: Rollout
    """Whether all gateways of this home have applied it, and which processes have not."""


async def use(desk: Desk, request: Request) -> Response:
    """Answers when every gateway and worker of this home has applied it, or says which has not."""
    wish = await read_body(request, Use)
    _check_use(wish, desk)
    if wish.thread:
        pinned = await desk.written(desk.kept.pin(principal(request), wish.thread, "" if wish.reset else wish.backend))
        if not pinned:
            raise _no_thread(wish.thread)
    else:
        value = None if wish.reset else wish.backend
        await desk.written(desk.kept.set(wish.setting, value, scope=wish.gateway, at=time.time()))
        await desk.read(desk.current.glance)
    followed = await desk.read(lambda: _followed(wish, desk))
    return as_json(Used(wish.backend, wish.thread, wish.gateway, wish.family, wish.agents, followed))


def _followed(wish: Use, desk: Desk) -> Rollout:
    """Waits for seconds, so it belongs into a thread."""
    if wish.thread:
        return roll_out_pin(desk.home, wish.backend, desk.kept.refresh_pins())
    of_part = None if wish.setting == ACTIVE else wish.backend
    return roll_out_choice(desk.home, desk.kept.settings, gateway=wish.gateway, of_part=of_part)


def _check_use(wish: Use, desk: Desk) -> None:
    settings = desk.current.snapshot.settings
    backends = settings.backends
    parts = [each for each in (wish.thread, wish.gateway, wish.family, wish.agents) if each]
    if wish.reset == bool(wish.backend) or len(parts) > 1:
        raise Problem(400, "say one thing", "name a backend or `reset`, and at most one of thread, gateway, family, agents")
    if wish.family and wish.family not in FAMILIES:
        raise Problem(404, f"there is no family {wish.family[:100]!r}", f"there are: {', '.join(FAMILIES)}")
    if disabled := settings.disabled.get(wish.backend):
        raise Problem(409, disabled.says, "set it where the gateway is started, and start the gateway again")
    if not wish.reset and wish.backend not in backends:
        raise Problem(404, f"there is no backend {wish.backend[:100]!r}", f"there are: {', '.join(sorted(backends))}")


class ExchangeRows(Struct, frozen=True):
    exchanges: list[Exchange]


async def exchanges(desk: Desk, request: Request) -> Response:
    """Newest first; with `after`, what came after that one, oldest first."""
    store, query, owner, limit = desk.kept, request.query_params, principal(request), count(request)
    after, thread_id = query.get("after"), query.get("thread")
    found = await desk.read(lambda: store.exchanges(owner, thread=thread_id, limit=limit, after=after))
    redact = desk.redactor()
    return as_json(ExchangeRows([with_told_tries(each, redact) for each in found]))


class Texts(Struct, frozen=True):
    """Bodies as text, for people to read and compare."""

    asked: str
    sent: str
    answered: str


class ExchangePage(Struct, frozen=True):
    exchange: Exchange
    bodies: Texts | None
    heads: Heads | None
    """Headers, without credentials."""
    note: str


NOT_KEPT = 'the bodies of this exchange are not kept; `[store] bodies = "last:50"` or `"all"` keeps those to come'


async def exchange(desk: Desk, request: Request) -> Response:
    store, owner, id = desk.kept, principal(request), request.path_params["id"]
    found, bodies = await desk.read(lambda: (store.exchange(owner, id), store.bodies(owner, id)))
    if found is None:
        raise Problem(404, "there is no such exchange", "it may have been forgotten", "list them with /api/exchanges")
    found = with_told_tries(found, desk.redactor())
    if bodies is None:
        return as_json(ExchangePage(found, None, None, NOT_KEPT))
    return as_json(ExchangePage(found, texts_of(bodies, desk), heads_of(bodies, desk), ""))


def texts_of(bodies: Bodies, desk: Desk) -> Texts:
    """With no key of ours in them, wherever it may have got in."""
    hide = desk.redactor().values
    asked, sent, answered = (hide(raw.decode("utf-8", "replace")) for raw in (bodies.asked, bodies.sent, bodies.answered))
    return Texts(asked, sent, answered)


def heads_of(bodies: Bodies, desk: Desk) -> Heads:
    """With nothing in them that is, or looks like, a secret. Credentials by their names were never kept."""
    hide, heads = desk.redactor(), bodies.heads
    asked, sent, answered = (
        tuple((name, hide(value)) for name, value in each) for each in (heads.asked, heads.sent, heads.answered)
    )
    return Heads(asked=asked, sent=sent, answered=answered, target=hide(heads.target), status=heads.status)


async def threads(desk: Desk, request: Request) -> Response:
    """The last used first; with `q`, those in which these words were said, and where."""
    store, owner, limit, before = desk.kept, principal(request), count(request), number(request, "before")
    words = request.query_params.get("q")
    if words is not None:
        return as_json(await desk.read(lambda: _found(store, owner, words, limit)))
    return as_json({"threads": await desk.read(lambda: store.threads(owner, limit=limit, before=before))})


class Found(Struct, frozen=True):
    """Each thread once, by its first hit; a thread may have several."""

    threads: list[Thread]
    hits: list[Hit]


def _found(store: Store, owner: str, words: str, limit: int) -> Found:
    hits = store.search(owner, words, limit=limit)
    names = dict.fromkeys(hit.thread for hit in hits)
    return Found([found for name in names if (found := store.thread(owner, name))], hits)


async def thread(desk: Desk, request: Request) -> Response:
    store, owner, id = desk.kept, principal(request), request.path_params["id"]
    passages = await desk.read(lambda: store.passages(owner, id))
    if not passages:
        raise _no_thread(id)
    backend = request.query_params.get("as")
    if backend is None:
        tree = await desk.read(lambda: store.tree(owner, id))
        return as_json({"thread": id, "turns": spoken(passages), "tree": tree})
    return as_json(await desk.read(lambda: _projected(desk, passages, backend, owner)))


def _projected(desk: Desk, passages: list[Passage], backend: str, owner: str) -> object:
    return projected(passages, backend, desk.current.snapshot, desk.kept, owner)


async def forget(desk: Desk, request: Request) -> Response:
    id = request.path_params["id"]
    if not await desk.forget(principal(request), id):
        raise _no_thread(id)
    return as_json({"forgotten": id})


def _no_thread(id: str) -> Problem:
    return Problem(404, f"there is no thread {id[:100]!r}", "it may have been forgotten", "list them with /api/threads")

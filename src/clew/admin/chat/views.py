"""The routes of a chat: ask, come back to an answer, stop it."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from typing import Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from clew.admin.access import Caller
from clew.admin.chat.answering import Answering, Table
from clew.admin.chat.asked import Posted, thread_id
from clew.admin.chat.runs import ChatRun
from clew.admin.desk import Desk
from clew.admin.parameters import read_body
from clew.admin.problem import Problem
from clew.admin.routing import as_json
from clew.backends.credential import Credential, credential_in
from clew.chat.conversation import AsyncConversation
from clew.chat.local import LocalThreadService
from clew.chat.service import Question
from clew.chat.ui.messages import metadata_of
from clew.chat.ui.parts import MEDIA_TYPE, Part, ui_headers
from clew.chat.ui.positions import UiPosition
from clew.errors import SettingsInvalid
from clew.store.values import Thread

__all__ = ["follow", "post", "stop"]

_MEGABYTE: Final = 1024 * 1024
_NO_CONTENT: Final = 204


class Following(StreamingResponse):
    """A run, told to one who listens; whoever goes is counted out, however they went."""

    def __init__(self, run: ChatRun, head: Sequence[Part]) -> None:
        super().__init__(run.follow(head), headers=ui_headers(), media_type=MEDIA_TYPE)
        self._run = run

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._run.leave()


async def post(desk: Desk, request: Request) -> Response:
    """Ask something. What is said is kept before anybody is asked, and the answer comes to its end whoever listens."""
    caller: Caller = request.state.caller
    settings = desk.current.snapshot.settings
    posted = await read_body(request, Posted, settings.gateway.max_body_megabytes * _MEGABYTE)
    place = (caller.principal, thread_id(posted.checked_id))
    run = await desk.runs.begin(place, settings.chat.max_answers)
    try:
        table = await desk.read(lambda: _opened(desk, place[1], caller))
        asked = await asyncio.to_thread(posted.place, table.desk.tree)
        question = _question(posted, asked, table.desk)
        answering = Answering(run, table, question, asked.message, lambda: desk.runs.finish(place, run))
        return Following(run, (await answering.begin(),))
    except BaseException:
        run.fail()
        desk.runs.finish(place, run)
        raise


def _opened(desk: Desk, id: str, caller: Caller) -> Table:
    """The thread as it is kept, or a new one."""
    works, now = desk.working, time.time()
    new = Thread(id=id, principal=caller.principal, session=id, agent="", title="", pin="", created=now, used=now, turns=0)
    found = desk.kept.thread(caller.principal, id)
    table = LocalThreadService(works, found or new, credential=_credential(caller))
    table.load()
    backends = desk.current.snapshot.settings.backends
    return Table(desk=table, account=lambda spots: metadata_of(spots, backends), hide=desk.redactor().values)


def _credential(caller: Caller) -> Credential:
    """For backends that take the client's own: what a key holder showed beside the key; the owner's is this process's."""
    return caller.credential if caller.door == "key" else credential_in(os.environ)


def _question(posted: Posted, place: UiPosition, table: LocalThreadService) -> Question:
    """Raises Problem if it is not said whom to ask."""
    usual = table.works.current.settings.chat
    conversation = AsyncConversation(table, posted.wishes(usual, new=not len(table.tree)))
    if place.follows:
        conversation.branch(place.follows)
    chosen = table.active if posted.backend == "" else posted.backend or ""
    try:
        if chosen:
            conversation.use(chosen)
        model = conversation.model
    except SettingsInvalid as error:
        raise Problem(400, "that cannot be asked", str(error), _NAME_ONE) from None
    return Question(asked=place.asked, follows=place.follows, model=model, backend=chosen, wishes=conversation.wishes)


_NAME_ONE: Final = "name a `model` or a `backend` in the body, or a model under [chat] in the settings"


async def follow(desk: Desk, request: Request) -> Response:
    """The answer that comes now, from its beginning on."""
    run = desk.runs.find(_place(request))
    if run is None:
        return Response(status_code=_NO_CONTENT)
    run.join()
    head = await run.replay_head()
    if head is None:
        run.leave()
        return Response(status_code=_NO_CONTENT)
    return Following(run, head)


async def stop(desk: Desk, request: Request) -> Response:
    """End the answer that comes now. What was finished of it is kept by then."""
    return as_json({"stopped": await desk.runs.stop(_place(request))})


def _place(request: Request) -> tuple[str, str]:
    caller: Caller = request.state.caller
    return caller.principal, thread_id(request.path_params["id"])

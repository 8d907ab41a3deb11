"""A request for which no backend can be asked: kept and told of like any other that fails."""

from __future__ import annotations

from clew.engine.commands import Compute, Keep, ReportExchange
from clew.engine.received_request import ReceivedRequest
from clew.engine.turns import asked_raw, title_of, unanswered
from clew.errors import PinUnreadable, SettingsInvalid
from clew.model.origin import Origin
from clew.model.turn import Bodies, Exchange, Try, TurnRecord


async def record_unasked(
    id: str, received: ReceivedRequest, failure: SettingsInvalid, at: float, *, has_store: bool
) -> None:
    """Keep what no backend can be asked for."""
    turn = await Compute(len(received.call.body), lambda: _turn(id, received, failure, at))
    if has_store and received.call.kind == "messages":
        await Keep(turn)
    await ReportExchange(turn.exchange, turn.recording)


def _turn(id: str, received: ReceivedRequest, failure: SettingsInvalid, at: float) -> TurnRecord:
    """What the store gets of it."""
    call, keeps = received.call, received.snapshot.settings.store
    exchange, entry = _exchange(id, received, failure, at), call.entry
    if received.is_title or isinstance(failure, PinUnreadable):  # its words may belong to a thread that nobody can find now
        return TurnRecord(exchange=exchange)
    return TurnRecord(
        exchange=exchange,
        recording=unanswered(entry, call.principal, Origin("", failure.key, "", "")) if entry else None,
        asked=(entry.asked if entry else asked_raw(received.request)) if keeps.content else (),
        title=title_of(received.request) if keeps.content else "",
        bodies=None if keeps.bodies == "off" else Bodies(asked=call.body),
    )


def _exchange(id: str, received: ReceivedRequest, failure: SettingsInvalid, at: float) -> Exchange:
    """Of the backend that was chosen. Which of its models it would have been, nobody knows."""
    call, context = received.call, received.facts.context
    return Exchange(
        id=id,
        principal=call.principal,
        thread=received.thread,
        started=at,
        ended=at,
        asked_model=received.request.body.model,
        backend=failure.key,
        model="",
        session=context.session,
        agent=context.agent,
        outcome="failed",
        status=failure.status,
        kind="title" if received.is_title else call.kind,
        streamed=received.streams,
        tries=(Try(backend=failure.key, why=f"not asked: {failure}"),),
        betas=call.betas,
    )

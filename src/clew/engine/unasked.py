"""A request for which no backend can be asked: kept and told of like any other that fails."""

from __future__ import annotations

from clew.engine.asking import Asking
from clew.engine.commands import Compute, Keep, ReportExchange
from clew.engine.turns import asked_raw, title_of, unanswered
from clew.errors import PinUnreadable, SettingsInvalid
from clew.model.origin import Origin
from clew.store.values import Bodies, Exchange, Try, TurnRecord

__all__ = ["keep_unasked"]


async def keep_unasked(id: str, asking: Asking, failure: SettingsInvalid, at: float, *, has_store: bool) -> None:
    """Keep what no backend can be asked for."""
    turn = await Compute(len(asking.call.body), lambda: _turn(id, asking, failure, at))
    if has_store and asking.call.kind == "messages":
        await Keep(turn)
    await ReportExchange(turn.exchange, turn.recording)


def _turn(id: str, asking: Asking, failure: SettingsInvalid, at: float) -> TurnRecord:
    """What the store gets of it."""
    call, keeps = asking.call, asking.snapshot.settings.store
    exchange, entry = _exchange(id, asking, failure, at), call.entry
    if asking.is_title or isinstance(failure, PinUnreadable):  # its words may belong to a thread that nobody can find now
        return TurnRecord(exchange=exchange)
    return TurnRecord(
        exchange=exchange,
        recording=unanswered(entry, call.principal, Origin("", failure.key, "", "")) if entry else None,
        asked=(entry.asked if entry else asked_raw(asking.request)) if keeps.content else (),
        title=title_of(asking.request) if keeps.content else "",
        bodies=None if keeps.bodies == "off" else Bodies(asked=call.body),
    )


def _exchange(id: str, asking: Asking, failure: SettingsInvalid, at: float) -> Exchange:
    """Of the backend that was chosen. Which of its models it would have been, nobody knows."""
    call, context = asking.call, asking.facts.context
    return Exchange(
        id=id,
        principal=call.principal,
        thread=asking.thread,
        started=at,
        ended=at,
        asked_model=asking.request.body.model,
        backend=failure.key,
        model="",
        session=context.session,
        agent=context.agent,
        outcome="failed",
        status=failure.status,
        kind="title" if asking.is_title else call.kind,
        streamed=asking.streams,
        tries=(Try(backend=failure.key, why=f"not asked: {failure}"),),
        betas=call.betas,
    )

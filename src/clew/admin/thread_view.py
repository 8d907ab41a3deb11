"""A thread for people to look at: as it was said, or as a backend would get it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Raw, Struct

from clew.admin.problem import Problem
from clew.chat.projected import Projected, projection_of
from clew.chat.request import history_of, line_of, messages_of
from clew.chat.turns import StoredTurn
from clew.engine.snapshot import Snapshot
from clew.model.json import JsonObject
from clew.model.origin import Origin
from clew.model.recording import Recording
from clew.store import Store
from clew.store.values import Passage
from clew.thinking.recognise import Context
from clew.thinking.seal import Sealer

__all__ = ["Projected", "Spoken", "projected", "spoken"]


class Spoken(Struct, frozen=True, kw_only=True):
    """One turn as it was said."""

    exchange: str
    at: float
    asked: tuple[Raw, ...]
    answer: tuple[Raw, ...] | None
    """The maker's own blocks; None if the answer is not recorded, or not any more."""
    origin: Origin | None = None
    whole: bool = True
    followed: str | None = None


def spoken(passages: Iterable[Passage]) -> list[Spoken]:
    return [_spoken(passage) for passage in passages]


def _spoken(passage: Passage) -> Spoken:
    recording = passage.recording
    return Spoken(
        exchange=passage.exchange,
        at=passage.at,
        asked=tuple(map(Raw, passage.asked)),
        answer=tuple(map(Raw, recording.blocks)) if recording and recording.blocks else None,
        origin=recording.origin if recording and recording.blocks else None,
        whole=recording.whole if recording else False,
        followed=recording.followed if recording else None,
    )


def projected(passages: Sequence[Passage], name: str, snapshot: Snapshot, store: Store, principal: str) -> Projected:
    """The line that ends with the newest answer, projected. Raises Problem if there is nothing to project."""
    line = line_of(passages)
    newest = line[-1].recording if line else None
    if newest is None:
        raise Problem(409, "nothing of this thread is recorded", "it has no answers, or they were forgotten")
    if name not in snapshot.settings.backends:
        known = ", ".join(sorted(snapshot.settings.backends))
        raise Problem(404, f"there is no backend {name[:100]!r}", f"there are: {known}")
    asked = store.exchange(principal, line[-1].exchange)
    model = asked.asked_model if asked else newest.origin.model
    messages = _messages(line, snapshot.sealer, ours=_is_ours(newest, store))
    context = Context(principal=principal, session=newest.session, agent=newest.agent)
    return projection_of(messages, name, model, snapshot, store, context)


def _messages(line: Sequence[Passage], sealer: Sealer, *, ours: bool) -> list[JsonObject]:
    """As whoever holds the conversation would send them: a client what it said, we with a word where an answer was cut."""
    if not ours:
        return [message for passage in line for message in messages_of(passage, sealer)]
    return [msgspec.json.decode(raw, type=JsonObject) for raw in history_of(map(StoredTurn, line), sealer)]


def _is_ours(newest: Recording, store: Store) -> bool:
    """Whether a conversation of ours holds it, and no client: such a thread is its own session, or its parent's."""
    session = newest.session
    return bool(session) and (session == newest.thread or store.thread(newest.principal, session) is not None)

"""What a gateway and a conversation elsewhere tell each other.

Messages and blocks travel as the bytes that they are: what was said is the same on both sides, down to its last space. Keys,
strands and places stay with the store; nobody else has a use for them.
"""

from __future__ import annotations

from typing import Final

from msgspec import Raw, Struct

from clew.chat.remote.troubles import Trouble
from clew.chat.request import Wishes
from clew.chat.turns import Spot
from clew.model.origin import Origin
from clew.model.recording import AnswerContent, Recording, Strand
from clew.store.values import Exchange, Passage, Thread

__all__ = [
    "CALL",
    "END",
    "TEXT",
    "THINKING",
    "TURN",
    "Asked",
    "Begun",
    "Ended",
    "Marked",
    "Opened",
    "Place",
    "ToldTurn",
    "spot_of",
    "told_of",
]

TURN: Final = "turn"
"""The first event of an answer: what was said is kept."""
THINKING: Final = "thinking"
TEXT: Final = "text"
CALL: Final = "call"
END: Final = "end"
"""The last: the turn as what became of it, and why it is not whole if it is not."""

_NOBODY = Origin("", "", "", "")


class ToldTurn(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One turn as it was said."""

    id: str
    at: float
    follows: str = ""
    asked: tuple[Raw, ...] = ()
    answer: tuple[Raw, ...] = ()
    """The maker's own blocks, as far as they came."""
    calls: tuple[str, ...] = ()
    """The ids that results are given for: those of the answer's tool calls, in order, and safe."""
    origin: Origin = _NOBODY
    whole: bool = False
    exchange: Exchange | None = None


class Place(Struct, frozen=True, kw_only=True):
    """Who could answer: backends with the model that each has by itself, and the active one."""

    backends: dict[str, str]
    active: str


class Opened(Struct, frozen=True, kw_only=True):
    """A conversation as it is now. `turns` are None for whoever knows as many as there are."""

    thread: Thread
    turns: tuple[ToldTurn, ...] | None
    place: Place


class Begun(Struct, frozen=True):
    """What was said is kept."""

    thread: Thread
    turn: ToldTurn


class Asked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question. `session` and `agent` are for a thread that is not there yet."""

    asked: tuple[Raw, ...]
    model: str
    follows: str = ""
    backend: str = ""
    wishes: Wishes = Wishes()
    session: str = ""
    agent: str = ""


class Marked(Struct, frozen=True, forbid_unknown_fields=True):
    """The turn whose calls were begun; "" if there is none, or are to be none. By which run of an agent, and whether that
    one is at it, as far as the gateway knows. Whoever begins them says which run they found, and how many turns they know to
    go on from this one; without that number it is noted whatever somebody else did."""

    turn: str
    run: str = ""
    was: str = ""
    followers: int | None = None
    lives: bool = False


class Ended(Struct, frozen=True):
    """What became of it."""

    turn: ToldTurn
    trouble: Trouble | None = None


def told_of(spot: Spot) -> ToldTurn:
    passage, recording = spot.passage, spot.passage.recording
    return ToldTurn(
        id=spot.id,
        at=spot.exchange.started if spot.exchange else passage.at,
        follows=spot.follows,
        asked=tuple(map(Raw, passage.asked)),
        answer=tuple(map(Raw, recording.blocks)) if recording else (),
        calls=recording.said.ids if recording else (),
        origin=recording.origin if recording else _NOBODY,
        whole=recording.whole if recording else False,
        exchange=spot.exchange,
    )


def spot_of(told: ToldTurn, thread: Thread) -> Spot:
    """The turn again. What only the store knows of its recording is left empty."""
    recording = Recording(
        id=told.id,
        principal=thread.principal,
        origin=told.origin,
        blocks=tuple(map(bytes, told.answer)),
        keys=(),
        said=AnswerContent(ids=told.calls),
        place=b"",
        strand=Strand(),
        followed=told.follows or None,
        session=thread.session,
        agent=thread.agent,
        thread=thread.id,
        whole=told.whole,
    )
    asked = tuple(map(bytes, told.asked))
    return Spot(Passage(exchange=told.id, at=told.at, asked=asked, recording=recording), told.exchange)

"""Turns as a page shows them: what was asked, what was answered, by whom, and what was altered on the way."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from clew.chat.prices import Cost
from clew.model.blocks import THINKING_TYPES
from clew.model.json import JsonObject
from clew.model.origin import ANTHROPIC
from clew.model.recording import Recording
from clew.store.text import ending_word, failure_of, unfinished_word
from clew.store.values import Exchange, Passage
from clew.web.exchange_row import Chip, chips_of
from clew.web.pieces import Piece, Results, blocks_in, pieces_of, results_in
from clew.web.reading import read

__all__ = ["Said", "Shown", "Way", "shown_turns"]


class Said(Struct, frozen=True, kw_only=True):
    """A message: who says it, and its pieces."""

    role: str
    pieces: Sequence[Piece]


class Way(Struct, frozen=True, kw_only=True):
    """Another turn that goes on from here: a branch."""

    exchange: str
    begins: str
    shown: bool
    at: float
    backend: str
    """Who answered there. Together they tell branches apart that begin with the same words."""


class Shown(Struct, frozen=True, kw_only=True):
    """One turn."""

    exchange: str
    at: float
    number: int
    asked: Sequence[Said]
    answer: Said | None
    backend: str = ""
    model: str = ""
    realm: str = ""
    whole: bool = True
    ending: str = ""
    """How an answer ended that is not whole, or not there at all, in the word that commands use."""
    why: str = ""
    """Why there is no answer, or not all of it."""
    held_back: bool = False
    """Its thinking never reached the client: the settings hide other makers'."""
    happened: Exchange | None = None
    cost: Cost | None = None
    chips: Sequence[Chip] = ()
    """What was altered on the way, and why."""
    after: str = ""
    """The turn that it followed."""
    words: str = ""
    """The question as the parts of a chat's message, in JSON; "" if it holds more than words."""
    ways: Sequence[Way] = ()


def shown_turns(
    line: Sequence[Passage], first: int, last: int, exchanges: dict[str, Exchange], ways: dict[str, list[Way]]
) -> list[Shown]:
    """Those from `first` to before `last`, counted from 0. Results stand with their calls, which may be a turn before."""
    asked = [_messages(passage) for passage in line[first : last + 1]]
    results = results_in([message for messages in asked for message in messages])
    calls = {id for passage in line[max(0, first - 1) : last] if passage.recording for id in passage.recording.said.ids}
    return [
        _shown(passage, first + offset, asked[offset], results, calls, exchanges.get(passage.exchange), ways)
        for offset, passage in enumerate(line[first:last])
    ]


def _messages(passage: Passage) -> list[JsonObject]:
    return [read(raw) for raw in passage.asked]


def _shown(
    passage: Passage,
    index: int,
    asked: Sequence[JsonObject],
    results: Results,
    calls: set[str],
    exchange: Exchange | None,
    ways: dict[str, list[Way]],
) -> Shown:
    recording = passage.recording if passage.recording and passage.recording.blocks else None
    origin = recording.origin if recording else None
    return Shown(
        exchange=passage.exchange,
        at=passage.at,
        number=index + 1,
        asked=[said for message in asked if (said := _asked(message, calls)).pieces],
        answer=_answer(recording, results) if recording else None,
        backend=origin.backend if origin else exchange.backend if exchange else "",
        model=origin.model if origin else exchange.model if exchange else "",
        realm=origin.realm if origin else "",
        whole=recording.whole if recording else True,
        ending=ending_word(exchange) if exchange and recording is None else unfinished_word(exchange),
        why=failure_of(exchange) if exchange else "",
        held_back=recording is not None and _is_held_back(recording),
        happened=exchange,
        chips=tuple(chips_of(exchange)) if exchange else (),
        after=(passage.recording.followed or "") if passage.recording else "",
        words=_in_words(asked),
        ways=ways.get(passage.exchange, ()),
    )


def _asked(message: JsonObject, calls: set[str]) -> Said:
    """Without the results that are shown with their calls."""
    own = [block for block in blocks_in(message.get("content")) if block.get("tool_use_id") not in calls]
    role = str(message.get("role"))
    return Said(role=role, pieces=pieces_of(own, role=role))


def _answer(recording: Recording, results: Results) -> Said:
    blocks = [read(raw) for raw in recording.blocks]
    own = results_in([{"content": [*blocks]}])  # of tools that the vendor runs itself
    called = {str(block["id"]) for block in blocks if "id" in block}
    shown = [block for block in blocks if "tool_use_id" not in block or str(block["tool_use_id"]) not in called]
    return Said(role="assistant", pieces=pieces_of(shown, recording.said.ids, {**results, **own}))


def _is_held_back(recording: Recording) -> bool:
    thought = any(read(raw).get("type") in THINKING_TYPES for raw in recording.blocks)
    return thought and not recording.keys and recording.origin.realm != ANTHROPIC


def _in_words(asked: Sequence[JsonObject]) -> str:
    """What a chat needs to ask it again."""
    blocks = [block for message in asked for block in blocks_in(message.get("content"))]
    if len(asked) != 1 or not blocks or any(block.get("type") != "text" for block in blocks):
        return ""
    return msgspec.json.encode([{"type": "text", "text": block.get("text")} for block in blocks]).decode()

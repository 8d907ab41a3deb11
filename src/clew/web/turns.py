"""Turns as a page shows them: what was asked, what was answered, by which backend, and what was altered on the way."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from clew.chat.prices import Cost
from clew.model.blocks import THINKING_TYPES
from clew.model.json import JsonObject
from clew.model.origin import ANTHROPIC
from clew.model.recording import Recording
from clew.model.turn import Exchange
from clew.store.text import ending_word, failure_of, unfinished_word
from clew.store.values import Passage
from clew.web.blocks import Results, ShownBlock, blocks_in, read_object, results_in, shown_blocks
from clew.web.client_form import ClientTurn
from clew.web.rows import Chip, chips_of


class ShownMessage(Struct, frozen=True, kw_only=True):
    """A message: its role, and its blocks."""

    role: str
    pieces: Sequence[ShownBlock]


class BranchLink(Struct, frozen=True, kw_only=True):
    """Another turn that follows the same one: a branch."""

    exchange: str
    begins: str
    shown: bool
    at: float
    backend: str
    """The backend that answered there. Time, backend and ending tell branches apart that begin with the same words."""
    ending: str = ""
    """How the answer ended, if it is not whole."""


class ShownTurn(Struct, frozen=True, kw_only=True):
    """A turn, as a page shows it."""

    exchange: str
    at: float
    number: int
    asked: Sequence[ShownMessage]
    answer: ShownMessage | None
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
    ways: Sequence[BranchLink] = ()
    client: ClientTurn | None = None
    """The same in its client's own form, where that is asked for."""


def shown_turns(
    line: Sequence[Passage], first: int, last: int, exchanges: dict[str, Exchange], links: dict[str, list[BranchLink]]
) -> list[ShownTurn]:
    """The turns from `first` to before `last`, counted from 0. Results stand with their calls, maybe a turn before."""
    asked = [[read_object(raw) for raw in passage.asked] for passage in line[first : last + 1]]
    results = results_in([message for messages in asked for message in messages])
    calls = {id for passage in line[max(0, first - 1) : last] if passage.recording for id in passage.recording.said.ids}
    views: list[ShownTurn] = []
    for number, (passage, messages) in enumerate(zip(line[first:last], asked, strict=False), first + 1):
        questions: list[ShownMessage] = []
        for message in messages:
            role, blocks = str(message.get("role")), blocks_in(message.get("content"))
            # Without the results that are shown with their calls.
            pieces = shown_blocks([block for block in blocks if block.get("tool_use_id") not in calls], role=role)
            if pieces:
                questions.append(ShownMessage(role=role, pieces=pieces))
        exchange, others = exchanges.get(passage.exchange), links.get(passage.exchange, ())
        views.append(_shown_turn(passage, number, questions, _plain_text(messages), results, exchange, others))
    return views


def _shown_turn(
    passage: Passage,
    number: int,
    questions: list[ShownMessage],
    words: str,
    results: Results,
    exchange: Exchange | None,
    links: Sequence[BranchLink],
) -> ShownTurn:
    recording = passage.recording if passage.recording and passage.recording.blocks else None
    origin = recording.origin if recording else None
    held_back = False
    if recording and not recording.keys and recording.origin.realm != ANTHROPIC:
        held_back = any(read_object(raw).get("type") in THINKING_TYPES for raw in recording.blocks)
    return ShownTurn(
        exchange=passage.exchange,
        at=passage.at,
        number=number,
        asked=questions,
        answer=_shown_answer(recording, results) if recording else None,
        backend=origin.backend if origin else exchange.backend if exchange else "",
        model=origin.model if origin else exchange.model if exchange else "",
        realm=origin.realm if origin else "",
        whole=recording.whole if recording else True,
        ending=ending_word(exchange) if exchange and recording is None else unfinished_word(exchange),
        why=failure_of(exchange) if exchange else "",
        held_back=held_back,
        happened=exchange,
        chips=tuple(chips_of(exchange)) if exchange else (),
        after=(passage.recording.followed or "") if passage.recording else "",
        words=words,
        ways=links,
    )


def _shown_answer(recording: Recording, results: Results) -> ShownMessage:
    blocks = [read_object(raw) for raw in recording.blocks]
    own = results_in([{"content": [*blocks]}])  # of tools that the vendor runs itself
    called = {str(block["id"]) for block in blocks if "id" in block}
    shown = [block for block in blocks if "tool_use_id" not in block or str(block["tool_use_id"]) not in called]
    return ShownMessage(role="assistant", pieces=shown_blocks(shown, recording.said.ids, {**results, **own}))


def _plain_text(asked: Sequence[JsonObject]) -> str:
    """The question as a chat needs it to ask it again; "" if it holds more than text."""
    blocks = [block for message in asked for block in blocks_in(message.get("content"))]
    if len(asked) != 1 or not blocks or any(block.get("type") != "text" for block in blocks):
        return ""
    return msgspec.json.encode([{"type": "text", "text": block.get("text")} for block in blocks]).decode()

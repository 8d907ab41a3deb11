"""Answering: one question asked, and its answer told to a run, part by part, until what became of it is kept.

It is a task of its own, so that it goes on whoever leaves.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec
from msgspec import Struct

from clew.admin.chat.runs import ChatRun
from clew.chat.compaction import CompactingReader
from clew.chat.events import Compacted
from clew.chat.local import LocalThreadService
from clew.chat.service import AnswerReader, Question
from clew.chat.ui.messages import MetadataOf, groups_of, parts_of_group, result_parts
from clew.chat.ui.parts import Part, compacted_part, compaction_part, error_text, finish_reason
from clew.chat.ui.steps import StepParts
from clew.errors import ClewError
from clew.model.events import Event
from clew.model.json import JsonObject

__all__ = ["Answering", "Table"]

_log = logging.getLogger("clew.admin")

STOPPED = "stopped"


class Table(Struct, frozen=True, kw_only=True, eq=False):
    """What an answer needs beside the question: where it is asked, how it is accounted for, and what may not be shown."""

    desk: LocalThreadService
    account: MetadataOf
    hide: Callable[[str], str]


class Answering:
    """`begin` raises what keeps a question from being asked; from then on, everything is told to the run."""

    def __init__(self, run: ChatRun, table: Table, question: Question, message: str, done: Callable[[], None]) -> None:
        """`message` is the one that the answer goes on with, "" for a new one; `done` is called at the end."""
        self._run = run
        self._table = table
        self._question = question
        self._message = message
        self._done = done
        self._is_stopped = False
        self._turn = ""
        """The one whose answer is told."""
        self._step = StepParts("")
        self._is_summarising = False

    async def begin(self) -> Part:
        """Save, ask, and go on in a task. The part that the stream begins with."""
        before = await asyncio.to_thread(self._before)
        hearing = await self._asked()
        self._listen_to(hearing.id)
        self._table.desk.overheard, self._table.desk.answers = self._overhear, self._name
        self._run.send({"type": "start-step"})
        task = asyncio.get_running_loop().create_task(self._tell(hearing), name="clew chat")
        start = self._start(hearing.id)
        self._run.begin((start, *before), lambda: self._stop(hearing, task))
        return start

    async def _asked(self) -> AnswerReader:
        desk, question = self._table.desk, self._question
        hearing = await desk.ask(question, _nowhere)
        compacts = desk.works.current.settings.chat.on_overflow == "compact"
        return CompactingReader(desk, question, hearing, _nowhere) if compacts else hearing

    def _listen_to(self, turn: str) -> None:
        self._turn, self._step = turn, StepParts(turn)

    def _start(self, turn: str) -> Part:
        """Who answers is not known yet: rules and failures of backends may make it another than was asked."""
        metadata: JsonObject = {"thread": self._table.desk.thread.id, "turn": turn}
        return {"type": "start", "messageId": self._message or turn, "messageMetadata": metadata}

    def _before(self) -> Sequence[Part]:
        """The message that the answer goes on with, for whoever has not seen it: its steps, and what the tools gave."""
        if not self._message:
            return ()
        desk, asked = self._table.desk, self._question
        group = groups_of(desk.tree.line(asked.follows))[-1]
        _, *told = parts_of_group(group, desk.works.current.snapshot.sealer)
        return (*told, *result_parts(msgspec.json.decode(raw, type=JsonObject) for raw in asked.asked))

    def _name(self, turn: str, backend: str, model: str) -> None:
        if turn == self._turn:
            self._run.send({"type": "message-metadata", "messageMetadata": {"backend": backend, "model": model}})

    def _overhear(self, turn: str, event: Event) -> None:
        """What is heard of another turn is the summary that this one waits for: that it is written is told, not what."""
        if turn == self._turn:
            for part in self._step.feed(event):
                self._run.send(part)
        elif not self._is_summarising:
            self._is_summarising = True
            self._run.send(compaction_part(self._turn, "summarising"))

    def _go_on(self, compacted: Compacted, turn: str) -> None:
        """On the new line: the message is the same, its turn another."""
        self._is_summarising = False
        self._run.send(compacted_part(compacted))
        self._run.send({"type": "message-metadata", "messageMetadata": {"turn": turn}})
        self._listen_to(turn)

    async def _stop(self, hearing: AnswerReader, task: asyncio.Task[None]) -> None:
        self._is_stopped = True
        hearing.leave()
        await asyncio.wait((task,))

    async def _tell(self, hearing: AnswerReader) -> None:
        try:
            while said := await hearing.next_events():
                for compacted in (each for each in said if isinstance(each, Compacted)):
                    self._go_on(compacted, hearing.id)
            await hearing.wait_stored()
            await self._finish(hearing)
        except Exception as error:
            _log.exception("an answer could not be told")
            await _left(hearing)
            self._run.send({"type": "error", "errorText": error_text(error)})
        finally:
            self._run.end()
            self._done()

    async def _finish(self, hearing: AnswerReader) -> None:
        """What became of it, last of all: by now it is kept."""
        spot = self._table.desk.tree[hearing.id]
        metadata = await asyncio.to_thread(self._metadata, hearing.id)
        if self._is_summarising:
            self._run.send(compaction_part(self._turn, "failed"))
        if spot.outcome == "whole":
            self._run.send({"type": "finish-step"})
            self._run.send(_finished(finish_reason(self._step.stop_reason), metadata))
        elif self._is_stopped:
            self._run.send({"type": "abort", "reason": STOPPED})
            self._run.send(_finished("interrupted", metadata))
        else:
            self._run.send({"type": "message-metadata", "messageMetadata": metadata})
            said = error_text(hearing.failure) if hearing.failure else "The answer broke off. What came of it is kept."
            self._run.send({"type": "error", "errorText": self._table.hide(said)})

    def _metadata(self, turn: str) -> JsonObject:
        group = groups_of(self._table.desk.tree.line(turn))[-1]
        return self._table.account(group.turns)


def _nowhere(turn: str) -> None:
    """Nobody has a place in the tree here: each request says where it stands."""


async def _left(hearing: AnswerReader) -> None:
    """Nobody can be told any more: it ends too, before another question is asked there."""
    hearing.leave()
    with suppress(ClewError):  # it is in the store's health
        await hearing.wait_stored()


def _finished(reason: str, metadata: JsonObject) -> Part:
    return {"type": "finish", "finishReason": reason, "messageMetadata": metadata}

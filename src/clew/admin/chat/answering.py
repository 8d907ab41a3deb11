"""ChatAnswer: one question asked, and its answer sent to a run, part by part, until it is recorded.

It runs in a task of its own, so that it goes on when clients leave.
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
from clew.chat.local import LocalThreadService
from clew.chat.service import AnswerReader, Compacted, Question
from clew.chat.ui.messages import MetadataOf, StepParts, parts_of_group, result_parts
from clew.chat.ui.parts import Part, compacted_part, compaction_part, error_text, finish_reason
from clew.chat.ui.positions import groups_of
from clew.errors import ClewError
from clew.model.events import Event
from clew.model.json import JsonObject

_log = logging.getLogger("clew.admin")

STOPPED = "stopped"


class ChatContext(Struct, frozen=True, kw_only=True, eq=False):
    """What an answer needs beside the question: where it is asked, how its metadata is made, and what may not be shown."""

    service: LocalThreadService
    account: MetadataOf
    hide: Callable[[str], str]


class ChatAnswer:
    """`begin` raises what keeps a question from being asked; from then on, everything is sent to the run."""

    def __init__(
        self, run: ChatRun, context: ChatContext, question: Question, message: str, done: Callable[[], None]
    ) -> None:
        """`message` is the one that the answer goes on with, "" for a new one; `done` is called at the end."""
        self._run = run
        self._context = context
        self._question = question
        self._message = message
        self._done = done
        self._is_stopped = False
        self._turn = ""
        """The turn whose answer is sent."""
        self._step = StepParts("")
        self._is_summarising = False

    async def begin(self) -> Part:
        """Save the question, ask it, and go on in a task. Returns the part that the stream begins with."""
        service, question = self._context.service, self._question
        before = await asyncio.to_thread(self._parts_before)
        reader: AnswerReader = await service.ask(question, _ignore)
        if service.runtime.current.settings.chat.on_overflow == "compact":
            reader = CompactingReader(service, question, reader, _ignore)
        self._turn, self._step = reader.id, StepParts(reader.id)
        service.overheard, service.answers = self._send_event, self._send_backend
        self._run.send({"type": "start-step"})
        task = asyncio.get_running_loop().create_task(self._send_answer(reader), name="clew chat")

        async def stop() -> None:
            self._is_stopped = True
            reader.leave()
            await asyncio.wait((task,))

        # The backend is not in it: rules and failures may make it another than was asked.
        metadata: JsonObject = {"thread": service.thread.id, "turn": reader.id}
        start: Part = {"type": "start", "messageId": self._message or reader.id, "messageMetadata": metadata}
        self._run.begin((start, *before), stop)
        return start

    def _parts_before(self) -> Sequence[Part]:
        """The message that the answer goes on with, for a client that has not seen it: its steps, and the tools'
        results."""
        if not self._message:
            return ()
        service, asked = self._context.service, self._question
        group = groups_of(service.tree.line(asked.follows))[-1]
        _, *parts = parts_of_group(group, service.runtime.current.snapshot.sealer)
        return (*parts, *result_parts(msgspec.json.decode(raw, type=JsonObject) for raw in asked.asked))

    def _send_backend(self, turn: str, backend: str, model: str) -> None:
        if turn == self._turn:
            self._send_metadata({"backend": backend, "model": model})

    def _send_event(self, turn: str, event: Event) -> None:
        """An event of another turn is of the summary that this one waits for: only that it is written is sent."""
        if turn == self._turn:
            for part in self._step.feed(event):
                self._run.send(part)
        elif not self._is_summarising:
            self._is_summarising = True
            self._run.send(compaction_part(self._turn, "summarising"))

    async def _send_answer(self, reader: AnswerReader) -> None:
        try:
            while said := await reader.next_events():
                for compacted in (each for each in said if isinstance(each, Compacted)):
                    # The message stays the same, but goes on in the turn after the summary.
                    self._is_summarising = False
                    self._run.send(compacted_part(compacted))
                    self._send_metadata({"turn": reader.id})
                    self._turn, self._step = reader.id, StepParts(reader.id)
            await reader.wait_stored()
            await self._send_end(reader)
        except Exception as error:
            _log.exception("a chat answer could not be sent")
            reader.leave()
            with suppress(ClewError):  # the store's health reports it
                await reader.wait_stored()  # before another question is asked in this thread
            self._run.send({"type": "error", "errorText": error_text(error)})
        finally:
            self._run.end()
            self._done()

    async def _send_end(self, reader: AnswerReader) -> None:
        """How the answer ended, last of all: by now it is recorded."""
        spot = self._context.service.tree[reader.id]
        line = self._context.service.tree.line(reader.id)
        metadata = await asyncio.to_thread(lambda: self._context.account(groups_of(line)[-1].turns))
        if self._is_summarising:
            self._run.send(compaction_part(self._turn, "failed"))
        if spot.outcome == "whole":
            self._run.send({"type": "finish-step"})
            self._send_finish(finish_reason(self._step.stop_reason), metadata)
        elif self._is_stopped:
            self._run.send({"type": "abort", "reason": STOPPED})
            self._send_finish("interrupted", metadata)
        else:
            self._send_metadata(metadata)
            text = error_text(reader.failure) if reader.failure else "The answer broke off. The part that came is kept."
            self._run.send({"type": "error", "errorText": self._context.hide(text)})

    def _send_metadata(self, metadata: JsonObject) -> None:
        self._run.send({"type": "message-metadata", "messageMetadata": metadata})

    def _send_finish(self, reason: str, metadata: JsonObject) -> None:
        self._run.send({"type": "finish", "finishReason": reason, "messageMetadata": metadata})


def _ignore(turn: str) -> None:
    """A chat has no place in the tree to move: each request says where it stands."""

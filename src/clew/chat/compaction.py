"""Compaction: a conversation that is too long for the model continues from a summary of itself.

The model is asked for the summary in a turn of its own, at the end of the long line. The new line begins with the summary
and the question that did not fit. Both are marked in their text, so that every reader of a thread or an export sees what
happened. The old line does not change, and `branch` goes back to it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec
from msgspec import Struct, structs

from clew.chat.messages import ToolCall, blocks_in, marked_request, marked_summary, result_block
from clew.chat.service import AnswerEvent, AnswerReader, Compacted, OnTurn, Question, ThreadService
from clew.chat.turns import StoredTurn, message_of, turn_of
from clew.errors import BackendRejected, ClewError
from clew.model.facts import rules
from clew.model.json import JsonObject, JsonValue

_REQUEST: Final = """\
This conversation has become too long for one request. It goes on from a summary that you write now.

Write down whatever is needed to go on without the rest: what the user wants, in their own words where the wording matters; \
what was decided and why; facts, names, paths, numbers and code that are still needed; what was done, what came of it, and \
what is still open. Write the summary alone: call no tools, and do not answer the user."""

_LEFT_OUT: Final = "(left out: the conversation is summarised first)"
_STATUSES: Final = (400, 413)
_NO_TOOLS: Final[JsonObject] = {"type": "none"}


class _Summary(Struct, frozen=True):
    """The summary, the turn in which the model wrote it, and the turns that it does not cover."""

    stored: StoredTurn
    text: str
    since: Sequence[StoredTurn]


class CompactingReader:
    """Reads the answer to a question. If the question does not fit, it compacts the conversation once and asks again."""

    def __init__(self, service: ThreadService, question: Question, first: AnswerReader, go_to: OnTurn) -> None:
        self._service = service
        self._question = question
        self._answer = first
        self._now: AnswerReader = first
        """What is read now: the answer, or a summary."""
        self._go_to = go_to
        self._tried = False
        self._left = False
        self._lock = asyncio.Lock()
        """Another task may stop the answer than the one that reads it: it waits until nothing more is asked."""
        self._failure: ClewError | None = None

    @property
    def id(self) -> str:
        return self._answer.id

    @property
    def failure(self) -> BaseException | None:
        return self._failure or self._answer.failure

    async def next_events(self) -> Sequence[AnswerEvent]:
        events = await self._now.next_events()
        if events or self._tried or self._left:
            return events
        self._tried = True
        async with self._lock:
            await self._now.wait_stored()
            if not self._question.follows or not is_overflow(self._now.failure):
                return ()
            try:
                # Continue on a new line. Without a summary nothing changes: the question stays refused
                refused, last = self._answer, self._service.tree[self._question.follows]
                summary = await self._summarise(last)
                self._now = refused
                self._go_to(refused.id)
                if summary is None or self._left:
                    return ()
                first = first_message(summary.text, last, summary.since, self._question.asked)
                self._answer = self._now = await self._ask(structs.replace(self._question, asked=(first,), follows=""))
                return [Compacted(turn_of(self._service.tree[refused.id]), turn_of(summary.stored))]
            except ClewError as error:
                self._failure = error
                return ()

    async def wait_stored(self) -> None:
        async with self._lock:
            await self._now.wait_stored()
            if self._answer is not self._now:
                await self._answer.wait_stored()

    def leave(self) -> None:
        self._left = True
        self._now.leave()

    async def _ask(self, question: Question) -> AnswerReader:
        reader = await self._service.ask(question, self._go_to)
        if self._left:
            reader.leave()
        return reader

    async def _summarise(self, last: StoredTurn) -> _Summary | None:
        """Ask for a summary; the next question is asked only if the one before did not fit."""
        for question, since in self._summary_questions(last):
            self._now = await self._ask(question)
            while await self._now.next_events():
                pass
            await self._now.wait_stored()
            stored = self._service.tree[self._now.id]
            message = message_of(stored)
            if message is not None and message.content and stored.outcome == "whole":
                return _Summary(stored, message.content, since)
            if self._left or not is_overflow(self._now.failure):
                return None
        return None

    def _summary_questions(self, last: StoredTurn) -> Iterator[tuple[Question, Sequence[StoredTurn]]]:
        """The requests for a summary, in the order of trying: to the backend of the question; to the backend that answered
        last, whose window may be larger; and for the older half of the line only."""
        wishes = structs.replace(self._question.wishes, schema=None, tool_choice=_NO_TOOLS)
        own = structs.replace(self._question, asked=(summary_request(last),), follows=last.id, wishes=wishes)
        yield own, ()
        maker = last.exchange
        if maker is not None and maker.backend in self._service.backends and maker.asked_model != own.model:
            yield structs.replace(own, backend=maker.backend, model=maker.asked_model), ()
        line = self._service.tree.line(last.id)
        if len(line) > 1:
            half = len(line) // 2
            older = line[half - 1]
            yield structs.replace(own, asked=(summary_request(older),), follows=older.id), line[half:]


def is_overflow(error: BaseException | None) -> bool:
    """Was the question refused because it does not fit the model's window? Other vendors' errors have the same words."""
    if not isinstance(error, BackendRejected) or error.status not in _STATUSES:
        return False
    beginnings = (rule.text.partition("{")[0].rstrip(": ") for rule in rules().values() if rule.phase == "length")
    return any(each in str(error) for each in beginnings)


def summary_request(last: StoredTurn) -> bytes:
    """The question for a summary after this turn. Pending calls get results: no model takes them without."""
    results: list[JsonValue] = [result_block(call.id, _LEFT_OUT) for call in _calls(last)]
    return _message([*results, {"type": "text", "text": marked_request(_REQUEST)}])


def first_message(summary: str, of: StoredTurn, since: Iterable[StoredTurn], asked: Sequence[bytes]) -> bytes:
    """The first message of the new line: the summary, later turns as text, and the question that did not fit."""
    text = "\n\n".join(filter(None, (summary, *transcript(since))))
    content: list[JsonValue] = [{"type": "text", "text": marked_summary(text, of.id)}]
    calls = {call.id: call for call in _calls(of)}
    for raw in asked:
        for block in blocks_in(msgspec.json.decode(raw, type=JsonObject)):
            content += _result_as_text(block, calls) if block.get("type") == "tool_result" else [block]
    return _message(content)


def transcript(stored_turns: Iterable[StoredTurn]) -> Iterator[str]:
    """Turns as plain text, without the turns that an earlier summary covers."""
    for stored in stored_turns:
        texts = [text for message in stored.asked for block in blocks_in(message) for text in _texts(block)]
        message = message_of(stored)
        yield f"The user: {' '.join(texts)}"
        if message is not None:
            calls = (f"(called {call.name} with {call.arguments})" for call in message.tool_calls)
            yield f"You: {' '.join(filter(None, (message.content, *calls)))}"


def _calls(stored: StoredTurn) -> Sequence[ToolCall]:
    message = message_of(stored)
    return message.tool_calls if message else ()


def _result_as_text(block: JsonObject, calls: dict[str, ToolCall]) -> Iterator[JsonValue]:
    """A tool result as text, with its pictures: the call that it answers is not in the new line."""
    call = calls.get(str(block.get("tool_use_id")))
    name = f"{call.name} with {call.arguments}" if call else "a tool"
    failed = "failed" if block.get("is_error") else "gave"
    yield {"type": "text", "text": f"{name} {failed}: {' '.join(_texts(block))}"}
    content = block.get("content")
    for part in content if isinstance(content, list) else ():
        if not (isinstance(part, dict) and part.get("type") == "text"):
            yield part


def _texts(block: JsonObject) -> Iterator[str]:
    content = block.get("content") if block.get("type") == "tool_result" else [block]
    if isinstance(content, str):
        yield content
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict) and isinstance(text := part.get("text"), str):
            yield text


def _message(content: Sequence[JsonValue]) -> bytes:
    return msgspec.json.encode({"role": "user", "content": content})

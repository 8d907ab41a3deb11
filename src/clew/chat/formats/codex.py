"""Codex' session files ("rollouts"): the reader of JSON lines that hold the items of a Responses conversation, in order.

A run of items that the model made is one answer, and what stands before it is its question. The items of a turn are read as
the gateway would read them from Codex itself: an answer that a gateway recorded is found again, and one that none has seen
is found by its calls when the session goes on through clew. A file is one conversation. After a compaction the file goes
on with what is new: the answers before it stay as they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from typing import Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from clew.chat.formats.answers import IMPORTED, Chain, FileAnswer, ImportedAnswer, asked_in, hash_of, import_answer
from clew.chat.formats.format import (
    KNOWN,
    UNREADABLE,
    BrokenLine,
    ImportContext,
    NumberedLine,
    ReadableFormat,
    ReadItem,
    Skipped,
)
from clew.dialects.openai_responses.request_reader import read_request
from clew.errors import ClewError
from clew.exchange.turns import titled
from clew.model.turn import Exchange, Outcome, TokenUsage, TurnRecord

_LINES_TO_CHECK: Final = 20
_MODELS_ROLE: Final = "assistant"
_OUTPUT: Final = "_output"
_FROM_CLIENT: Final = frozenset({"additional_tools", "compaction", "compaction_trigger", "agent_message"})
_ABORTED: Final = b'"turn_aborted"'


class RolloutLine(Struct, frozen=True):
    """A line of a session file: when it was written, its kind, and its value."""

    type: str
    payload: Raw | UnsetType = UNSET
    timestamp: str = ""


class _Session(Struct, frozen=True):
    id: str = ""
    session_id: str = ""


class _TurnContext(Struct, frozen=True):
    model: str = ""


class _Item(Struct, frozen=True):
    type: str = ""
    role: str = ""


class _Counts(Struct, frozen=True):
    input_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_input_tokens: int = 0
    output_tokens: int = 0


class _UsageRecord(Struct, frozen=True):
    usage: _Counts = _Counts()


class _Message(Struct, frozen=True):
    role: str
    content: Raw


class _Document(Struct, frozen=True):
    messages: list[Raw] = []


_line = msgspec.json.Decoder(RolloutLine)
_item = msgspec.json.Decoder(_Item)
_document = msgspec.json.Decoder(_Document)
_message = msgspec.json.Decoder(_Message)
_blocks = msgspec.json.Decoder(list[Raw])


def read_rollout(lines: Iterable[NumberedLine], context: ImportContext) -> Iterator[ReadItem]:
    """Every turn, as soon as its last line was read."""
    rollout = _Rollout(context)
    for number, raw in lines:
        if not raw.strip():
            continue
        try:
            raw.decode()
            line = _line.decode(raw)
        except UNREADABLE as error:
            yield BrokenLine(number, str(error))
            continue
        yield from rollout.read_line(number, line)
    yield from rollout.end()


class _Rollout:
    """The conversation of one session file, as its lines are read."""

    def __init__(self, context: ImportContext) -> None:
        self._context = context
        self._session, self._agent, self._model = "", "", ""
        self._chain: Chain | None = None
        self._asked: list[Raw] = []
        self._answer: list[Raw] = []
        self._number, self._asked_at = 0, 0
        self._began = self._at = context.at
        self._usage: TokenUsage | None = None
        self._is_whole = True

    def read_line(self, number: int, line: RolloutLine) -> Iterator[ReadItem]:
        """Add one line to the conversation."""
        with suppress(ValueError):
            self._at = datetime.fromisoformat(line.timestamp).timestamp()
        payload = line.payload if isinstance(line.payload, Raw) else Raw(b"{}")
        try:
            if line.type == "response_item":
                yield from self._read_item(number, payload)
            elif line.type == "session_meta":
                meta = msgspec.json.decode(payload, type=_Session)
                self._session = meta.session_id or meta.id
                self._agent = meta.id if meta.id != self._session else ""
            elif line.type == "turn_context":
                self._model = msgspec.json.decode(payload, type=_TurnContext).model or self._model
            elif line.type == "token_usage_record":
                counts = msgspec.json.decode(payload, type=_UsageRecord).usage
                cached = counts.cached_input_tokens + counts.cache_write_input_tokens
                self._usage = TokenUsage(
                    input=max(counts.input_tokens - cached, 0),
                    output=counts.output_tokens,
                    cache_read=counts.cached_input_tokens,
                    cache_written=counts.cache_write_input_tokens,
                )
            else:
                self._is_whole = self._is_whole and _ABORTED not in bytes(payload)
                yield Skipped(line.type)
        except UNREADABLE as error:
            yield BrokenLine(number, str(error))

    def _read_item(self, number: int, payload: Raw) -> Iterator[ReadItem]:
        item = _item.decode(payload)
        # Whether the model made it: reasoning, a call, or what an assistant said
        if item.type == "message":
            is_models = item.role == _MODELS_ROLE
        else:
            is_models = item.type not in _FROM_CLIENT and not item.type.endswith(_OUTPUT)
        if is_models:
            self._number = self._number or number
            self._answer.append(payload)
            return
        if self._answer:
            yield from self._close_answer()
        if not self._asked:
            self._began, self._asked_at = self._at, number
        self._asked.append(payload)

    def end(self) -> Iterator[ReadItem]:
        """The last answer; a question that has none, if there is one."""
        if self._answer:
            yield from self._close_answer()
        try:
            asked = self._messages(self._asked)[0]
        except (ClewError, *UNREADABLE) as error:
            yield BrokenLine(self._asked_at, str(error))
            return
        if asked:
            turn_id = hash_of("unanswered", self._session, *(raw.decode("utf-8", "replace") for raw in asked))
            exchange = self._exchange(turn_id, self._thread(), outcome="failed")
            yield TurnRecord(exchange=exchange, asked=asked, title=_title(asked))

    def _close_answer(self) -> Iterator[ReadItem]:
        items, number = [*self._asked, *self._answer], self._number
        try:
            asked, blocks = self._messages(items)
            imported = (
                import_answer(self._file_answer(number, asked, blocks), self._chain, self._context) if blocks else None
            )
        except (ClewError, *UNREADABLE) as error:
            yield BrokenLine(number, str(error))
        else:
            if imported is None:
                yield Skipped("empty answer")
            else:
                self._chain = imported.chain
                yield self._turn_of(imported, asked) if imported.new else Skipped(KNOWN)
        self._asked, self._answer, self._number = [], [], 0
        self._usage, self._is_whole = None, True

    def _messages(self, items: list[Raw]) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
        """The question's messages, and the answer's blocks, as the gateway reads them."""
        if not items:
            return (), ()
        raw = msgspec.json.encode({"model": self._model or "unknown", "input": items})
        document = _document.decode(read_request(raw, {}).source.raw)
        messages = [(_message.decode(each), bytes(each)) for each in document.messages]
        answered = [message for message, _ in messages if message.role == _MODELS_ROLE]
        asked = tuple(raw for message, raw in messages if message.role != _MODELS_ROLE)
        return asked, tuple(bytes(block) for message in answered for block in _blocks.decode(message.content))

    def _file_answer(self, number: int, asked: tuple[bytes, ...], blocks: tuple[bytes, ...]) -> FileAnswer:
        return FileAnswer(
            name=f"{self._session} {self._agent} line {number}",
            model=self._model,
            blocks=blocks,
            asked=asked,
            session=self._session,
            agent=self._agent,
            thread=self._thread(),
            whole=self._is_whole,
        )

    def _thread(self) -> str:
        if self._chain is not None:
            return self._chain.thread
        known = self._context.thread_of(self._session, self._agent)
        return known or hash_of("thread", self._session, self._agent)

    def _turn_of(self, imported: ImportedAnswer, asked: tuple[bytes, ...]) -> TurnRecord:
        recording = imported.recording
        exchange = self._exchange(
            recording.id,
            recording.thread,
            recording.origin.backend,
            recording.origin.model,
            "whole" if self._is_whole else "cut",
        )
        return TurnRecord(exchange=exchange, recording=recording, asked=asked, title=_title(asked))

    def _exchange(
        self, id: str, thread: str, backend: str = IMPORTED, model: str = "", outcome: Outcome = "failed"
    ) -> Exchange:
        return Exchange(
            id=id,
            principal=self._context.principal,
            thread=thread,
            started=self._began,
            ended=self._at,
            asked_model=self._model,
            backend=backend,
            model=model,
            session=self._session,
            agent=self._agent,
            outcome=outcome,
            usage=self._usage,
            streamed=True,
            dialect="openai-responses",
            client="Codex",
        )


def _title(asked: tuple[bytes, ...]) -> str:
    """Of the last message: those before it say where Codex runs."""
    return titled(asked_in(asked[-1:]))


def fits(head: bytes) -> bool:
    """Does a file with these first bytes look like a session of Codex?"""
    for raw in head.split(b"\n", _LINES_TO_CHECK)[:_LINES_TO_CHECK]:
        with suppress(*UNREADABLE):
            if _line.decode(raw).type in ("session_meta", "turn_context", "response_item"):
                return True
    return False


CODEX = ReadableFormat(name="codex", does="A session file of Codex, one line for each item.", read=read_rollout, fits=fits)

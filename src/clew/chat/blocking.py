"""A conversation for programs without an event loop: the asynchronous one on a loop in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

from clew.chat.answer import AsyncAnswer
from clew.chat.conversation import AsyncConversation
from clew.chat.messages import Content, Message, Output, ToolCall
from clew.chat.opening import OnOverflow, OpenOptions, signed_like
from clew.chat.request import Projected
from clew.chat.service import AnswerEvent
from clew.chat.turns import Turn
from clew.errors import RequestInvalid
from clew.http.loops import LoopThread
from clew.model.json import JsonObject

T = TypeVar("T")


class Loop(LoopThread):
    """`with Loop() as loop: loop.call(coroutine())`. Leaving it cancels everything that still runs there.

    >>> async def answer() -> int:
    ...     return 42
    >>> with Loop() as loop:
    ...     loop.call(answer())
    42
    """

    def __init__(self) -> None:
        super().__init__("clew-conversation")

    @property
    def is_current(self) -> bool:
        """Does the caller run on this loop?"""
        return threading.current_thread() is self._thread

    def next(self, iterator: AsyncIterator[T]) -> T | None:
        """The next value of an iterator on the loop; None at its end."""

        async def advance() -> T | None:
            return await anext(iterator, None)

        return self.call(advance())

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop, and wait for it. An interrupt while waiting cancels the coroutine.

        Raises RequestInvalid if the wait would never end, or the loop is closed.
        """
        why = ""
        if self._loop.is_closed():
            why = "this is closed: open it again"
        elif self.is_current:
            why = "a coroutine cannot wait for the loop that it runs on: take a plain function"
        if why:
            work.close()
            raise RequestInvalid(why)
        done = self._begun(work)
        try:
            return done.result()
        except BaseException:
            done.cancel()  # has no effect if the coroutine itself failed
            raise


class Answer:
    """One answer, as it comes. Iterate it, or ask for its `message`; nothing happens before that."""

    def __init__(self, answer: AsyncAnswer, loop: Loop) -> None:
        self._answer = answer
        self._loop = loop

    def __iter__(self) -> Iterator[AnswerEvent]:
        return self

    def __next__(self) -> AnswerEvent:
        """Raises BackendError if the answer fails. Ctrl-C stops the answer, and keeps finished blocks."""
        try:
            event = self._loop.next(self._answer)
        except KeyboardInterrupt:
            self.stop()
            raise
        if event is None:
            raise StopIteration
        return event

    def message(self) -> Message:
        """The whole answer; of a stopped answer, its finished blocks. Raises as iterating does."""
        for _ in self:
            pass
        return self._loop.call(self._answer.message())

    def stop(self) -> None:
        """Stop the answer. Its finished blocks are stored when this returns."""
        self._loop.call(self._answer.stop())

    @property
    def turn(self) -> Turn | None:
        """The turn as it is now; None before it is stored."""
        return self._answer.turn


class ConversationKeywords(OpenOptions, total=False):
    """The keywords of `AsyncConversation.open`, for the blocking form."""

    backend: str
    model: str
    system: str | Sequence[JsonObject]
    tools: Sequence[JsonObject]
    max_tokens: int
    thinking: JsonObject | None
    effort: str
    on_overflow: OnOverflow


class Conversation:
    """A conversation that is stored and shown unchanged, and sent in the form that each backend needs.

    `open` takes what `AsyncConversation.open` takes. Use it in a `with`, or `close` it when you are done.

    >>> from clew import Conversation
    >>> from clew.testing import Simulator
    >>> with Simulator() as claude:
    ...     conversation = Conversation.open(home=claude.home(), model="claude-opus-5-5")
    ...     message = conversation.ask("Hello!").message()
    ...     [turn] = conversation.turns
    ...     conversation.close()
    >>> (message.role, turn.outcome, turn.backend)
    ('assistant', 'whole', 'claude')
    """

    def __init__(self, conversation: AsyncConversation, loop: Loop, *, is_opener: bool = False) -> None:
        """From its parts: use `open` instead. `is_opener`: the loop ends with the conversation."""
        self._own = conversation
        self._loop = loop
        self._is_opener = is_opener

    @classmethod
    @signed_like(AsyncConversation.open)
    def open(cls, thread: str = "", **options: Unpack[ConversationKeywords]) -> Self:
        """A new conversation, or the one with this thread's id, at its newest turn: see `AsyncConversation.open`.

        In a `with` it is closed at the end of the block; without one, by `close`.
        """

        async def open_conversation() -> AsyncConversation:
            return await AsyncConversation.open(thread, **options)

        loop = Loop().__enter__()
        try:
            return cls(loop.call(open_conversation()), loop, is_opener=True)
        except BaseException:
            loop.__exit__(None, None, None)
            raise

    def close(self) -> None:
        """Stop an answer that is under way, and close all that was opened for this conversation. It may be called twice."""
        if self._is_opener:
            self._is_opener = False
            self._loop.call(self._own.close())
            self._loop.__exit__(None, None, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def ask(self, content: Content) -> Answer:
        """Ask a question: text, or blocks."""
        return self._answer(self._own.ask(content))

    def results(self, outputs: Mapping[str, Output]) -> Answer:
        """Give the tools' results, by the ids of the calls."""
        return self._answer(self._own.results(outputs))

    def retry(self) -> Answer:
        """Ask the last question again. A failed question stays one turn; an existing answer stays, as a branch."""
        return self._answer(self._own.retry())

    def edit(self, turn: str | Turn, content: Content) -> Answer:
        """Ask something else in place of this turn. The turn stays, as a branch."""
        return self._answer(self._own.edit(turn, content))

    def branch(self, at: str | Turn) -> None:
        """Continue from this turn. The turns after it stay, as a branch."""
        self._own.branch(at)

    def use(self, backend: str, *, model: str = "") -> None:
        """Let another backend answer from now on, in the middle of a tool loop too."""
        self._own.use(backend, model=model)

    def wish(self, *, model: str = "", thinking: JsonObject | None = None, effort: str = "") -> None:
        """Use these parameters from now on: all three are set as by `open`."""
        self._own.wish(model=model, thinking=thinking, effort=effort)

    def rename(self, title: str) -> None:
        """Give the conversation another title."""
        self._loop.call(self._own.rename(title))

    def refresh(self) -> None:
        """Read the turns that others added to this thread, and go to the newest turn after the present one."""
        self._loop.call(self._own.refresh())

    def as_sent(self, backend: str = "", *, model: str = "") -> Projected:
        """This line as a backend would get it, in its own dialect, with every Change. Nothing is sent."""
        return self._loop.call(self._own.as_sent(backend, model=model))

    @property
    def thread(self) -> str:
        """The id with which the conversation can be opened again."""
        return self._own.thread

    @property
    def title(self) -> str:
        """The title: the beginning of the first question, unless it was renamed."""
        return self._own.title

    @property
    def backend(self) -> str:
        """The backend that answers next."""
        return self._own.backend

    @property
    def model(self) -> str:
        """The model that is asked for next."""
        return self._own.model

    @property
    def turns(self) -> list[Turn]:
        """The turns of this line, oldest first."""
        return self._own.turns

    @property
    def branches(self) -> list[Turn]:
        """The last turn of every line of this thread, oldest first."""
        return self._own.branches

    @property
    def messages(self) -> list[JsonObject]:
        """The messages of this line: the user's, and the makers' own blocks in the order in which they were generated."""
        return self._own.messages

    @property
    def calls(self) -> Sequence[ToolCall]:
        """The calls that wait for results."""
        return self._own.calls

    def _answer(self, answer: AsyncAnswer) -> Answer:
        return Answer(answer, self._loop)

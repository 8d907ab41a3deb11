"""A conversation: stored and shown as it was said, and sent as each backend needs it.

It works on the engine in this process, without a gateway, or on a gateway that runs elsewhere. The user's message is stored
before anything else happens, and the answer is stored verbatim before its end event. Reading returns originals. The messages
for a backend are worked out from them each time, and can be inspected (`as_sent`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from msgspec import structs

from clew.chat.answer import AsyncAnswer
from clew.chat.compaction import CompactingReader
from clew.chat.messages import Content, Output, ToolCall, result_block, user_message
from clew.chat.opening import OnOverflow, Opening, Where, check_overflow, check_tools, open_service
from clew.chat.request import Projected, Wishes
from clew.chat.service import AnswerReader, Question, ThreadService
from clew.chat.turns import StoredTurn, Turn, message_of, turn_of, waiting_calls
from clew.errors import RequestInvalid, SettingsInvalid
from clew.model.json import JsonObject


class AsyncConversation:
    """A conversation for programs with an event loop. Other programs use `Conversation`.

    >>> import asyncio
    >>> from clew import AsyncConversation
    >>> from clew.testing import Simulator
    >>> async def talk(home):
    ...     async with AsyncConversation.open(home=home, model="claude-opus-5-5") as conversation:
    ...         message = await conversation.ask("Hello!")
    ...         return message.role, conversation.turns[0].outcome
    >>> with Simulator() as claude:
    ...     asyncio.run(talk(claude.home()))
    ('assistant', 'whole')
    """

    def __init__(self, service: ThreadService, wishes: Wishes, *, on_overflow: OnOverflow = "error") -> None:
        """From its parts: use `open` instead."""
        self._on_overflow = on_overflow
        self._service = service
        self._wishes = wishes
        self._tip = service.tree.newest
        self._backend = ""
        self._models: dict[str, str] = {}
        """The models that `use` named, by backend."""
        self._opened = AsyncExitStack()
        """Everything that was opened for it, and is closed with it."""
        self._is_closed = False

    @classmethod
    def open(
        cls,
        thread: str = "",
        *,
        home: str | Path | None = None,
        config: str | Path | None = None,
        environ: Mapping[str, str] | None = None,
        backends: Mapping[str, Mapping[str, object]] | None = None,
        url: str = "",
        key: str = "",
        backend: str = "",
        model: str = "",
        system: str | Sequence[JsonObject] = "",
        tools: Sequence[JsonObject] = (),
        max_tokens: int = 16_000,
        thinking: JsonObject | None = None,
        effort: str = "",
        on_overflow: OnOverflow = "error",
    ) -> Opening[Self]:
        """A new conversation, or the one with this thread's id (or how it begins), at its newest turn.

        `async with` closes it at the end of the block; after `await` it is open until `close`.

        `home`, `config` and `environ` are looked up as the command line does. `backends` are who can answer, in place of a
        config file: a table for each name, with the keys that the tables of a file have. With `url` the conversation is held
        over a gateway that runs there (its admin's address), with one of its keys; `url="auto"` is the one of this home, if
        one runs.

        Without `backend` the one that the thread stays with answers (`clew use NAME --thread T`), else the active one (the
        first of `backends`); a backend that is named is for this object and does not pin the thread. It may be a preset that
        no settings name, if its key is in the environment. Without `model` it is the one that answered last. A question that
        does not fit the model's window any more is refused; with `on_overflow="compact"` the model is asked for a summary,
        and the conversation continues from that, on a line of its own.

        Raises SettingsInvalid, StoreError, RequestInvalid if there is no such thread, and BackendUnreachable if there is no
        such gateway.
        """
        check_overflow(on_overflow)
        check_tools(tools)
        wishes = Wishes(model=model, system=system, tools=tools, max_tokens=max_tokens, thinking=thinking, effort=effort)
        where = Where(home=home, config=config, environ=environ, backends=backends, url=url, key=key, backend=backend)
        return Opening(lambda: cls._open(thread, where, wishes, on_overflow, backend))

    @classmethod
    async def _open(cls, thread: str, where: Where, wishes: Wishes, on_overflow: OnOverflow, backend: str) -> Self:
        async with AsyncExitStack() as stack:
            conversation = cls(await stack.enter_async_context(open_service(thread, where)), wishes, on_overflow=on_overflow)
            if backend:
                conversation.use(backend)
            conversation._opened = stack.pop_all()
        return conversation

    async def close(self) -> None:
        """Stop an answer that is under way, and close all that was opened for this conversation. It may be called twice."""
        self._is_closed = True
        await self._opened.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # Asking.

    def ask(self, content: Content) -> AsyncAnswer:
        """Ask a question: text, or blocks. Iterate the answer, or await it; nothing happens before that.

        A failed question stays as it is, and this one follows the last answer.
        """
        return self._ask((user_message(content),), self._service.tree.last_answered(self._tip))

    def results(self, outputs: Mapping[str, Output]) -> AsyncAnswer:
        """Give the tools' results, by the ids of the calls. Raises RequestInvalid unless there is one for each call."""
        calls = [call.id for call in self.calls]
        if set(outputs) != set(calls):
            raise RequestInvalid(f"results are wanted for {calls}, not for {list(outputs)}")
        return self.ask([result_block(call, outputs[call]) for call in calls])

    def retry(self) -> AsyncAnswer:
        """Ask the last question again. A failed question stays one turn; an existing answer stays, as a branch."""
        stored = self._find(self._tip)
        return self._ask(stored.passage.asked, stored.follows)

    def edit(self, turn: str | Turn, content: Content) -> AsyncAnswer:
        """Ask something else in place of this turn. The turn stays, as a branch."""
        return self._ask((user_message(content),), self._find(turn).follows)

    def branch(self, at: str | Turn) -> None:
        """Continue from this turn. The turns after it stay, as a branch."""
        self._tip = self._find(at).id

    def use(self, backend: str, *, model: str = "") -> None:
        """Let another backend answer from now on, in the middle of a tool loop too. Raises SettingsInvalid.

        It is for this object: the thread is not pinned, and any other client that continues it uses the active backend.
        `model` is for this backend alone: after a switch to another backend, that backend's own model is used.
        """
        known = self._service.backends
        if backend not in known:
            raise SettingsInvalid(f"there is no backend {backend!r}; there are: {', '.join(sorted(known))}", key=backend)
        self._backend = backend
        if model:
            self._models[backend] = model

    def wish(self, *, model: str = "", thinking: JsonObject | None = None, effort: str = "") -> None:
        """Use these parameters from now on: all three are set as by `open`."""
        self._wishes = structs.replace(self._wishes, model=model, thinking=thinking, effort=effort)

    async def rename(self, title: str) -> None:
        """Give it another title. Raises RequestInvalid before anything was said."""
        if not await self._service.rename(title):
            raise RequestInvalid("nothing was asked yet, so there is nothing to name")

    async def refresh(self) -> None:
        """Read the turns that others added to this thread, and go to the newest turn after the present one."""
        await self._service.refresh()
        self._tip = self._service.tree.onward(self._tip) if self._tip else self._service.tree.newest

    # For agents, which work on the same thread.

    @property
    def service(self) -> ThreadService:
        """The service that stores the turns of the thread and asks the backend."""
        return self._service

    @property
    def wishes(self) -> Wishes:
        """The parameters of the conversation's requests."""
        return self._wishes

    @wishes.setter
    def wishes(self, wishes: Wishes) -> None:
        self._wishes = wishes

    # Reading.

    @property
    def thread(self) -> str:
        """The id with which the conversation can be opened again."""
        return self._service.thread.id

    @property
    def title(self) -> str:
        """The title: the beginning of the first question, unless it was renamed."""
        return self._service.thread.title

    @property
    def backend(self) -> str:
        """The backend that answers next."""
        pin = self._service.thread.pin
        return self._backend or (pin if pin in self._service.backends else "") or self._service.active

    @property
    def model(self) -> str:
        """The model that is asked for next. Raises SettingsInvalid if none is known."""
        backend = self.backend
        if named := self._models.get(backend) or self._wishes.model:
            return named
        # The model that this backend was asked for last, else any backend, else the backend's own default.
        exchanges = [stored.exchange for stored in reversed(self._service.tree.line(self._tip)) if stored.exchange]
        own = [exchange.asked_model for exchange in exchanges if exchange.backend == backend]
        others = [exchange.asked_model for exchange in exchanges]
        model = next(filter(None, (*own[:1], *others[:1], self._service.backends.get(backend, ""))), "")
        if not model:
            raise SettingsInvalid("which model? Name it when you open the conversation: model=…", key="model")
        return model

    @property
    def turns(self) -> list[Turn]:
        """The turns of this line, oldest first."""
        return self._turns(self._service.tree.line(self._tip))

    @property
    def branches(self) -> list[Turn]:
        """The last turn of every line of this thread, oldest first; `branch` goes there."""
        return self._turns([self._service.tree[id] for id in self._service.tree.tips()])

    @property
    def messages(self) -> list[JsonObject]:
        """The messages of this line: the user's, and the makers' own blocks in the order in which they were generated."""
        messages: list[JsonObject] = []
        for stored in self._service.tree.line(self._tip):
            messages += stored.asked
            if (answer := message_of(stored)) is not None:
                messages.append({"role": "assistant", "content": answer.raw_content})
        return messages

    @property
    def calls(self) -> Sequence[ToolCall]:
        """The calls that wait for results. An answer that was cut has none."""
        return waiting_calls(self._service.tree.get(self._tip))

    async def as_sent(self, backend: str = "", *, model: str = "") -> Projected:
        """This line as a backend would get it, in its own dialect, with every Change. Nothing is sent."""
        return await self._service.as_sent(self._tip, backend or self.backend, model or self.model)

    def _turns(self, stored_turns: Sequence[StoredTurn]) -> list[Turn]:
        attempts = self._service.tree.attempts()
        return [turn_of(stored, attempts[stored.id]) for stored in stored_turns]

    # Questions.

    def _find(self, turn: str | Turn) -> StoredTurn:
        id = turn if isinstance(turn, str) else turn.id
        if id not in self._service.tree:
            raise RequestInvalid(f"there is no turn {id!r} in this conversation" if id else "nothing was asked yet")
        return self._service.tree[id]

    def _ask(self, asked: tuple[bytes, ...], follows: str) -> AsyncAnswer:
        return AsyncAnswer(self._service, lambda: self._begin(asked, follows))

    async def _begin(self, asked: tuple[bytes, ...], follows: str) -> AnswerReader:
        """Read the turns of others first. The question follows this conversation's own last turn, so theirs are a branch."""
        if self._is_closed:
            raise RequestInvalid("this conversation is closed: open its thread again")
        await self._service.refresh()
        question = Question(asked=asked, follows=follows, model=self.model, backend=self._backend, wishes=self._wishes)
        reader = await self._service.ask(question, self._go_to)
        compacts = self._on_overflow == "compact"
        return CompactingReader(self._service, question, reader, self._go_to) if compacts else reader

    def _go_to(self, turn: str) -> None:
        self._tip = turn

"""Agents on a kept history, without a backend: whatever is asked gets the same short answer."""

import asyncio
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from msgspec import structs

from clew import AsyncAgent, tool
from clew.chat.agent.run import AsyncRun
from clew.chat.conversation import AsyncConversation
from clew.chat.request import Wishes
from clew.chat.service import AnswerEvent, AnswerLock, BegunCalls, Claim, OnTurn, Question
from clew.chat.turns import StoredTurn, Tree
from clew.store.values import Passage, Thread
from tests.build import text
from tests.store.turns import NOON, recorded, turn

Start = Callable[[AsyncAgent[str]], AsyncRun[str]]


class _Service(AnswerLock):
    """A conversation on these turns."""

    active = "claude"

    def __init__(self, spots: Iterable[StoredTurn]) -> None:
        self.backends = {"claude": "claude-opus-5-5"}
        self.tree = Tree(spots)
        self.thread = Thread(
            id="t", principal="local", session="", agent="", title="A", pin="", created=NOON, used=NOON, turns=1
        )

    async def refresh(self) -> None:
        pass

    async def ask(self, question: Question, begun: OnTurn) -> "_Reader":
        begun("new")
        return _Reader(self.tree, question)

    async def calls_begun(self) -> BegunCalls:
        return BegunCalls()

    async def take_calls(self, claim: Claim) -> bool:
        return True

    async def leave_calls(self, claim: Claim) -> None:
        pass

    async def end_calls(self, claim: Claim) -> None:
        pass


class _Reader:
    """The answer to a question, all of it at once."""

    id = "new"
    failure = None

    def __init__(self, tree: Tree, question: Question) -> None:
        self._tree = tree
        self._question = question

    async def next_events(self) -> Sequence[AnswerEvent]:
        return ()

    async def wait_stored(self) -> None:
        answer = recorded("new", followed=self._question.follows or None, blocks=(json.dumps(text("Yes.")).encode(),))
        exchange = structs.replace(turn(answer).exchange, id="new")
        self._tree.put(StoredTurn(Passage(exchange="new", at=NOON, asked=self._question.asked, recording=answer), exchange))

    def leave(self) -> None:
        pass


@tool(name="Bash")
async def _run(path: str = "") -> str:
    """Runs a command."""
    return "b"


def run_agent(spots: Iterable[StoredTurn], start: Start) -> None:
    """One run of an agent that has the tool which the histories call."""

    async def scene() -> None:
        agent = AsyncAgent(model="claude-opus-5-5", tools=[_run])
        conversation = AsyncConversation(cast(Any, _Service(spots)), Wishes())
        async for _ in start(agent.on(conversation)):
            pass

    asyncio.run(scene())

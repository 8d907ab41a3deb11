"""What memory has of a history is found again with each request; of a history that was found before, only what is new is
looked for, and the result is the same."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.engine import histories
from clew.engine.gathering import GatheredFacts, gather, recall, recalled_bytes
from clew.engine.histories import Histories
from clew.exchange.call import Call
from clew.model.recording import Recording
from clew.model.request import Request
from clew.store.sqlite.store import SqliteStore
from clew.store.values import Lookup, LookupResult
from clew.thinking.record import recording_of
from clew.wire.requests import parse
from tests.build import OPUS, assistant, text, thinking, tool_result, tool_use, user
from tests.counts import examples
from tests.store.turns import NOON, turn


class Asked:
    """A client, its histories in a gateway, and the store: all that a request's recall depends on."""

    def __init__(self, store: SqliteStore) -> None:
        self.store = store
        self.known = Histories()
        self.said: list[Any] = [user("begin " * 50)]
        self.answers = 0
        self.wanted: list[Lookup] = []
        self._recall = store.recall
        store.recall = self._noted  # pyright: ignore[reportAttributeAccessIssue]

    def _noted(self, wanted: Lookup) -> LookupResult | None:
        self.wanted.append(wanted)
        return self._recall(wanted)

    def call(self) -> Call:
        return Call(body=msgspec.json.encode({"model": "m", "max_tokens": 9, "messages": self.said}))

    def facts(self, request: Request) -> GatheredFacts:
        found = recall(self.store, self.call(), request, "t")
        return found or gather(self.store, self.call(), request, "t")

    def read(self) -> Request:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(histories, "LEAST", 0)
            return self.known.read(self.call())

    def asks(self) -> Recording:
        """One turn; what is found for it is what is found without any memory of the history."""
        request = self.read()
        facts = self.facts(request)
        assert told(facts) == told(self.facts(parse(self.call().body)))
        self.answers += 1
        id = f"r{self.answers}"
        blocks = [thinking(f"Thought {id}.", f"signature of {id}"), text(f"Answer {id}."), tool_use(f"toolu_{id}")]
        raws = [msgspec.json.encode(block) for block in blocks]
        recording = recording_of(
            id,
            asked=request,
            going=request,
            blocks=raws,
            origin=OPUS,
            shelf=facts.shelf,
            context=self.call().context,
            thread="t",
        )
        self.store.record(turn(recording)).result(120)  # it is refused where the thread was deleted
        self.said += [assistant(*blocks), user(tool_result(f"toolu_{id}"))]
        return recording


def told(facts: GatheredFacts) -> tuple[object, ...]:
    return {each.id: each for each in facts.shelf.all}, facts.newest, facts.thread, facts.pin


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[Asked]:
    store = SqliteStore(tmp_path / "s.db")
    yield Asked(store)
    store.close()


def test_of_a_known_history_only_the_new_answer_is_looked_for(asked: Asked) -> None:
    for _ in range(6):
        asked.asks()
    asked.wanted.clear()
    facts = recall(asked.store, asked.call(), asked.read(), "t")
    assert facts is not None
    assert [len(each.keys) for each in asked.wanted] == [1]
    assert [each.id for each in facts.shelf.all] == [f"r{number}" for number in range(1, 7)]


def test_recordings_that_a_history_holds_count_as_its_memory(asked: Asked) -> None:
    for _ in range(3):
        asked.asks()
    asked.facts(asked.read())
    before = asked.known.bytes
    request = asked.read()
    assert recalled_bytes(request.messages) > 3 * 1500
    assert asked.known.bytes >= before + 1500


def test_an_answer_that_is_not_committed_yet_is_looked_for_again(asked: Asked) -> None:
    """Its commit may fail, and then it must not be known any more."""
    last = [asked.asks() for _ in range(3)][-1]
    asked.store.forget("local", "t", at=NOON).result(120)
    asked.store._memory.expect(last)
    found = asked.store.recall(Lookup(principal="local", keys=last.keys))
    assert found is not None
    assert (found.recordings, found.version) == ((last,), 0)
    asked.store._memory.settle(last, remembers=False)
    assert asked.store.recall(Lookup(principal="local", keys=last.keys)) is None


def goes_on(asked: Asked) -> None:
    asked.asks()


def goes_back(asked: Asked) -> None:
    """A fork from the first answer."""
    del asked.said[3:]


def loses_thinking(asked: Asked) -> None:
    for message in asked.said[1:2]:
        message["content"] = [block for block in message["content"] if block["type"] != "thinking"]


def is_deleted(asked: Asked) -> None:
    asked.store.forget("local", "t", at=NOON).result(120)


def memory_is_cleared(asked: Asked) -> None:
    asked.store.clear_memory()


def comes_twice(asked: Asked) -> None:
    """The newest answer, as another recording with the same block."""
    asked.answers += 1
    if found := recall(asked.store, asked.call(), asked.read(), "t"):
        for each in found.shelf.all[-1:]:
            second = msgspec.structs.replace(each, id=f"r{asked.answers}", thread="u")
            asked.store.record(turn(second)).result(120)


STEPS: list[Callable[[Asked], None]] = [goes_on, goes_back, loses_thinking, is_deleted, memory_is_cleared, comes_twice]


@given(st.lists(st.sampled_from([goes_on, goes_on, *STEPS]), min_size=3, max_size=12))
@settings(max_examples=examples(15), deadline=None)
def test_whatever_happens_in_between_the_same_is_found(steps: list[Callable[[Asked], None]]) -> None:
    """Forks, thinking that clients drop, deleted threads, doubled recordings."""
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "s.db")
        asked = Asked(store)
        try:
            for step in steps:
                step(asked)
            asked.asks()
        finally:
            store.close()

"""The store as a model: dictionaries against SQLite, under whatever order of recording, re-sending, forking, deleting."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, precondition, rule

from clew.model.recording import Recording, Shelf
from clew.store import SqliteStore
from clew.thinking.strands import resolve
from tests.counts import examples
from tests.store.test_recordings import rows
from tests.store.turns import GLM, NOON, OPUS, recorded, turn

PRINCIPALS = ("local", "other")


class StoreMachine(RuleBasedStateMachine):
    """A history is a row of answers, each having followed the one before; a fork begins a second row with the same head."""

    histories: Bundle[tuple[Recording, ...]] = Bundle("histories")

    @initialize()
    def open(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "home" / "store.sqlite"
        self.store = SqliteStore(self.path)
        self.kept: list[Recording] = []
        self.confirmed: set[tuple[str, bytes]] = set()
        self.spent = 0
        self.count = 0

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            shutil.rmtree(self.folder)

    @rule(target=histories, principal=st.sampled_from(PRINCIPALS), words=st.sampled_from(["Hello.", "Yes."]))
    def begin(self, principal: str, words: str) -> tuple[Recording, ...]:
        """Conversations may open with the same words: their places are the same, and nothing else."""
        return self._record((), principal, f"t{self.count}", words)

    @rule(target=histories, history=consumes(histories), origin=st.sampled_from([OPUS, GLM]), whole=st.booleans())
    def go_on(self, history: tuple[Recording, ...], origin, whole: bool) -> tuple[Recording, ...]:
        return self._record(history, history[0].principal, history[0].thread, None, origin=origin, whole=whole)

    @rule(target=histories, history=histories, data=st.data())
    def fork(self, history: tuple[Recording, ...], data: st.DataObject) -> tuple[Recording, ...]:
        """From an earlier answer, in the same thread or (an exported history) in one of its own."""
        head = history[: data.draw(st.integers(1, len(history)))]
        thread = data.draw(st.sampled_from([head[0].thread, f"t{self.count}"]))
        return self._record(head, head[0].principal, thread, None)

    def _record(self, before: tuple[Recording, ...], principal: str, thread: str, words: str | None, **more):
        made = recorded(f"r{self.count}", before=before, principal=principal, thread=thread, words=words, **more)
        self.count += 1
        self.spent += 1
        assert self.store.record(turn(made, at=NOON + self.count)).result(10) is True
        self.kept.append(made)
        return (*before, made)

    @rule(history=histories)
    def send_again(self, history: tuple[Recording, ...]) -> None:
        """A client re-sends its history: nothing is added, the blocks count as seen, all of it is found at once."""
        before, principal = rows(self.store), history[0].principal
        known = [each for each in history if each in self.kept]
        keys = [key for each in known for key in each.keys]
        self.store.touch(principal, keys=keys, recordings=[each.id for each in known], at=NOON).result(10)
        assert rows(self.store) == before
        self.confirmed |= {(principal, key) for key in keys}
        gathered = self.store.gather(principal, keys=keys)
        assert [gathered.by_id(each.id) for each in history] == [each if each in known else None for each in history]

    @precondition(lambda self: self.kept)
    @rule(data=st.data())
    def record_twice(self, data: st.DataObject) -> None:
        again = data.draw(st.sampled_from(self.kept))
        assert self.store.record(turn(again)).result(10) is False

    @rule(history=consumes(histories))
    def delete(self, history: tuple[Recording, ...]) -> None:
        principal, thread = history[-1].principal, history[-1].thread
        gone = [each for each in self.kept if (each.principal, each.thread) == (principal, thread)]
        assert self.store.forget(principal, thread).result(10) is bool(gone)
        self.kept = [each for each in self.kept if each not in gone]
        self.confirmed -= {(each.principal, key) for each in gone for key in each.keys}

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = SqliteStore(self.path)

    @rule()
    def verify(self) -> None:
        assert self.store.verify() == ()

    @invariant()
    def every_look_up_agrees_with_the_shelf(self) -> None:
        for principal in PRINCIPALS if self.count else ():
            own = [each for each in self.kept if each.principal == principal]
            shelf, found = Shelf(own), self.store.recordings(principal)
            for each in own[-4:]:
                assert found.by_id(each.id) == each
                assert found.by_key(each.keys[0]) == shelf.by_key(each.keys[0])
                assert list(found.by_tool(each.said.ids[0])) == list(shelf.by_tool(each.said.ids[0]))
                assert list(found.by_place(each.place)) == list(shelf.by_place(each.place))
                gathered = self.store.gather(principal, keys=each.keys)
                assert resolve(each, gathered) == resolve(each, shelf)

    @invariant()
    def the_counts_agree(self) -> None:
        for principal in PRINCIPALS if self.count else ():
            own = [each for each in self.kept if each.principal == principal]
            counted = self.store.statistics(principal, backend="glm", now=NOON)
            assert (counted.total, counted.current_session) == (len(own), sum(each.origin == GLM for each in own))
            assert counted.confirmed == len([each for each in self.confirmed if each[0] == principal])
            assert sum(each.turns for each in self.store.threads(principal)) == len(own)
        if self.count:
            assert rows(self.store)["usage"] == self.spent


TestStoreMachine = StoreMachine.TestCase
TestStoreMachine.settings = settings(max_examples=examples(15, soak=400), stateful_step_count=25, deadline=None)

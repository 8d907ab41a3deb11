"""The store as a model: lists against SQLite, under whatever order of recording, re-sending, forking, interrupting, deleting.

Every thread has a word of its own, its canary, in all that is kept of it: questions, answers, title, bodies. It is found by
searching while the thread is there, and in no file once the thread is gone. Two processes have the file open: what one of
them hears, the other may delete before it is over.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, precondition, rule

from clew.model.recording import Recording, Shelf
from clew.model.turn import Bodies, TurnRecord
from clew.store.sqlite.store import SqliteStore
from clew.store.values import Retention
from clew.thinking.strands import strand_keys
from tests.counts import examples
from tests.manifest import proves
from tests.store.tables import rows
from tests.store.turns import GLM, NOON, OPUS, gathered, recorded, turn

pytestmark = pytest.mark.timeout(1200)  # the soak draws hundreds, each with many commits

PRINCIPALS = ("local", "other")


class Kept(NamedTuple):
    """A turn that must be there."""

    recording: Recording
    exchange: str
    at: float

    @property
    def owner(self) -> tuple[str, str]:
        return self.recording.principal, self.recording.thread


class Coming(NamedTuple):
    """An answer that is under way: the history that it will end, its name, and when it began."""

    before: tuple[Recording, ...]
    id: str
    began: float

    @property
    def owner(self) -> tuple[str, str]:
        return self.before[-1].principal, self.before[-1].thread


class StoreMachine(RuleBasedStateMachine):
    """A history is a row of answers, each having followed the one before; a fork begins a second row with the same head."""

    histories: Bundle[tuple[Recording, ...]] = Bundle("histories")
    coming: Bundle[Coming] = Bundle("coming")

    @initialize()
    def open(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "home" / "store.sqlite"
        self.store, self.other = SqliteStore(self.path), SqliteStore(self.path)
        self.turns: list[Kept] = []
        self.deleted: dict[tuple[str, str], float] = {}
        self.erased: set[tuple[str, str]] = set()
        self.confirmed: set[tuple[str, bytes]] = set()
        self.spent: set[str] = set()
        self.count = 0

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            self.other.close()
            shutil.rmtree(self.folder)

    # Recording

    @rule(target=histories, principal=st.sampled_from(PRINCIPALS), words=st.sampled_from(["Hello.", "Yes."]))
    def begin(self, principal: str, words: str) -> tuple[Recording, ...]:
        """Conversations may open with the same words: their places are the same, and nothing else."""
        return self._record((), principal, f"t{self.count}", words)

    @rule(target=histories, history=consumes(histories), origin=st.sampled_from([OPUS, GLM]), whole=st.booleans())
    def go_on(self, history: tuple[Recording, ...], origin, whole: bool) -> tuple[Recording, ...]:
        return self._record(history, history[0].principal, history[-1].thread, None, origin=origin, whole=whole)

    @rule(target=histories, history=histories, data=st.data())
    def fork(self, history: tuple[Recording, ...], data: st.DataObject) -> tuple[Recording, ...]:
        """From an earlier answer, in the same thread or (an exported history) in one of its own."""
        head = history[: data.draw(st.integers(1, len(history)))]
        thread = data.draw(st.sampled_from([head[0].thread, f"t{self.count}"]))
        return self._record(head, head[0].principal, thread, None)

    @rule(target=histories, history=consumes(histories), searched=st.booleans(), ends=st.booleans())
    def interrupt(self, history: tuple[Recording, ...], searched: bool, ends: bool) -> tuple[Recording, ...]:
        """An answer that is kept while it is under way; its end may never come."""
        principal, thread, id = history[-1].principal, history[-1].thread, f"r{self.count}"
        half = recorded(id, before=history, principal=principal, thread=thread, words=f"Half of {id}.", whole=False)
        self._keep(self._turn(half, exchange=id, outcome="open"))
        if searched:
            self.store.search(principal, "half")
        whole = recorded(id, before=history, principal=principal, thread=thread, words=f"All of {id}.")
        made = whole if ends else half
        if ends:
            self._keep(self._turn(whole, exchange=id))
        self._note(made, id)
        return (*history, made)

    @rule(target=coming, history=histories)
    def is_asked(self, history: tuple[Recording, ...]) -> Coming:
        """An answer begins. Nothing of it is kept yet."""
        self.count += 1
        return Coming(history, f"r{self.count - 1}", NOON + self.count - 1)

    @rule(answer=coming)
    def is_flushed(self, answer: Coming) -> None:
        """What came so far is kept as open, now and then; if its thread was deleted meanwhile, it is not."""
        kept = self.store.record_open(self._turn_of(answer, half := self._half(answer), "open")).result(120)
        assert kept is not self._was_deleted(answer)
        if kept:
            self._replace(half, answer.id)

    @rule(target=histories, answer=consumes(coming), whole=st.booleans())
    def is_over(self, answer: Coming, whole: bool) -> tuple[Recording, ...]:
        """Its end is kept; of one whose thread was deleted since it began, that it was, and no word."""
        made, outcome = (self._whole(answer), "whole") if whole else (self._half(answer), "cut")
        kept = self.store.record(self._turn_of(answer, made, outcome)).result(120)
        assert kept is not self._was_deleted(answer)
        if kept:
            self._replace(made, answer.id)
            return (*answer.before, made)
        found = self.store.exchange(made.principal, answer.id)
        assert found is not None
        assert (found.kind, found.thread, found.outcome) == ("forgotten", "", outcome)
        self.spent.add(answer.id)
        return answer.before

    def _half(self, answer: Coming) -> Recording:
        return self._said(answer, f"Half of {answer.id}", whole=False)

    def _whole(self, answer: Coming) -> Recording:
        return self._said(answer, f"All of {answer.id}")

    def _said(self, answer: Coming, words: str, **more: Any) -> Recording:
        principal, thread = answer.owner
        said = f"{words} {_canary(principal, thread)}."
        return recorded(answer.id, before=answer.before, principal=principal, thread=thread, words=said, **more)

    def _turn_of(self, answer: Coming, made: Recording, outcome: str) -> TurnRecord:
        return self._turn(made, exchange=answer.id, outcome=outcome, started=answer.began)

    def _was_deleted(self, answer: Coming) -> bool:
        return self.deleted.get(answer.owner, 0.0) >= answer.began

    def _replace(self, made: Recording, exchange: str) -> None:
        """What is kept anew comes last."""
        self.turns = [each for each in self.turns if each.exchange != exchange]
        self._add(made, exchange)

    def _record(self, before: tuple[Recording, ...], principal: str, thread: str, words: str | None, **more: Any):
        said = words or f"Answer {self.count} {_canary(principal, thread)}."
        made = recorded(f"r{self.count}", before=before, principal=principal, thread=thread, words=said, **more)
        self._keep(self._turn(made))
        self._note(made, f"x-{made.id}")
        return (*before, made)

    def _turn(self, made: Recording, **more: Any) -> TurnRecord:
        canary = _canary(made.principal, made.thread)
        asked = json.dumps({"role": "user", "content": f"Tell me {canary}."}).encode()
        plain = turn(made, at=NOON + self.count, **({"started": NOON + self.count} | more))
        bodies = Bodies(asked=asked, sent=asked + b"!", answered=canary.encode())
        return msgspec.structs.replace(plain, asked=(asked,), title=f"About {canary}", bodies=bodies)

    def _keep(self, turn: TurnRecord) -> None:
        assert self.store.record(turn).result(120) is True

    def _note(self, made: Recording, exchange: str) -> None:
        self._add(made, exchange)
        self.count += 1

    def _add(self, made: Recording, exchange: str) -> None:
        self.turns.append(Kept(made, exchange, NOON + self.count))
        self.erased.discard((made.principal, made.thread))
        self.spent.add(exchange)

    # What adds nothing

    @rule(history=histories)
    def send_again(self, history: tuple[Recording, ...]) -> None:
        """A client re-sends its history: nothing is added, the blocks count as seen, all of it is found at once."""
        before, principal = rows(self.store), history[0].principal
        known = [each for each in history if each in self._kept()]
        keys = [key for each in known for key in each.keys]
        self.store.touch(principal, keys=keys, recordings=[each.id for each in known], at=NOON).result(120)
        assert rows(self.store) == before
        self.confirmed |= {(principal, key) for key in keys}
        shelf = gathered(self.store, principal, keys=keys)
        assert [shelf.by_id(each.id) for each in history] == [each if each in known else None for each in history]

    @precondition(lambda self: any(each.exchange.startswith("x-") for each in self.turns))
    @rule(data=st.data())
    def record_twice(self, data: st.DataObject) -> None:
        again = data.draw(st.sampled_from([each for each in self.turns if each.exchange.startswith("x-")]))
        before = rows(self.store)
        assert self.store.record(self._turn(again.recording)).result(120) is False
        assert rows(self.store) == before

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = SqliteStore(self.path)

    # Deleting

    @rule(history=consumes(histories), elsewhere=st.booleans())
    def delete(self, history: tuple[Recording, ...], elsewhere: bool) -> None:
        self._delete(history[-1].principal, history[-1].thread, elsewhere)

    @rule(history=consumes(histories), elsewhere=st.booleans(), flushed=st.booleans(), whole=st.booleans())
    def delete_while_it_comes(self, history: tuple[Recording, ...], elsewhere: bool, flushed: bool, whole: bool) -> None:
        """The same four steps as by themselves, at once: chance seldom puts them together."""
        answer = self.is_asked(history)
        for _ in range(flushed):
            self.is_flushed(answer)
        self._delete(*answer.owner, elsewhere)
        self.is_flushed(answer)
        self.is_over(answer, whole)

    def _delete(self, principal: str, thread: str, elsewhere: bool) -> None:
        """In the process that hears answers, or in the other. What began before it is gone, what begins later is not."""
        gone = [each for each in self.turns if each.owner == (principal, thread)]
        at = NOON + self.count - 0.5
        assert (self.other if elsewhere else self.store).forget(principal, thread, at=at).result(120) is bool(gone)
        if gone:
            self.deleted[principal, thread] = at
        self._forget(gone)

    @precondition(lambda self: self.count)
    @rule(data=st.data())
    def grow_old(self, data: st.DataObject) -> None:
        """Retention: what was made before some moment goes."""
        age = data.draw(st.integers(0, self.count))
        gone = [each for each in self.turns if each.at < NOON + self.count - age]
        while self.store.apply_retention(Retention(age=age, bytes=None, usage_age=None), now=NOON + self.count).result(120):
            pass
        self.store.touch("local", at=NOON).result(120)  # after this the log is empty: nobody reads
        self._forget(gone)

    def _forget(self, gone: list[Kept]) -> None:
        self.turns = [each for each in self.turns if each not in gone]
        self.confirmed -= {(each.recording.principal, key) for each in gone for key in each.recording.keys}
        self.erased |= {each.owner for each in gone} - {each.owner for each in self.turns}

    # What must hold

    def _kept(self, principal: str | None = None) -> list[Recording]:
        return [each.recording for each in self.turns if principal in (None, each.recording.principal)]

    @precondition(lambda self: self.count)
    @rule(number=st.integers(0, 30), principal=st.sampled_from(PRINCIPALS))
    def search(self, number: int, principal: str) -> None:
        for owner in PRINCIPALS:  # only one of them has a thread of this name, and nobody else finds it
            word = _canary(owner, thread := f"t{number % self.count}")
            expected = [each.exchange for each in self.turns if each.owner == (owner, thread) and owner == principal]
            assert [hit.exchange for hit in self.store.search(principal, word, limit=100)] == expected[::-1]

    @invariant()
    def nothing_is_at_fault(self) -> None:
        assert self.store.verify() == ()

    @invariant()
    def what_was_deleted_is_in_no_file(self) -> None:
        files = b"".join(file.read_bytes() for file in self.path.parent.iterdir())
        assert [word for owner in self.erased if (word := _canary(*owner)).encode() in files] == []

    @invariant()
    def every_look_up_agrees_with_the_shelf(self) -> None:
        for principal in PRINCIPALS if self.count else ():
            own = self._kept(principal)
            shelf, found = Shelf(own), self.store.recordings(principal)
            for each in own[-4:]:
                assert found.by_id(each.id) == each
                assert found.by_key(each.keys[0]) == shelf.by_key(each.keys[0])
                assert list(found.by_tool(each.said.ids[0])) == list(shelf.by_tool(each.said.ids[0]))
                assert list(found.by_place(each.place)) == list(shelf.by_place(each.place))
                one = gathered(self.store, principal, keys=each.keys)
                assert strand_keys(each, one) == strand_keys(each, shelf)

    @invariant()
    def the_counts_agree(self) -> None:
        for principal in PRINCIPALS if self.count else ():
            own = self._kept(principal)
            counted = self.store.statistics(principal, backend="glm", now=NOON)
            assert (counted.total, counted.current_session) == (len(own), sum(each.origin == GLM for each in own))
            assert counted.confirmed == len([each for each in self.confirmed if each[0] == principal])
            assert sum(each.turns for each in self.store.threads(principal)) == len(own)
        if self.count:
            assert rows(self.store)["usage"] == len(self.spent)


def _canary(principal: str, thread: str) -> str:
    return f"canary{principal}{int(thread[1:]):05}q"


TestStoreMachine = pytest.mark.slow(proves("fault:X16")(StoreMachine.TestCase))
TestStoreMachine.settings = settings(max_examples=examples(12, soak=400), stateful_step_count=25, deadline=None)

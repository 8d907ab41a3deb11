"""SQLite and PostgreSQL in step: whatever is done to both, in whatever order, every call of one answers as that of the other.

Every call is made for two principals, and what one of them keeps is never in an answer to the other.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from clew.model.recording import Recording
from clew.model.turn import Bodies, TurnRecord
from clew.store import Store
from clew.store.postgres.store import CLOCK_DOUBT, PostgresStore
from clew.store.sqlite.store import SqliteStore
from clew.store.values import DAY, Lookup, Retention, RunClaim
from tests.counts import examples
from tests.postgres import prepared_url
from tests.store.turns import GLM, NOON, OPUS, recorded, turn

PRINCIPALS = ("local", "other")
CANARY = {"local": "quail", "other": "heron"}
WORDS = ("quail", "heron", "answer r1", "secret", "nothing", '"answer r2"')


class InStep(RuleBasedStateMachine):
    histories: Bundle[tuple[Recording, ...]] = Bundle("histories")

    @initialize()
    def open(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.stores: tuple[Store, ...] = (SqliteStore(self.folder / "store.sqlite"), PostgresStore(prepared_url()))
        self.recordings: list[Recording] = []
        self.exchanges = list[tuple[str, str]]()
        self.turns: dict[str, TurnRecord] = {}
        self.count, self.now = 0, NOON

    def teardown(self) -> None:
        if hasattr(self, "stores"):
            for store in self.stores:
                store.close()
            shutil.rmtree(self.folder)

    def both(self, call: Callable[[Store], Any]) -> Any:
        """The answer of both."""

        def answer(store: Store) -> Any:
            given = call(store)
            return given.result(120) if isinstance(given, Future) else given

        first, second = map(answer, self.stores)
        assert first == second
        return first

    def _record(self, before: tuple[Recording, ...], principal: str, thread: str, **more: Any) -> tuple[Recording, ...]:
        self.count, self.now = self.count + 1, self.now + 60
        words = f"Answer r{self.count}, {CANARY[principal]}."
        made = recorded(f"r{self.count}", before=before, principal=principal, thread=thread, words=words, **more)
        record = turn(made, at=self.now, session=thread, bodies=Bodies(asked=b"asked", sent=b"sent", answered=b"answered"))
        assert self.both(lambda store: store.record(record))
        self.recordings.append(made)
        self.turns[made.id] = record
        self.exchanges.append((principal, record.exchange.id))
        return (*before, made)

    @rule(target=histories, principal=st.sampled_from(PRINCIPALS))
    def begin(self, principal: str) -> tuple[Recording, ...]:
        return self._record((), principal, f"t{self.count}")

    @rule(target=histories, history=consumes(histories), origin=st.sampled_from([OPUS, GLM]), whole=st.booleans())
    def go_on(self, history: tuple[Recording, ...], origin: Any, whole: bool) -> tuple[Recording, ...]:
        return self._record(history, history[0].principal, history[-1].thread, origin=origin, whole=whole)

    @rule(history=histories)
    def send_again(self, history: tuple[Recording, ...]) -> None:
        """As a spool does: the turn as it was."""
        self.both(lambda store: store.record(self.turns[history[-1].id]))

    @rule(history=histories, backend=st.sampled_from(["", "glm"]))
    def pin(self, history: tuple[Recording, ...], backend: str) -> None:
        last = history[-1]
        self.both(lambda store: store.pin(last.principal, last.thread, backend))
        self.both(lambda store: store.rename(last.principal, last.thread, f"Named {self.count}"))

    @rule(history=histories)
    def touch(self, history: tuple[Recording, ...]) -> None:
        self.now += 3700
        keys = [key for each in history for key in each.keys]
        self.both(lambda store: store.touch(history[0].principal, keys=[*keys, b"strange"], at=self.now))

    @rule(history=histories)
    def forget(self, history: tuple[Recording, ...]) -> None:
        last, self.now = history[-1], self.now + 60
        widened = (0.0, -CLOCK_DOUBT)
        done = [
            store.forget(last.principal, last.thread, at=self.now + more - store.clock_offset).result(120)
            for store, more in zip(self.stores, widened, strict=True)
        ]
        assert done[0] == done[1]

    @rule(name=st.sampled_from(["active", "other"]), value=st.sampled_from([None, "glm", "claude"]))
    def choose(self, name: str, value: str | None) -> None:
        self.both(lambda store: store.set(name, value, at=self.now))

    @rule(history=histories, run=st.sampled_from(["one", "two"]))
    def claim(self, history: tuple[Recording, ...], run: str) -> None:
        last = history[-1]
        claim = RunClaim(last.principal, last.thread, last.id, run)
        self.both(lambda store: store.claim_calls(claim, at=self.now, here=False))
        self.both(lambda store: store.call_owner(last.principal, last.thread))

    @rule(days=st.sampled_from([None, 0.5, 30]))
    def retain(self, days: float | None) -> None:
        retention = Retention(age=days and days * DAY, bytes=None, usage_age=None)
        for store in self.stores:
            while store.apply_retention(retention, now=self.now).result(120):
                pass

    @invariant()
    def all_answers_are_the_same(self) -> None:
        if not hasattr(self, "stores"):
            return
        for principal in PRINCIPALS:
            self._compare(principal)
        self.both(lambda store: store.settings())
        self.both(lambda store: store.verify())

    def _compare(self, principal: str) -> None:
        threads = self.both(lambda store: store.threads(principal))
        told = [repr(threads), repr(self.both(lambda store: store.exchanges(principal)))]
        for thread in {each.thread for each in self.recordings}:
            told.append(repr(self.both(lambda store, id=thread: store.passages(principal, id))))
            self.both(lambda store, id=thread: (store.thread(principal, id), store.pin_of(principal, id)))
            self.both(lambda store, id=thread: (store.tree(principal, id), store.thread_of(principal, id, "")))
        for each in self.recordings:
            wanted = Lookup(
                principal=principal, keys=each.keys, tools=each.said.ids, places=(each.place,), ids=(each.id,), links=9
            )
            found = self.both(lambda store, wanted=wanted: {one.id: one for one in store.gather(wanted).recordings})
            told.append(repr(found))
            self.both(lambda store, id=each.id: store.recordings(principal).by_id(id))
        for _, id in self.exchanges:
            self.both(lambda store, id=id: (store.exchange(principal, id), store.bodies(principal, id) is None))
        for words in WORDS:
            told.append(repr(self.both(lambda store, words=words: store.search(principal, words))))
        self.both(lambda store: store.usage_totals(principal))
        self.both(lambda store: store.statistics(principal, backend="claude", now=self.now))
        stranger = CANARY[next(each for each in PRINCIPALS if each != principal)]
        assert not [text for text in told if stranger in text], "what another principal keeps"


InStep.TestCase.settings = settings(
    max_examples=examples(6, soak=60), stateful_step_count=examples(12, soak=40), deadline=None
)
TestInStep = pytest.mark.slow(InStep.TestCase)

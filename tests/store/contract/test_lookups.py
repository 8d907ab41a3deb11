"""Look-ups of requests: in one go, from memory where this process has it, and never what was deleted."""

from __future__ import annotations

import pytest

from clew.model.recording import Recording
from clew.store import Store, StoreLocation
from clew.store.values import Lookup, LookupResult
from tests.store.contract.opening import opened
from tests.store.turns import NOON, conversation, recorded, turn


def wanted(*answers: Recording, **more: str) -> Lookup:
    keys = tuple(key for each in answers for key in each.keys)
    return Lookup(principal="local", keys=keys, tools=tuple(i for a in answers for i in a.said.ids), links=50, **more)


def keep(store: Store, *answers: Recording) -> None:
    for each in answers:
        assert store.record(turn(each)).result(120)


def found(answer: LookupResult | None) -> set[str] | None:
    return None if answer is None else {each.id for each in answer.recordings}


def test_what_this_process_recorded_is_recalled_with_all_that_it_came_after(store: Store) -> None:
    answers = conversation(5)
    keep(store, *answers)
    assert found(store.recall(wanted(answers[-1]))) == {each.id for each in answers}
    assert store.recall(wanted(answers[-1], recorded("never"))) is None


def test_what_another_process_recorded_is_looked_up_once(store: Store, location: StoreLocation) -> None:
    answers = conversation(5)
    with opened(location) as other:
        keep(other, *answers)
    assert store.recall(wanted(answers[-1])) is None
    assert found(store.gather(wanted(answers[-1]))) == {each.id for each in answers}
    assert found(store.recall(wanted(*answers))) == {each.id for each in answers}


def test_nothing_is_recalled_across_principals(store: Store) -> None:
    keep(store, recorded("r", principal="other"))
    assert store.recall(wanted(recorded("r"))) is None


def test_an_answer_under_way_is_not_remembered_as_it_was(store: Store) -> None:
    """Another takes its place when it is over."""
    half = recorded("r", whole=False)
    assert store.record(turn(half, exchange="r", outcome="open")).result(120)
    assert store.recall(wanted(half)) is None
    whole = recorded("r", words="More.", keys=half.keys)
    assert store.record(turn(whole, exchange="r")).result(120)
    answer = store.recall(wanted(half))
    assert answer is not None
    assert answer.recordings == (whole,)


def test_a_thread_that_is_deleted_is_recalled_no_more(store: Store, location: StoreLocation) -> None:
    first, second = recorded("a", thread="t", session="s"), recorded("b", thread="u", session="z")
    keep(store, first, second)
    assert found(store.recall(wanted(first, session="s"))) == {"a"}
    assert store.forget("local", "t", at=NOON + 1).result(120)
    assert (store.recall(wanted(first)), store.recall(wanted(session="s"))) == (None, LookupResult())
    with opened(location) as other:
        assert other.forget("local", "u", at=NOON + 1).result(120)
    store.clear_memory()  # as every process does that hears of it
    assert (store.recall(wanted(second)), store.recall(wanted(session="z"))) == (None, LookupResult())


def test_a_look_up_tells_the_thread_of_the_session_and_every_pin(store: Store) -> None:
    keep(store, recorded("a", thread="t", session="s"), recorded("b", thread="u", session="s", agent="x"))
    store.pin("local", "u", "glm").result(120)
    answer = store.gather(wanted(recorded("b"), session="s", agent="", thread="new"))
    assert (answer.thread, answer.pins, answer.is_whole) == ("t", {"t": "", "u": "glm", "new": ""}, True)
    again = store.recall(wanted(recorded("b"), session="s", agent="", thread="new"))
    assert again is not None
    assert (again.thread, again.pins) == (answer.thread, answer.pins)


def test_a_pin_that_is_set_is_looked_up_anew(store: Store, location: StoreLocation) -> None:
    """At once where it is set, and elsewhere with the next refresh."""
    one = recorded("a")
    keep(store, one)
    assert store.gather(wanted(one)).pins == {"t": ""}
    before = store.refresh_pins()
    store.pin("local", "t", "glm").result(120)
    recalled = store.recall(wanted(one))
    assert (recalled and recalled.pins, store.gather(wanted(one)).pins) == ({}, {"t": "glm"})
    with opened(location) as other:
        other.pin("local", "t", "claude").result(120)
        after = other.refresh_pins()
    assert (store.refresh_pins(), after == before) == (after, False)
    recalled = store.recall(wanted(one))
    assert (recalled and recalled.pins, store.gather(wanted(one)).pins) == ({}, {"t": "claude"})


def test_nothing_is_looked_up_for_a_client_that_is_gone(store: Store) -> None:
    def gone() -> None:
        raise KeyError

    with pytest.raises(KeyError):
        store.gather(wanted(recorded("r")), gone)

"""Turns in their clients' own dialects: found by the id of their exchange, with all that came before."""

from collections.abc import Sequence

import msgspec

from clew.model.turn import NativeTurn, TurnRecord
from clew.store import Store, StoreLocation
from clew.store.values import NativePassage, Retention
from tests.store.contract.opening import opened
from tests.store.turns import NOON, recorded, turn


def native(items: Sequence[bytes], answer: bytes, follows: str = "", before: int = 0) -> NativeTurn:
    """A turn whose digests are the items themselves."""
    return NativeTurn(
        items=tuple(items),
        answer=answer,
        follows=follows,
        before=before,
        before_digest=b"|".join(items[:before]),
        digest=b"|".join([*items, answer]),
    )


def kept(name: str, native: NativeTurn, thread: str = "t", principal: str = "local", at: float = NOON) -> TurnRecord:
    record = turn(recorded(name, thread=thread, principal=principal), exchange=name, at=at)
    return msgspec.structs.replace(record, native=native)


def record_three(store: Store, thread: str = "t") -> None:
    """One request after the other, each with the whole history."""
    for each in (
        kept("a", native([b"1"], b"A"), thread),
        kept("b", native([b"1", b"A", b"2"], b"B", "a", 2), thread),
        kept("c", native([b"1", b"A", b"2", b"B", b"3"], b"C", "b", 4), thread),
    ):
        assert store.record(each).result(120)


def said(passages: Sequence[NativePassage]) -> list[tuple[bytes, ...]]:
    return [(*each.items, each.answer) for each in passages]


def test_a_turn_is_found_with_all_that_came_before_it(store: Store) -> None:
    record_three(store)
    assert said(store.native_history("local", "c")) == [(b"1", b"A"), (b"2", b"B"), (b"3", b"C")]
    assert said(store.native_history("local", "a")) == [(b"1", b"A")]
    assert [each.exchange for each in store.native_history("local", "b")] == ["a", "b"]
    assert said(store.native_turns("local", ["c", "a", "z"])) in ([(b"1", b"A"), (b"3", b"C")], [(b"3", b"C"), (b"1", b"A")])


def test_turns_are_still_there_when_the_store_is_opened_again_and_in_two_at_once(location: StoreLocation) -> None:
    with opened(location) as store:
        record_three(store)
    with opened(location) as one, opened(location) as other:
        assert said(one.native_history("local", "c")) == said(other.native_history("local", "c"))
        one.record(kept("d", native([b"1", b"A", b"4"], b"D", "a", 2))).result(120)
        assert said(other.native_history("local", "d")) == [(b"1", b"A"), (b"4", b"D")]


def test_a_history_that_the_client_changed_is_kept_whole(store: Store) -> None:
    record_three(store)
    changed = [b"1", b"A", b"other words", b"B", b"3"]
    store.record(kept("d", native(changed, b"D", "b", 4))).result(120)
    assert said(store.native_history("local", "d")) == [(*changed, b"D")]


def test_nothing_is_found_of_another_principal(store: Store) -> None:
    record_three(store)
    store.record(kept("d", native([b"1", b"A"], b"D", "a", 2), principal="other", thread="u")).result(120)
    assert store.native_history("other", "c") == store.native_turns("other", ["a", "b", "c"]) == []
    assert not store.hide_native_turn("other", "c").result(120)
    assert said(store.native_history("other", "d")) == [(b"1", b"A", b"D")]


def test_a_hidden_turn_is_found_no_more_and_stays_in_the_history_of_others(store: Store) -> None:
    record_three(store)
    assert store.hide_native_turn("local", "b").result(120)
    assert not store.hide_native_turn("local", "b").result(120)
    assert store.native_history("local", "b") == store.native_turns("local", ["b"]) == []
    assert said(store.native_history("local", "c")) == [(b"1", b"A"), (b"2", b"B"), (b"3", b"C")]


def test_turns_go_with_their_thread(store: Store) -> None:
    record_three(store)
    assert store.forget("local", "t", at=NOON + 10).result(120)
    assert store.native_turns("local", ["a", "b", "c"]) == []
    assert store.verify() == ()


def test_a_history_with_a_turn_that_is_lost_is_not_found_in_part(store: Store) -> None:
    store.record(kept("a", native([b"1"], b"A"), at=NOON)).result(120)
    store.record(kept("b", native([b"1", b"A", b"2"], b"B", "a", 2), at=NOON + 1000)).result(120)
    assert store.apply_retention(Retention(age=500), now=NOON + 1100).result(120)
    assert store.native_history("local", "b") == []
    assert said(store.native_turns("local", ["a", "b"])) == [(b"2", b"B")]


def test_nothing_of_it_is_kept_without_content(location: StoreLocation) -> None:
    with opened(location, content=False) as store:
        record_three(store)
        assert store.native_turns("local", ["a", "b", "c"]) == []


def test_a_long_history_is_kept_and_found_in_proportion_to_its_length(store: Store) -> None:
    history: list[bytes] = []
    for number in range(300):
        before, answer = len(history), b"answer %d" % number
        history.append(b"question %d" % number)
        store.record(kept(f"n{number}", native(history, answer, f"n{number - 1}", before)))
        history.append(answer)
    found = store.native_history("local", "n299")
    assert [part for each in found for part in (*each.items, each.answer)] == history
    assert {len(each.items) for each in found} == {1}


def test_a_turn_that_is_being_written_is_waited_for(store: Store) -> None:
    written = [store.record(kept(f"w{number}", native([b"1"], b"A"))) for number in range(20)]
    assert said(store.native_history("local", "w19")) == [(b"1", b"A")]
    assert written[-1].done()

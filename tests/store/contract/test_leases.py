"""Leases: a process is there until it ends, and an answer that it heard and left open was cut."""

from clew.model.turn import TurnRecord
from clew.store import Store, StoreLocation
from tests.store.contract.opening import opened
from tests.store.turns import NOON, recorded, turn


def under_way(id: str) -> TurnRecord:
    return turn(recorded(id, whole=False), exchange=id, outcome="open")


def outcomes(store: Store) -> dict[str, str]:
    return {each.id: each.outcome for each in store.exchanges("local")}


def test_a_process_is_there_for_the_others_until_it_ends(store: Store, location: StoreLocation) -> None:
    with opened(location) as other:
        name = other.leases.name()
        assert (other.leases.name(), store.leases.is_held(name), other.leases.is_held(name)) == (name, True, True)
        assert store.leases.name() != name
    assert (store.leases.is_held(name), store.leases.is_held(store.leases.name())) == (False, True)
    assert not store.leases.is_held("")


def test_what_is_open_is_open_for_everybody_and_cut_when_its_process_ended(store: Store, location: StoreLocation) -> None:
    store.record(under_way("a")).result(120)
    with opened(location) as other:
        other.record(under_way("b")).result(120)
        assert outcomes(store) == outcomes(other) == {"b": "open", "a": "open"}
    assert outcomes(store) == {"b": "cut", "a": "open"}


def test_an_import_hears_nothing(store: Store) -> None:
    """It brings an answer that was under way when it was exported."""
    assert store.record(under_way("then"), brought_back=True).result(120)
    assert outcomes(store) == {"then": "cut"}


def test_what_was_cut_so_is_replaced_by_its_end_all_the_same(location: StoreLocation) -> None:
    """A process that closed its store and opened it again still knows how it went on."""
    with opened(location) as store:
        store.record(under_way("r")).result(120)
    with opened(location) as store:
        ended = turn(recorded("r"), exchange="r", at=NOON + 1)
        assert store.record(ended).result(120)
        assert store.exchanges("local") == [ended.exchange]

"""Limits: what is kept of them, what turns add, and what hard ones let pass."""

import msgspec
import pytest

from clew.limits.ledger import CountedWindow, WindowTotal
from clew.limits.limit import DAY, HOUR, Amounts, Limit, LimitScope, read_limit
from clew.model.turn import Charge, TokenUsage, TurnRecord
from clew.store import Store, StoreLocation
from clew.store.audit_table import AuditFilter
from clew.store.limit_tables import ReservationRequest
from tests.store.contract.opening import opened
from tests.store.turns import NOON, recorded, turn

ANNA, TEAM = LimitScope("key", "anna"), LimitScope("team", "web")
START = int(NOON // HOUR * HOUR)


def charged(id: str, *charges: Charge, at: float = NOON, key: str = "anna", micro: int | None = None) -> TurnRecord:
    usage = TokenUsage(input=10, output=20, cache_read=30, cache_written=40, micro_usd=micro)
    return msgspec.structs.replace(turn(recorded(id), at=at, key=key, usage=usage), charges=charges)


def reservation(exchange: str, *limits: Limit, micro: int = 0, tokens: int = 0) -> ReservationRequest:
    return ReservationRequest(exchange=exchange, limits=limits, most=Amounts(micro, tokens, 1), at=NOON)


def test_a_limit_is_kept_changed_and_removed(store: Store) -> None:
    first = read_limit(ANNA, "5usd/1d", made=NOON, made_by="local")
    other = read_limit(TEAM, "9tokens/1h", hard=True, made=NOON)
    for limit in (other, first):
        store.limits.set(limit).result(60)
    assert store.limits.all() == (first, other)
    changed = read_limit(ANNA, "6usd/1d", hard=True, made=NOON + 1, made_by="bob")
    store.limits.set(changed).result(60)
    assert store.limits.all() == (changed, other)
    assert store.limits.remove(changed, at=NOON + 2, by="carl").result(60)
    assert not store.limits.remove(changed, at=NOON + 2, by="carl").result(60)
    assert store.limits.all() == (other,)


def test_every_change_of_a_limit_is_in_the_audit(store: Store) -> None:
    store.limits.set(read_limit(ANNA, "5usd/1d", made=NOON, made_by="bob")).result(60)
    store.limits.set(changed := read_limit(ANNA, "6usd/1d", hard=True, made=NOON + 1, made_by="bob")).result(60)
    store.limits.remove(changed, at=NOON + 2, by="carl").result(60)
    told = [(each.at, each.who, each.what, each.target, each.before, each.after) for each in store.audit.entries()]
    assert told == [
        (NOON + 2, "carl", "limit removed", "key:anna", "6usd/1d hard", ""),
        (NOON + 1, "bob", "limit set", "key:anna", "5usd/1d", "6usd/1d hard"),
        (NOON, "bob", "limit set", "key:anna", "", "5usd/1d"),
    ]
    first, second, third = store.audit.entries()
    assert store.audit.entries(before=first.seq, limit=1) == (second,)
    assert store.audit.entries(before=second.seq) == (third,)


def test_the_audit_is_searched_by_any_part_of_its_texts(store: Store) -> None:
    for who, what, target in (("anna (command line)", "key added", "key:100%"), ("ben", "backend chosen", "all requests")):
        store.audit.note(who, what, target, "", "after").result(60)

    def found(**wanted: str | float) -> list[str]:
        return [each.who for each in store.audit.entries(wanted=AuditFilter(**wanted))]  # type: ignore[arg-type]

    assert found() == ["ben", "anna (command line)"]
    assert found(who="ANNA") == found(what="key") == found(target="100%") == ["anna (command line)"]
    assert found(who="b", what="chosen", since=1.0) == ["ben"]
    assert found(target="1_0") == found(who="anna", what="backend") == found(since=4e9) == []


def test_what_a_turn_used_is_added_once(store: Store) -> None:
    charge = Charge("key:anna", HOUR, START, 7, 100, 1)
    kept = charged("a", charge)
    assert store.record(kept).result(60)
    assert not store.record(kept).result(60)
    store.record(charged("b", charge, Charge("team:web", DAY, START, 1, 2, 1))).result(60)
    assert store.limits.totals(START) == {
        CountedWindow("key:anna", HOUR, START): WindowTotal(own=Amounts(14, 200, 2)),
        CountedWindow("team:web", DAY, START): WindowTotal(own=Amounts(1, 2, 1)),
    }
    assert store.limits.totals(START + HOUR).keys() == {CountedWindow("team:web", DAY, START)}


def test_an_open_turn_is_charged_when_it_is_over(store: Store) -> None:
    charge = Charge("key:anna", HOUR, START, 7, 100, 1)
    whole = msgspec.structs.replace(turn(recorded("a"), exchange="a"), charges=(charge,))
    store.record(turn(recorded("a"), exchange="a", outcome="open", usage=None)).result(60)
    assert store.limits.totals(NOON) == {}
    assert store.record(whole).result(60)
    assert store.limits.totals(NOON) == {CountedWindow("key:anna", HOUR, START): WindowTotal(own=Amounts(7, 100, 1))}


def test_a_turn_of_a_thread_that_was_deleted_meanwhile_is_charged_too(store: Store) -> None:
    store.record(charged("a")).result(60)
    assert store.forget("local", "t", at=NOON + 1).result(60)
    late = charged("b", Charge("key:anna", HOUR, START, 7, 100, 1))
    assert not store.record(late).result(60)
    assert store.limits.totals(NOON) == {CountedWindow("key:anna", HOUR, START): WindowTotal(own=Amounts(7, 100, 1))}


def test_what_other_processes_used_is_told_apart(store: Store, location: StoreLocation) -> None:
    with opened(location) as other:
        other.record(charged("a", Charge("key:anna", HOUR, START, 1, 2, 1))).result(60)
        store.record(charged("b", Charge("key:anna", HOUR, START, 10, 20, 1))).result(60)
        found = WindowTotal(own=Amounts(10, 20, 1), others=Amounts(1, 2, 1))
        assert store.limits.totals(NOON) == {CountedWindow("key:anna", HOUR, START): found}


def test_an_exchange_is_read_with_its_key_and_its_price(store: Store) -> None:
    kept = charged("a", micro=123)
    store.record(kept).result(60)
    found = store.exchange("local", "x-a")
    assert found == kept.exchange
    assert found is not None
    assert (found.key, found.usage and found.usage.micro_usd) == ("anna", 123)


@pytest.mark.parametrize("scope", [ANNA, LimitScope("principal", "local"), LimitScope("key", "bob")])
def test_a_new_limit_begins_with_what_was_used_in_its_window(store: Store, scope: LimitScope) -> None:
    store.record(charged("before", at=START - 1, micro=1000)).result(60)
    store.record(charged("a", at=NOON, micro=10)).result(60)
    store.record(charged("b", at=NOON, micro=5)).result(60)
    store.limits.set(read_limit(scope, "1usd/1h", made=NOON)).result(60)
    used = Amounts() if scope.name == "bob" else Amounts(15, 200, 2)
    counted = CountedWindow(str(scope), HOUR, START)
    assert store.limits.totals(NOON) == {counted: WindowTotal(others=used)}
    store.limits.set(read_limit(scope, "2usd/1h", made=NOON)).result(60)
    assert store.limits.totals(NOON) == {counted: WindowTotal(others=used)}, "a window that is counted is not counted anew"


def test_a_hard_limit_is_never_passed(store: Store) -> None:
    limit = read_limit(ANNA, "100tokens/1h", hard=True)
    assert store.limits.reserve(reservation("x-a", limit, tokens=60)).result(60) is None
    refused = store.limits.reserve(reservation("x-b", limit, tokens=41)).result(60)
    assert refused is not None
    assert (refused.limit, refused.used, refused.wanted, refused.wait) == (limit, 60, 41, START + HOUR - NOON)
    assert store.limits.reserve(reservation("x-c", limit, tokens=40)).result(60) is None
    store.record(charged("a", Charge("key:anna", HOUR, START, 0, 50, 1))).result(60)
    assert store.limits.reserve(reservation("x-d", limit, tokens=11)).result(60) is not None
    assert store.limits.reserve(reservation("x-d", limit, tokens=10)).result(60) is None
    assert store.limits.release("x-d").result(60) == 1
    assert store.limits.reserve(reservation("x-e", limit, tokens=10)).result(60) is None


def test_room_is_reserved_in_all_limits_or_in_none(store: Store) -> None:
    wide, narrow = read_limit(ANNA, "100tokens/1h", hard=True), read_limit(TEAM, "10tokens/1d", hard=True)
    refused = store.limits.reserve(reservation("x-a", wide, narrow, tokens=50)).result(60)
    assert refused is not None
    assert refused.limit == narrow
    assert store.limits.reserve(reservation("x-b", wide, tokens=100)).result(60) is None


def test_what_a_process_reserved_lapses_with_it(store: Store, location: StoreLocation) -> None:
    limit = read_limit(ANNA, "100tokens/1h", hard=True)
    with opened(location) as other:
        assert other.limits.reserve(reservation("x-a", limit, tokens=100)).result(60) is None
        assert store.limits.reserve(reservation("x-b", limit, tokens=1)).result(60) is not None
    assert store.limits.reserve(reservation("x-b", limit, tokens=1)).result(60) is None


def test_sums_of_windows_that_were_over_long_ago_are_deleted(store: Store) -> None:
    store.record(charged("a", Charge("key:anna", HOUR, START, 7, 100, 1))).result(60)
    assert store.limits.tidy(START + HOUR + 100).result(60) == 0
    assert store.limits.tidy(START + HOUR + 2 * DAY).result(60) == 1

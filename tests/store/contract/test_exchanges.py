"""Exchanges: what happened to each request, one by one, in order, and as they come."""

import pytest

from clew.errors import StoreError
from clew.model.turn import TokenUsage, Try
from clew.store import Store, StoreLocation
from clew.store.values import DAY, Retention
from tests.store.contract.opening import opened
from tests.store.turns import NOON, recorded, turn
from tests.waiting import until

TRIES = (
    Try(backend="claude", status=529, seconds=0.25, why="overloaded"),
    Try(backend="claude", seconds=1.5, why="connection refused"),
    Try(backend="glm", status=200, seconds=2.0),
)


def test_an_exchange_keeps_its_tries_and_how_it_was_asked_and_ended(store: Store) -> None:
    """Law 6."""
    more = {
        "streamed": True,
        "stop_reason": "tool_use",
        "request_id": "req_1",
        "heals": 2,
        "kept": 3,
        "tries": TRIES,
        "attempts": 3,
        "betas": ("one-2026-01-01", "two-2026-01-02"),
        "dialect": "openai-responses",
        "client": "Codex",
    }
    made = turn(recorded("r"), **more)
    store.record(made).result(120)
    assert store.exchanges("local") == [made.exchange]
    assert store.exchange("local", "x-r") == made.exchange
    assert (store.exchange("other", "x-r"), store.exchange("local", "r")) == (None, None)


def test_exchanges_are_followed_from_any_one_oldest_first(store: Store) -> None:
    for number in range(5):
        store.record(turn(recorded(f"r{number}", thread=f"t{number % 2}"), exchange=f"x{number}")).result(5)
    store.record(turn(recorded("foreign", principal="other"), exchange="x9")).result(120)

    def after(id: str, **more) -> list[str]:
        return [each.id for each in store.exchanges("local", after=id, **more)]

    assert after("x1") == ["x2", "x3", "x4"]
    assert after("x1", limit=2) == ["x2", "x3"]
    assert after("x0", thread="t0") == ["x2", "x4"]
    assert after("x1", thread="t0") == ["x2", "x4"]
    assert after("x4") == after("gone") == after("x9") == []


def test_a_count_of_tokens_is_an_exchange_but_no_turn_of_its_thread(store: Store) -> None:
    """Design §4: a count records nothing."""
    counted = turn(at=NOON, exchange="count", kind="count_tokens", outcome="whole", status=200)
    assert store.record(counted).result(120) is True
    assert store.exchanges("local") == [counted.exchange]
    assert (store.threads("local"), store.passages("local", "t")) == ([], [])


def test_counts_go_by_age_and_by_size(store: Store) -> None:
    for number in range(3):
        store.record(turn(at=NOON + number * DAY, exchange=f"c{number}", kind="count_tokens")).result(120)
    assert store.apply_retention(Retention(age=DAY, bytes=None), now=NOON + 2.5 * DAY).result(120) == 2
    assert [each.id for each in store.exchanges("local")] == ["c2"]
    while store.apply_retention(Retention(age=None, bytes=0), now=NOON).result(120):
        pass
    assert store.exchanges("local") == []


def test_a_change_by_anyone_is_seen_and_a_look_is_none(store: Store, location: StoreLocation) -> None:
    """By this store's own writer as by another's."""
    first = store.data_version()
    assert [store.data_version(), store.exchanges("local"), store.data_version()] == [first, [], first]
    store.record(turn(recorded("r"))).result(120)
    second = store.data_version()
    with opened(location) as other:
        assert store.data_version() == second
        other.set("active", "glm", at=NOON).result(120)
        third = store.data_version()
        assert other.data_version() == other.data_version()
    assert len({first, second, third}) == 3
    assert store.data_version() == third


def test_a_closed_store_sees_nothing(location: StoreLocation) -> None:
    store = opened(location)
    store.close()
    with pytest.raises(StoreError, match="is closed"):
        store.data_version()


def test_usage_of_an_exchange_that_never_ended_is_marked(store: Store) -> None:
    made = turn(at=NOON, exchange="cut", outcome="cut", usage=TokenUsage(input=3, output=1, estimated=True))
    store.record(made).result(120)
    assert store.exchange("local", "cut") == made.exchange


def test_exchanges_are_followed_from_a_position_on_each_once_and_in_order(store: Store) -> None:
    store.record(turn(recorded("a"))).result(60)
    position, seen = store.position("local"), list[str]()
    for name in ("b", "c", "d"):
        store.record(turn(recorded(name))).result(60)
    until(lambda: len(store.exchanges_since("local", position, limit=9)[0]) == 3)  # a server sees transactions of others too
    for _ in range(3):
        page, position = store.exchanges_since("local", position, limit=2)
        seen += [each.id for each in page]
    assert seen == ["x-b", "x-c", "x-d"]
    assert store.exchanges_since("other", store.position("other"), limit=2)[0] == []

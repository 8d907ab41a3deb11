"""What was used, by any names: the same sums from both kinds of store."""

import msgspec

from clew.limits.limit import DAY, HOUR, Amounts, LimitScope, read_limit, window_at
from clew.limits.usage import UsageField, UsageGroup, UsageQuery, usage_lines
from clew.model.turn import TokenUsage, TurnRecord
from clew.store import Store
from tests.store.turns import NOON, recorded, turn

USED = TokenUsage(input=10, output=20, cache_read=30, cache_written=40)


def used(id: str, *, at: float = NOON, usage: TokenUsage = USED, **more: str) -> TurnRecord:
    recording = recorded(id, thread=more.pop("thread", "t"), principal=more.pop("principal", "local"))
    return turn(recording, at=at, usage=usage, **more)


def keep(store: Store, *turns: TurnRecord) -> None:
    for each in turns:
        assert store.record(each).result(60)


def groups(store: Store, *by: UsageField, since: float = NOON - DAY, until: float = NOON + DAY, **only: str) -> list:
    query = UsageQuery(by=by, since=since, until=until, only=only)
    found = sorted(store.usage.groups(query), key=lambda each: (each.names, each.usage.input))
    return [(each.names, each.calls, each.usage.input) for each in found]


def test_usage_is_grouped_by_each_name(store: Store) -> None:
    keep(
        store,
        used("a", key="anna", team="web", agent="sub", thread="t1", client="Codex"),
        used("b", key="anna", team="web", thread="t2", client="Claude Code"),
        used("c", key="ci", principal="ci", at=NOON + HOUR),
    )
    assert groups(store, "key") == [(("anna",), 2, 20), (("ci",), 1, 10)]
    assert groups(store, "principal") == [(("ci",), 1, 10), (("local",), 2, 20)]
    assert groups(store, "team") == [(("",), 1, 10), (("web",), 2, 20)]
    assert groups(store, "thread", "agent") == [(("t", ""), 1, 10), (("t1", "sub"), 1, 10), (("t2", ""), 1, 10)]
    assert groups(store, "client") == [(("",), 1, 10), (("Claude Code",), 1, 10), (("Codex",), 1, 10)]
    assert groups(store, client="Codex") == [((), 1, 10)]
    assert groups(store, "backend", "model") == [(("claude", "claude-opus-5-5"), 3, 30)]
    assert groups(store, "day", "key") == [(("2027-01-15", "anna"), 2, 20), (("2027-01-15", "ci"), 1, 10)]
    assert groups(store, "hour") == [(("2027-01-15T08",), 2, 20), (("2027-01-15T09",), 1, 10)]
    assert groups(store) == [((), 3, 30)]


def test_usage_is_narrowed_down_and_has_an_end_that_does_not_belong_to_it(store: Store) -> None:
    keep(store, used("a", key="anna"), used("b", key="ci"), used("c", key="ci", at=NOON + 1))
    assert groups(store, key="ci") == [((), 2, 20)]
    assert groups(store, key="ci", since=NOON, until=NOON + 1) == [((), 1, 10)]
    assert groups(store, key="ci'; --") == []
    assert groups(store, key="ci", principal="nobody") == []


def test_calls_of_different_prices_are_counted_apart(store: Store) -> None:
    keep(
        store,
        used("a"),
        used("b", usage=TokenUsage(input=150_000, thinking=3)),
        used("c", usage=msgspec.structs.replace(USED, micro_usd=7)),
        used("d", usage=msgspec.structs.replace(USED, micro_usd=5, estimated=True)),
        used("e", at=NOON - 40 * DAY),
    )
    found = store.usage.groups(UsageQuery(since=NOON - 60 * DAY, until=NOON + 1))
    assert sorted(found, key=lambda each: (each.at, each.usage.input, each.usage.micro_usd or 0)) == [
        group(1, USED, at=NOON - 40 * DAY),
        group(1, USED),
        group(2, TokenUsage(input=20, output=40, cache_read=60, cache_written=80, micro_usd=12, estimated=True)),
        group(1, TokenUsage(input=150_000, thinking=3)),
    ]


def group(calls: int, usage: TokenUsage, at: float = NOON) -> UsageGroup:
    return UsageGroup(names=(), backend="claude", model="claude-opus-5-5", calls=calls, usage=usage, at=at)


def test_usage_is_what_a_limit_counted(store: Store) -> None:
    keep(
        store, *(used(f"a{n}", key="anna", team="web", usage=msgspec.structs.replace(USED, micro_usd=n)) for n in (1, 2, 4))
    )
    window = window_at(NOON, DAY)
    for scope in (LimitScope("key", "anna"), LimitScope("team", "web"), LimitScope("principal", "local")):
        store.limits.set(read_limit(scope, "1usd/1d", made=NOON)).result(60)
        query = UsageQuery(by=("day",), since=window.start, until=window.end, only={scope.kind: scope.name})
        (line,) = usage_lines(query, store.usage.groups(query), {})
        total = next(each for counted, each in store.limits.totals(NOON).items() if counted.scope == str(scope))
        assert total.others == Amounts(line.micro_usd or 0, line.usage.prompt + line.usage.output, line.calls)
        assert (line.micro_usd, line.is_estimated, line.unpriced) == (7, False, 0)


def test_a_turn_that_comes_back_with_another_end_counts_once(store: Store) -> None:
    """Its thread was deleted, and is imported from a file that knows the time less exactly."""
    first = used("a")
    keep(store, first)
    assert store.forget("local", "t", at=NOON - 100).result(60)
    late = msgspec.structs.replace(first, exchange=msgspec.structs.replace(first.exchange, ended=NOON + 40 * DAY))
    assert store.record(late, brought_back=True).result(60)
    assert groups(store, "day", since=NOON - DAY, until=NOON + 60 * DAY) == [(("2027-02-24",), 1, 10)]
    found = store.exchange("local", "x-a")
    assert found is not None
    assert found.usage == USED

"""The calls of an answer are taken by one run, anyone who wants them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from clew.store import Store, StoreLocation
from clew.store.values import CallOwner, RunClaim
from tests.counts import examples
from tests.store.contract.opening import opened

MINE = RunClaim("local", "t1", "answer", "run1")
THEIRS = MINE._replace(run="run2")


@pytest.fixture
def stores(location: StoreLocation) -> Iterator[tuple[Store, Store]]:
    """Two on one file, as in two processes."""
    with opened(location) as one, opened(location) as other:
        yield one, other


def test_the_first_takes_them_and_the_second_does_not(stores: tuple[Store, Store]) -> None:
    one, other = stores
    assert one.claim_calls(MINE, at=1, here=True).result() is True
    assert other.claim_calls(THEIRS, at=2, here=True).result() is False
    found = other.call_owner("local", "t1")
    assert (found[:2], bool(found.process)) == (("answer", "run1"), True)


def test_of_many_that_ask_at_the_same_moment_exactly_one_has_them(location: StoreLocation) -> None:
    with ExitStack() as stack, ThreadPoolExecutor(4) as pool:
        stores = [stack.enter_context(opened(location)) for _ in range(2)]
        for number in range(examples(10, soak=500)):
            claims = [RunClaim("local", f"t{number}", "answer", f"run{each}") for each in range(4)]
            asked = [pool.submit(stores[each % 2].claim_calls, claim, at=1, here=True) for each, claim in enumerate(claims)]
            got = [each.result(60).result(60) for each in asked]
            assert got.count(True) == 1
            assert stores[0].call_owner("local", f"t{number}").run == f"run{got.index(True)}"


def test_calls_of_another_turn_are_free(stores: tuple[Store, Store]) -> None:
    one, other = stores
    one.claim_calls(MINE, at=1, here=True).result()
    assert other.claim_calls(THEIRS._replace(turn="another"), at=2, here=True).result() is True


def test_what_was_left_is_begun_by_a_run_that_is_gone_and_free_for_who_knows_that(
    stores: tuple[Store, Store],
) -> None:
    one, other = stores
    one.claim_calls(MINE, at=1, here=True).result()
    one.abandon_calls(MINE, at=2).result()
    assert other.call_owner("local", "t1") == CallOwner("answer", "run1", "")
    assert other.claim_calls(THEIRS, at=3, here=True).result() is False, "it looked before the first took them"
    assert other.claim_calls(THEIRS._replace(was="run1"), at=4, here=True).result() is True
    one.abandon_calls(MINE, at=5).result()
    assert other.call_owner("local", "t1").run == "run2", "nobody takes it from who has it now"


def test_a_process_that_is_gone_is_at_nothing(location: StoreLocation) -> None:
    with opened(location) as store:
        store.claim_calls(MINE, at=1, here=True).result()
    with opened(location) as store:
        assert store.call_owner("local", "t1") == CallOwner("answer", "run1", "")


def test_they_are_done_with_by_who_had_them_or_found_them(stores: tuple[Store, Store]) -> None:
    one, other = stores
    one.claim_calls(MINE, at=1, here=True).result()
    other.finish_calls(THEIRS).result()
    assert one.call_owner("local", "t1").run == "run1"
    other.finish_calls(THEIRS._replace(was="run1")).result()
    assert one.call_owner("local", "t1") == CallOwner()


def test_a_mark_from_before_names_no_run(stores: tuple[Store, Store]) -> None:
    one, other = stores
    one.set("calls-begun:t1", "answer", scope="local", at=1).result()
    assert other.call_owner("local", "t1") == CallOwner("answer")
    assert other.claim_calls(MINE, at=2, here=True).result() is True

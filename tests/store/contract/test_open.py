"""A turn under way: kept as far as it came, and replaced by what it becomes."""

import msgspec
import pytest

from clew.model.turn import TurnRecord
from clew.store import Store
from tests.manifest import proves
from tests.store.turns import conversation, recorded, turn


def under_way(whole: TurnRecord, blocks: int) -> TurnRecord:
    """The same turn after so many of its blocks."""
    recording = whole.recording
    assert recording is not None
    cut = msgspec.structs.replace(recording, blocks=recording.blocks[:blocks], whole=False)
    exchange = msgspec.structs.replace(whole.exchange, outcome="open", usage=None)
    return msgspec.structs.replace(whole, recording=cut, exchange=exchange)


@pytest.fixture
def answer() -> TurnRecord:
    return turn(recorded("r0"), exchange="r0")


@proves("fault:P3")
def test_it_is_there_as_open_if_its_gateway_dies(store: Store, answer: TurnRecord) -> None:
    """reliability 3.5: recoverable, and not taken for whole."""
    store.record(under_way(answer, 1)).result(120)

    (exchange,) = store.exchanges("local")
    kept = store.recordings("local").by_id("r0")
    assert (exchange.outcome, kept and kept.whole, kept and len(kept.blocks)) == ("open", False, 1)


def test_it_is_replaced_by_what_it_becomes(store: Store, answer: TurnRecord) -> None:
    """And by a later look at it; nothing of the earlier one stays."""
    assert store.record(under_way(answer, 1)).result(120)
    assert store.record(under_way(answer, 2)).result(120)
    assert store.record(answer).result(120)

    assert store.exchanges("local") == [answer.exchange]
    assert store.recordings("local").by_id("r0") == answer.recording
    assert [each.recording for each in store.passages("local", "t")] == [answer.recording]
    assert (store.usage_totals("local")[0].calls, store.verify()) == (1, ())


def test_what_is_over_is_not_opened_again(store: Store, answer: TurnRecord) -> None:
    """A look that comes late, from a thread that was slow."""
    store.record(answer).result(120)

    assert store.record(under_way(answer, 1)).result(120) is False
    assert store.exchanges("local") == [answer.exchange]
    assert store.recordings("local").by_id("r0") == answer.recording


def test_what_follows_an_open_answer_is_left_alone(store: Store) -> None:
    first, second = conversation(2)
    whole = turn(first, exchange=first.id)
    store.record(under_way(whole, 1)).result(120)
    store.record(turn(second, exchange=second.id)).result(120)
    store.record(whole).result(120)

    assert [store.recordings("local").by_id(each.id) for each in (first, second)] == [first, second]
    assert store.verify() == ()

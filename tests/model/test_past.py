"""What is worked out over a part of a history, and then over the rest, is what is worked out over all of it."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.model.past import Fold, Retold, folded, retold, told_first
from clew.model.request import RequestMessage
from clew.pipeline.findings import _FINDINGS
from clew.pipeline.tool_structure import _LEGALITY
from clew.thinking.history import _TALK, _THOUGHTS
from tests.build import assistant, redacted, request, system, text, thinking, tool_result, tool_use, user
from tests.counts import examples

FOLDS: list[Fold[object]] = [
    _THOUGHTS,
    _LEGALITY,
    _FINDINGS,
    _TALK,
]
MESSAGES = [
    user("hi"),
    user(text("")),
    user(tool_result("a")),
    user(tool_result("b"), "and"),
    system("be brief"),
    {**user("hi"), "output_config": {"effort": "low"}},
    assistant(thinking("hm", "sig1"), tool_use("a")),
    assistant(tool_use("a"), tool_use("b")),
    assistant(thinking("hm", None), redacted("data"), text("so")),
    assistant(thinking("hm", "clew1.x")),
]
histories = st.lists(st.sampled_from(MESSAGES), min_size=1, max_size=8)


@pytest.mark.parametrize("fold", FOLDS)
def test_a_fold_that_goes_on_comes_to_the_same(fold: Fold[object]) -> None:
    """Wherever it went on, and also where a history went back in between."""

    @given(histories, st.lists(st.tuples(st.integers(0, 8), st.booleans()), min_size=1, max_size=4))
    @settings(max_examples=examples(24, soak=800), deadline=None)
    def holds(said: list[object], cuts: Sequence[tuple[int, bool]]) -> None:
        plain = request(*said).messages  # pyright: ignore[reportArgumentType]
        known: Retold | None = None
        for cut, is_looked_at in cuts:
            known = retold(plain, min(cut, len(plain)), known.past if known else None)
            if is_looked_at:
                assert folded(known, fold) == folded(plain, fold)

    holds()


def test_what_is_known_is_not_looked_at_again() -> None:
    """Else all of it would be for nothing."""
    looked: list[int] = []

    def over(count: int, messages: Sequence[RequestMessage], at: int) -> int:
        looked.append(len(messages))
        return count + len(messages)

    fold, said = Fold(0, over), request(*[user("hi")] * 10).messages
    first = retold(said, 6)
    assert folded(first, fold) == 10
    assert folded(retold(said, 8, first.past), fold) == 10
    assert looked == [6, 3, 1, 2, 1, 1]


def test_a_value_over_all_messages_is_worked_out_once_for_a_request() -> None:
    """Several steps ask for it, and the recording of the answer does."""
    looked: list[int] = []

    def over(count: int, messages: Sequence[RequestMessage], at: int) -> int:
        looked.append(len(messages))
        return count + len(messages)

    fold, told = Fold(0, over), told_first(request(*[user("hi")] * 10).messages)
    assert [folded(told, fold) for _ in range(3)] == [10, 10, 10]
    assert looked == [6, 3, 1]


def test_the_second_request_goes_on_from_the_first() -> None:
    """Where a client changes only the last message, since it moves its cache mark along, no other is looked at twice."""
    looked: list[int] = []

    def over(count: int, messages: Sequence[RequestMessage], at: int) -> int:
        looked.append(len(messages))
        return count + len(messages)

    fold, said = Fold(0, over), request(*[user("hi")] * 12).messages
    first = told_first(said[:10])
    assert first.past.count == 0, "nothing was there before"
    folded(first, fold)
    assert folded(retold(said, 9, first.past), fold) == 12
    assert looked == [6, 3, 1, 2, 1]

"""Usage, times and thinking by local day, backend and model."""

import time

from clew.model.turn import TokenUsage
from clew.store import Store
from clew.store.values import DayAnswers, Days, DayUsage
from tests.build import GLM, OPUS
from tests.store.turns import NOON, recorded, turn

DAY = 86_400.0


def day(at: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(at))


def test_each_day_is_summed_by_backend_and_model(store: Store) -> None:
    """The local day, as people count them; a refused request took no answer's time."""
    first = recorded("a")
    for made in (
        turn(first),
        turn(recorded("b", before=(first,)), at=NOON + 1, first_byte=0.1),
        turn(recorded("c", origin=GLM, thread="u"), at=NOON + DAY),
        turn(at=NOON + 2, first_byte=None),
    ):
        store.record(made).result()
    found = store.days("local", since=NOON - DAY)

    usage = TokenUsage(input=20, output=40, cache_read=60, cache_written=80)
    once = TokenUsage(input=10, output=20, cache_read=30, cache_written=40)
    assert found.spent == (
        DayUsage(day=day(NOON), backend=OPUS.backend, model=OPUS.model, calls=2, usage=usage),
        DayUsage(day=day(NOON + DAY), backend=GLM.backend, model=GLM.model, calls=1, usage=once),
    )
    assert found.answers == (
        DayAnswers(
            day=day(NOON),
            backend=OPUS.backend,
            model=OPUS.model,
            asked=3,
            whole=2,
            thought=2,
            first_byte=(0.1, 0.5),
            seconds=(2.5, 2.5),
        ),
        DayAnswers(
            day=day(NOON + DAY),
            backend=GLM.backend,
            model=GLM.model,
            asked=1,
            whole=1,
            thought=1,
            first_byte=(0.5,),
            seconds=(2.5,),
        ),
    )


def test_an_answer_that_was_cut_does_not_count_as_one_that_thought(store: Store) -> None:
    """Or three answers, of which one was cut and one thought nothing, would all have thought."""
    cut = recorded("a", whole=False)
    plain = recorded("b", thread="t2", keys=())
    for number, each in enumerate((cut, plain, recorded("c", thread="t3"))):
        outcome = "whole" if each.whole else "cut"
        store.record(turn(each, at=NOON + number, outcome=outcome)).result()
    [found] = store.days("local", since=0.0).answers
    assert (found.asked, found.whole, found.thought) == (3, 2, 1)


def test_prompts_of_very_different_length_are_summed_apart(store: Store) -> None:
    """Their price per token may differ."""
    sizes = (1000, 199_000, 201_000, 201_500)
    for number, size in enumerate(sizes):
        answer = recorded(f"r{number}", thread=f"t{number}")
        store.record(turn(answer, at=NOON + number, usage=TokenUsage(input=size, output=1))).result()
    spent = store.days("local", since=0.0).spent
    assert sorted((each.calls, each.usage.input) for each in spent) == [(1, 1000), (1, 199_000), (2, 402_500)]


def test_what_is_older_and_what_is_anothers_is_not_counted(store: Store) -> None:
    store.record(turn(recorded("a"))).result()
    assert store.days("local", since=NOON + 1) == Days()
    assert store.days("somebody", since=0.0) == Days()

"""Changes: a request may need very many, and what is kept of them is bounded, and still counts them all."""

import msgspec

from clew.model.change import MANY_REASONS, Change, bounded, count_of, tally


def change(at: int, why: str = "why", step: str = "thinking") -> Change:
    return Change(step, f"messages.{at}", "left out", why)


def test_few_changes_stay_as_they_are() -> None:
    few = tuple(map(change, range(5)))
    assert bounded(few, 5) == few


def test_of_many_the_first_stay_and_the_others_are_counted_by_their_reason() -> None:
    many = [*map(change, range(5)), change(5, "other"), change(6), change(7, step="heal")]
    told = bounded(many, 4)
    assert told[:4] == tuple(many[:4])
    assert [(each.step, each.path, each.why, each.count) for each in told[4:]] == [
        ("thinking", "messages.4", "why", 2),
        ("thinking", "messages.5", "other", 1),
        ("heal", "messages.7", "why", 1),
    ]
    assert (count_of(told), tally(told)) == (8, {"left out": 8})
    assert bounded(told, 4) == told, "once more makes no difference"


def test_very_many_reasons_are_bounded_too() -> None:
    told = bounded([change(at, f"why {at}") for at in range(100)], 4)
    assert (len(told), count_of(told)) == (9, 100)
    assert (told[-1].why, told[-1].count) == (MANY_REASONS, 92)


def test_one_that_stands_for_itself_is_written_as_before() -> None:
    assert msgspec.json.encode(change(1)) == b'{"step":"thinking","path":"messages.1","what":"left out","why":"why"}'
    assert msgspec.json.decode(msgspec.json.encode(msgspec.structs.replace(change(1), count=3)), type=Change).count == 3

"""Ids: each another one, anyone who asks."""

import re

import pytest

from clew.engine import ids
from clew.engine.ids import new_id


def test_ids_are_of_one_form_and_all_different() -> None:
    made = [new_id() for _ in range(1000)]
    assert len(set(made)) == 1000
    assert all(re.fullmatch("[0-9a-f]{22}", each) for each in made)


def test_another_thread_may_take_the_last_of_the_chance_that_was_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between a look whether there is some and the taking of it."""

    class Raced(list[str]):
        def __bool__(self) -> bool:
            return True

    monkeypatch.setattr(ids, "_drawn", Raced())
    assert re.fullmatch("[0-9a-f]{22}", new_id())

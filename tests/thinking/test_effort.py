"""What effort levels are worth in tokens, and which level stands in for one that a model lacks."""

import pytest

from clew.thinking.budgets import AUTO_BUDGET, EFFORTS, budget_of_effort, effort_of_budget, is_above, nearest_level
from tests.manifest import proves


@proves("req:S0-38")
@pytest.mark.parametrize(
    ("budget", "level"),
    [
        (1, "low"),
        (1024, "low"),
        (4095, "low"),
        (4096, "medium"),
        (8192, "medium"),
        (16383, "medium"),
        (16384, "high"),
        (24576, "high"),
        (31999, "high"),
        (32767, "high"),
        (32768, "xhigh"),
        (10**9, "xhigh"),
    ],
)
def test_a_budget_falls_into_a_band(budget: int, level: str) -> None:
    """S0-38: the documented bands."""
    assert effort_of_budget(budget) == level


@proves("req:S0-38")
@pytest.mark.parametrize(
    ("level", "budget"),
    [("low", 2048), ("medium", 8192), ("high", 24576), ("xhigh", 32768), ("max", 63999), (None, AUTO_BUDGET)],
)
def test_a_level_is_worth_a_budget(level: str | None, budget: int) -> None:
    """S0-38, the other direction; `max` is what the model allows."""
    assert budget_of_effort(level, ceiling=63999) == budget


def test_an_unknown_level_is_worth_the_automatic_budget() -> None:
    assert budget_of_effort("enormous", ceiling=1) == AUTO_BUDGET


@pytest.mark.parametrize("level", ["low", "medium", "high", "xhigh"])
def test_there_and_back_gives_the_same_level(level: str) -> None:
    """Two switches between kinds of model leave a level as it was."""
    assert effort_of_budget(budget_of_effort(level, ceiling=10**6)) == level


@pytest.mark.parametrize(
    ("level", "supported", "near"),
    [
        ("xhigh", ["low", "medium", "high", "max"], "high"),
        ("max", ["low", "medium", "high"], "high"),
        ("low", ["medium", "high"], "medium"),
        ("medium", ["max", "low"], "low"),
        ("high", list(EFFORTS), "high"),
        ("enormous", ["low"], "enormous"),
        ("high", [], "high"),
    ],
)
def test_the_nearest_level_is_at_or_below_else_the_lowest(level: str, supported: list[str], near: str) -> None:
    """R12: never more than was asked for, unless the model has nothing less."""
    assert nearest_level(level, supported) == near


def test_levels_compare_by_rank_and_unknown_ones_do_not() -> None:
    assert is_above("xhigh", "high")
    assert not is_above("high", "high")
    assert not is_above("enormous", "high")
    assert not is_above("high", "")

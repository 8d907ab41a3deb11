"""Stances: the table's defaults, a user's file on top, and clear words for what is not there."""

from pathlib import Path

import pytest

from clew.errors import SettingsInvalid
from clew.model.facts import stances
from clew.simulator.server import read_stance_file, stance
from tests.manifest import proves


def test_every_conflict_of_the_rule_book_has_a_switch_and_a_default_among_its_values() -> None:
    """The conflicts of the rule book, C-1 to C-17."""
    table = stances()
    assert list(table) == [f"C-{n}" for n in range(1, 18)]
    assert all(row.default in row.values for row in table.values())
    assert len({row.switch for row in table.values()}) == len(table)


def test_the_default_stance_is_the_suggested_one() -> None:
    default = stance()
    assert dict(default.choices) == {name: row.default for name, row in stances().items()}
    assert (default.predecessor, default.prefix_enforcement, default.without_grades) == ("sent", "default", frozenset())


@proves("conflict:C-7", "conflict:C-17")
def test_a_conflict_is_set_by_its_id_or_by_its_switch() -> None:
    chosen = stance({"trailing_thinking": "reject", "C-17": 64, "without_grades": ["C", "D"], "predecessor": "read"})
    assert (chosen["C-7"], chosen["C-17"]) == ("reject", "64")
    assert (chosen.without_grades, chosen.predecessor) == (frozenset({"C", "D"}), "read")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"trailing_thoughts": "reject"}, "there is no stance 'trailing_thoughts'; there are predecessor, "),
        ({"C-7": "maybe"}, "C-7 cannot be 'maybe'; it is one of accept, reject"),
        ({"predecessor": "kept"}, "predecessor cannot be 'kept'; it is one of sent, read"),
        ({"streams": "yes"}, "streams cannot be 'yes'; it is one of asked, always, never"),
        ({"without_grades": ["E"]}, "without_grades cannot be 'E'; it is one of A, B, C, D"),
    ],
)
def test_what_is_not_there_is_named_with_what_is(settings: dict[str, object], words: str) -> None:
    with pytest.raises(SettingsInvalid) as caught:
        stance(settings, file="my.toml")
    assert str(caught.value).startswith(words)
    assert (caught.value.file, caught.value.key) == ("my.toml", next(iter(settings)))


def test_a_file_is_flat_toml(tmp_path: Path) -> None:
    path = tmp_path / "stance.toml"
    path.write_text('C-6 = "accept"\nwithout_grades = ["D"]\n')
    assert read_stance_file(path) == {"C-6": "accept", "without_grades": ["D"]}
    path.write_text("C-6 = accept")
    with pytest.raises(SettingsInvalid, match=r"stance\.toml"):
        read_stance_file(path)

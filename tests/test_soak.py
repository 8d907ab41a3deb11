"""What the soak prints is what the tests noted."""

import json
from pathlib import Path

import pytest

from tests.numbers import note
from tests.soak import Number, Ran, table, totals


def test_a_noted_number_is_a_line_of_the_file_that_the_variable_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "numbers.jsonl"
    monkeypatch.setenv("CLEW_NUMBERS", str(file))
    note("cuts", 3000)
    entry = json.loads(file.read_text())
    assert (entry["name"], entry["value"]) == ("cuts", 3000)
    assert entry["test"].startswith("tests/test_soak.py::test_a_noted_number")


def test_without_the_variable_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLEW_NUMBERS", raising=False)
    monkeypatch.chdir(tmp_path)
    note("cuts", 1)
    assert list(tmp_path.iterdir()) == []


def test_numbers_of_one_name_are_added_up_and_words_replace() -> None:
    lines = [json.dumps({"name": name, "value": value}) for name, value in [("a", 1), ("b", "x"), ("a", 2), ("b", "y")]]
    assert totals(lines) == [("a", 3), ("b", "y")]


def test_the_table_has_a_line_for_each_number_and_each_run() -> None:
    ran = [Ran("streams", 0, 1.0, "9 passed"), Ran("rest", 1, 1.0, "1 failed")]
    assert table(ran, [Number("streams", "cuts", 3000), Number("rest", "share", 0.5)]) == (
        "\n"
        "streams  cuts    3,000\n"
        "rest     share   0.50\n"
        "streams  pytest  9 passed (ok)\n"
        "rest     pytest  1 failed (FAILED)\n"
    )

"""CLEW_DEBUG: debug lines for one start, whatever the file says."""

from pathlib import Path

import pytest

from clew.settings.load import load
from clew.settings.schema import entries_of
from clew.settings.variables import with_debug
from tests.manifest import proves


@proves("req:S1-45")
@pytest.mark.parametrize(
    ("value", "debug", "level", "origin"),
    [
        ("1", True, "info", "environment: CLEW_DEBUG"),
        ("True", True, "info", "environment: CLEW_DEBUG"),
        ("trace", True, "trace", "environment: CLEW_DEBUG"),
        ("0", False, "info", "{file}:2"),
        ("", False, "info", "{file}:2"),
    ],
)
def test_the_variable_outranks_the_file_and_is_shown(
    tmp_path: Path, value: str, debug: bool, level: str, origin: str
) -> None:
    file = tmp_path / "clew.toml"
    file.write_text("[log]\ndebug = false\n")
    loaded = load(file, {"CLEW_DEBUG": value})
    assert (loaded.settings.log.debug, loaded.settings.log.level) == (debug, level)
    [entry] = [each for each in entries_of(loaded) if each.key == "log.debug"]
    assert entry.origin == origin.format(file=file)
    assert [each.name for each in loaded.variables] == (["CLEW_DEBUG"] if debug else [])


def test_a_value_that_nobody_knows_is_not_used_and_said_so(tmp_path: Path) -> None:
    loaded = load(None, {"CLEW_HOME": str(tmp_path), "CLEW_DEBUG": "very"})
    assert loaded.settings.log.debug is False
    assert loaded.warnings == (
        "CLEW_DEBUG=very: not used: it is 1 for debug lines, or `trace` for one line for each block too",
    )


def test_the_option_of_a_command_is_the_variable() -> None:
    assert with_debug({}, debug=True) == {"CLEW_DEBUG": "1"}
    assert with_debug({"CLEW_DEBUG": "trace"}, debug=True) == {"CLEW_DEBUG": "trace"}
    assert with_debug({"A": "1"}, debug=False) == {"A": "1"}

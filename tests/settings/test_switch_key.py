"""The key that opens the panel of `clew run`."""

from pathlib import Path

import pytest

from clew.errors import SettingsInvalid
from clew.settings.load import load


def loaded(tmp_path: Path, key: str) -> str:
    file = tmp_path / "clew.toml"
    file.write_text(f"[run]\nswitch_key = '{key}'\n")
    return load(file, {"CLEW_HOME": str(tmp_path)}).settings.run.switch_key


@pytest.mark.parametrize("key", ["ctrl-]", "ctrl-g", "ctrl-\\", "off"])
def test_a_free_key_is_taken(tmp_path: Path, key: str) -> None:
    assert loaded(tmp_path, key) == key


@pytest.mark.parametrize("key", ["ctrl-c", "ctrl-z", "ctrl-m", "alt-g", "ctrl-gg", ""])
def test_a_key_that_terminals_need_is_refused_with_its_line_and_what_is_allowed(tmp_path: Path, key: str) -> None:
    with pytest.raises(SettingsInvalid, match=r"clew.toml:2: run.switch_key: .*not c, d, i, j, m, z: terminals need these"):
        loaded(tmp_path, key)

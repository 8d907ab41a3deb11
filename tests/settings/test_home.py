"""Where clew keeps its things."""

import os
import stat
import sys
from pathlib import Path

import pytest

from clew.errors import SettingsInvalid
from clew.settings.home import Home, home_of
from tests.cli.invoking import Clew


def test_one_variable_moves_everything(tmp_path: Path) -> None:
    home = home_of({"CLEW_HOME": str(tmp_path)})
    places = (home.config, home.secret, home.key, home.keys, home.run, home.socket("main"))
    names = ("clew.toml", "secret", "key", "keys.json", "run", "run/main.sock")
    assert places == tuple(tmp_path / name for name in names)


def test_without_it_config_and_data_are_where_the_platform_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    plain = home_of({"HOME": "/home/me"})
    assert (plain.config, plain.root) == (
        Path("/home/me/.config/clew/clew.toml"),
        Path("/home/me/.local/share/clew"),
    )
    moved = home_of({"HOME": "/home/me", "XDG_CONFIG_HOME": "/c", "XDG_DATA_HOME": "relative"})
    assert (moved.config, moved.root) == (Path("/c/clew/clew.toml"), Path("/home/me/.local/share/clew"))
    monkeypatch.setattr(sys, "platform", "darwin")
    there = Path("/Users/me/Library/Application Support/clew")
    assert home_of({"HOME": "/Users/me"}) == Home(there)


def test_what_is_made_is_its_owners_alone(tmp_path: Path) -> None:
    """Reliability 4.9: 0700."""
    home = Home(tmp_path / "deep" / "home").make()
    assert [stat.S_IMODE(each.stat().st_mode) for each in (home.root, home.run)] == [0o700, 0o700]
    assert home.make() == home


def test_a_directory_into_which_others_can_write_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "home"
    root.mkdir()
    root.chmod(0o777)
    with pytest.raises(SettingsInvalid) as error:
        Home(root).make()
    assert str(error.value) == f"others can put files into {root}: run `chmod 700 {root}`"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
@pytest.mark.parametrize("part", ["home", "home/run"])
def test_a_directory_of_another_user_is_refused_also_for_root(tmp_path: Path, part: str) -> None:
    """Its owner can put keys and settings into it, whatever its mode says."""
    made = Home(tmp_path / "home").make()
    os.chown(tmp_path / part, 12345, -1)
    with pytest.raises(SettingsInvalid) as error:
        made.make()
    assert str(error.value).startswith(f"{tmp_path / part} belongs to another user (uid 12345, you are uid 0)")
    assert "run clew as that user" in str(error.value)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
@pytest.mark.parametrize("command", [("serve", "--port", "0"), ("status",), ("use", "claude"), ("keys", "add", "x")])
def test_no_command_uses_the_home_of_another_user(tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "home").mkdir(mode=0o700)
    os.chown(tmp_path / "home", 12345, -1)
    result = Clew(tmp_path / "home")(*command)
    assert (result.exit_code, "belongs to another user (uid 12345" in result.stderr) == (5, True), result.output


def test_a_home_that_cannot_be_made_is_our_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsInvalid, match=r"file/home: Not a directory. Repair its rights, or set CLEW_HOME"):
        Home(tmp_path / "file" / "home").make()


def test_a_home_too_long_for_a_socket_says_so() -> None:
    with pytest.raises(SettingsInvalid, match="is too long for a socket: set CLEW_HOME to a shorter directory"):
        Home(Path("/" + "x" * 100)).socket("main")

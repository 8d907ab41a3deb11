"""The kinds of store: by the URL of the settings, and nobody else knows them."""

from pathlib import Path

import pytest

from clew.settings.load import load
from clew.store import Store, location_of, open_store
from clew.store.kinds import KINDS, USUAL_URL, is_url, kind_named, shown_url
from clew.store.protocols import Store as AllOfIt
from tests.store.contract.opening import ADDRESSES, NEW_ADDRESSES, located, opened


@pytest.mark.parametrize(
    ("url", "file"),
    [
        ("off", None),
        ("sqlite", Path("/home/me/clew/clew.db")),
        ("sqlite:other.db", Path("/home/me/clew/other.db")),
        ("sqlite:/var/kept.db", Path("/var/kept.db")),
        ("sqlite:~/kept.db", Path("~/kept.db").expanduser()),
    ],
)
def test_the_store_is_where_the_settings_say_for_gateway_and_commands_alike(url: str, file: Path | None) -> None:
    """Wherever a command is started: a path that is not absolute begins in the home."""
    location = location_of(url, Path("/home/me/clew"))
    assert (location and location.describe()) == (str(file) if file else None)


def test_off_is_no_store(tmp_path: Path) -> None:
    assert (open_store("off", tmp_path), [*tmp_path.iterdir()]) == (None, [])


def test_a_url_names_a_kind_that_there_is() -> None:
    kinds = [url for name in KINDS for url in (name, f"{name}:somewhere")]
    assert [url for url in [*kinds, "off", USUAL_URL] if not is_url(url)] == []
    assert [url for url in ("", "other", "sqlite:", "off:", "sqlitex", " sqlite") if is_url(url)] == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_store_has_all_that_the_protocols_say(kind: str, tmp_path: Path) -> None:
    with opened(located(kind, tmp_path)) as store:
        whole: Store = store
        names = {name for base in AllOfIt.__mro__ for name in vars(base) if base.__module__ == AllOfIt.__module__}
        public = [name for name in names if not name.startswith("_")]
        assert len(public) > 30
        assert [name for name in public if not hasattr(whole, name)] == []


def test_every_kind_goes_through_the_contract_and_can_be_examined(tmp_path: Path) -> None:
    assert list(ADDRESSES) == list(KINDS)
    for name in KINDS:
        kind, location = kind_named(name), located(name, tmp_path, NEW_ADDRESSES)
        assert [each.state for each in kind.examine_program()] == ["ok"]
        assert not location.exists()
        assert [each.state for each in location.examine(0.0)] == ["ok"]
        opened(location).close()
        assert location.exists()


def test_the_settings_take_no_other_url(tmp_path: Path) -> None:
    file = tmp_path / "clew.toml"
    file.write_text('[store]\nurl = "elsewhere"\n')
    with pytest.raises(Exception, match="sqlite, sqlite:PATH, postgresql:"):
        load(file, {})


def test_a_password_in_a_url_is_not_shown() -> None:
    assert shown_url("postgresql://me:hunter2@db/team") == "postgresql://me:…@db/team"
    assert shown_url("postgresql://db/team?password=hunter2&x=1") == "postgresql://db/team?password=…&x=1"
    assert [shown_url(each) for each in ("sqlite", "sqlite:a:b", "off")] == ["sqlite", "sqlite:a:b", "off"]

"""Who may use the gateway."""

import hmac
import json
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from clew.errors import SettingsInvalid
from clew.settings import own_keys
from clew.settings.home import Home
from clew.settings.own_keys import KeyTable, add_key, load_key, named_keys, remove_key, rotate_key

MINTED = re.compile(r"clew_[0-9a-zA-Z]{8}_[0-9a-zA-Z]{43}")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


class Clock:
    """Time that stands until it is told to go."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


# ── the gateway's own key


def test_the_first_start_makes_a_private_key_and_the_next_finds_it(home: Home) -> None:
    key = load_key(home, {})
    assert MINTED.fullmatch(key)
    assert (load_key(home, {}), stat.S_IMODE(home.key.stat().st_mode)) == (key, 0o600)


def test_the_variable_outranks_the_file_and_may_be_any_string(home: Home) -> None:
    assert load_key(home, {"CLEW_KEY": " any string "}) == "any string"
    assert not home.key.exists()


def test_a_key_that_others_can_read_is_refused(home: Home) -> None:
    load_key(home, {})
    home.key.chmod(0o644)
    with pytest.raises(SettingsInvalid, match=r"can be used by others \(mode 0644\)"):
        load_key(home, {})


@pytest.mark.slow
def test_gateways_that_start_together_agree_on_one_key(home: Home) -> None:
    code = (
        "import sys; from pathlib import Path; from clew.settings.home import Home;"
        "from clew.settings.own_keys import load_key; print(load_key(Home(Path(sys.argv[1])), {}))"
    )
    command = [sys.executable, "-c", code, str(home.root)]
    racers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(6)]
    assert len({racer.communicate(timeout=30)[0] for racer in racers}) == 1


# ── named keys


def test_a_minted_key_is_shown_once_and_kept_as_a_hash(home: Home) -> None:
    """Reliability 4.2: `clew_<kid>_<secret>`; the file holds no secret."""
    row, key = add_key(home, "laptop", principal="anna", now=5.0)
    assert MINTED.fullmatch(key)
    _, kid, secret = key.split("_")
    assert (row.name, row.kid, row.principal, row.created) == ("laptop", kid, "anna", 5.0)
    raw = home.keys.read_text()
    assert secret not in raw and json.loads(raw)["keys"][0]["hash"] == row.hash
    assert stat.S_IMODE(home.keys.stat().st_mode) == 0o600
    assert named_keys(home) == (row,)


def test_a_name_is_there_once_and_can_be_read(home: Home) -> None:
    add_key(home, "laptop", principal="anna")
    for name, why in [
        ("laptop", "already"),
        ("", "printable"),
        (" ", "printable"),
        ("a\nb", "printable"),
        ("x" * 65, "printable"),
    ]:
        with pytest.raises(SettingsInvalid, match=why):
            add_key(home, name, principal="anna")
    with pytest.raises(SettingsInvalid, match=r"there is no key 'none' \(there are: laptop\)"):
        remove_key(home, "none")


def test_a_table_that_is_damaged_or_newer_is_refused(home: Home) -> None:
    add_key(home, "laptop", principal="anna")
    home.keys.write_text("{")
    with pytest.raises(SettingsInvalid, match="is not a table of keys"):
        named_keys(home)
    home.keys.write_text('{"version":2,"keys":[]}')
    with pytest.raises(SettingsInvalid, match="has version 2; this clew reads 1"):
        named_keys(home)


# ── whose key is this


def test_each_key_opens_for_its_own_principal_and_nothing_else_does(home: Home) -> None:
    _, anna = add_key(home, "a", principal="anna")
    _, bob = add_key(home, "b", principal="bob")
    table = KeyTable("own key", home.keys, extra={"one run": "local"})
    kid = anna.split("_")[1]
    shown = [
        "own key",
        "one run",
        anna,
        bob,
        "",
        "own key ",
        "clew",
        "clew__",
        f"clew_{kid}_",
        f"clew_{kid}_{bob[14:]}",
        anna + "x",
    ]
    assert [table.principal_of(each) for each in shown] == ["local", "local", "anna", "bob", *[None] * 7]
    assert [table.principal_of(each) for each in ("\ud800", "ключ", "x" * 100_000)] == [None, None, None]


def test_without_a_key_of_its_own_nothing_empty_opens(home: Home) -> None:
    assert KeyTable("", home.keys).principal_of("") is None


def test_a_change_of_the_table_is_seen_soon_and_costs_nothing_between(home: Home) -> None:
    clock = Clock()
    _, old = add_key(home, "a", principal="anna")
    table = KeyTable("own", home.keys, clock=clock)
    assert table.principal_of(old) == "anna"
    _, new = rotate_key(home, "a")
    assert (table.principal_of(old), table.principal_of(new)) == ("anna", None)
    clock.now = 1.0
    assert (table.principal_of(old), table.principal_of(new)) == (None, "anna")
    remove_key(home, "a")
    clock.now = 2.0
    assert table.principal_of(new) is None


def test_a_table_that_breaks_while_the_gateway_runs_keeps_those_in_who_were(home: Home) -> None:
    clock = Clock()
    _, key = add_key(home, "a", principal="anna")
    table = KeyTable("own", home.keys, clock=clock)
    assert table.principal_of(key) == "anna"
    home.keys.write_text("{")
    clock.now = 1.0
    assert (table.principal_of(key), table.principal_of("own")) == ("anna", "local")


def test_a_change_that_could_not_be_read_is_read_as_soon_as_it_can_be(home: Home) -> None:
    """A key that was removed stays out, though the file is the same as when it could not be read."""
    clock = Clock()
    _, key = add_key(home, "a", principal="anna")
    table = KeyTable("own", home.keys, clock=clock)
    assert table.principal_of(key) == "anna"
    remove_key(home, "a")
    home.keys.chmod(0o644)
    clock.now = 1.0
    assert table.principal_of(key) == "anna"
    home.keys.chmod(0o600)
    clock.now = 2.0
    assert table.principal_of(key) is None


def test_an_unknown_key_is_compared_as_a_known_one_is(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reliability 4.2: same timing class; every question makes the same comparisons."""
    _, key = add_key(home, "a", principal="anna")
    table = KeyTable("own", home.keys)
    compared: list[tuple[int, int]] = []

    def watched(one: bytes | str, other: bytes | str) -> bool:
        compared.append((len(one), len(other)))
        return one == other

    monkeypatch.setattr(own_keys.hmac, "compare_digest", watched)
    counts = []
    for shown in (key, key[:-1] + "!", "clew_nobodyxx_" + "x" * 43, "nothing"):
        compared.clear()
        table.principal_of(shown)
        counts.append(tuple(compared))
    assert counts == [((32, 32), (64, 64))] * 4
    assert hmac.compare_digest is watched

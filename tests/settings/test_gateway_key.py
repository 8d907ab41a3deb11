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
from clew.limits.keys import KeyRights
from clew.settings import key_table
from clew.settings.home import Home
from clew.settings.key_table import KeyTable
from clew.settings.named_keys import NamedKeys, known_keys
from clew.settings.own_keys import load_key
from clew.store.sqlite.store import SqliteStore

MINTED = re.compile(r"clew_[0-9a-zA-Z]{8}_[0-9a-zA-Z]{43}")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


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
    row, key = NamedKeys(home).add("laptop", principal="anna", now=5.0)
    assert MINTED.fullmatch(key)
    _, kid, secret = key.split("_")
    assert (row.name, row.kid, row.principal, row.created) == ("laptop", kid, "anna", 5.0)
    raw = home.keys.read_text()
    assert secret not in raw and json.loads(raw)["keys"][0]["hash"] == row.hash
    assert stat.S_IMODE(home.keys.stat().st_mode) == 0o600
    assert NamedKeys(home).all() == (row,)


def test_a_name_is_there_once_and_can_be_read(home: Home) -> None:
    NamedKeys(home).add("laptop", principal="anna")
    for name, why in [
        ("laptop", "already"),
        ("", "printable"),
        (" ", "printable"),
        ("a\nb", "printable"),
        ("x" * 65, "printable"),
    ]:
        with pytest.raises(SettingsInvalid, match=why):
            NamedKeys(home).add(name, principal="anna")
    with pytest.raises(SettingsInvalid, match=r"there is no key 'none' \(there are: laptop\)"):
        NamedKeys(home).remove("none")


def test_a_table_that_is_damaged_or_newer_is_refused(home: Home) -> None:
    NamedKeys(home).add("laptop", principal="anna")
    home.keys.write_text("{")
    with pytest.raises(SettingsInvalid, match="is not a table of keys"):
        NamedKeys(home).all()
    home.keys.write_text('{"version":2,"keys":[]}')
    with pytest.raises(SettingsInvalid, match="has version 2; this clew reads 1"):
        NamedKeys(home).all()


def test_keys_of_the_file_are_moved_into_the_store_once(home: Home) -> None:
    """The file stays under another name. What an older clew wrote is read: it has less about each key."""
    row, key = NamedKeys(home).add("laptop", principal="anna")
    kept = {"version": 1, "keys": [{"name": "laptop", "kid": row.kid, "hash": row.hash, "principal": "anna"}]}
    home.keys.write_text(json.dumps(kept))
    with SqliteStore(home.root / "clew.db") as store:
        table = KeyTable("own", NamedKeys(home, store))
        table.look()
        assert table.principal_of(key) == "anna"
        assert not home.keys.exists()
        assert json.loads((home.root / "keys.json.moved").read_text()) == kept
        assert [(each.name, each.rights) for each in store.keys.all()] == [("laptop", KeyRights())]
        (entry,) = store.audit.entries()
        assert (entry.what, entry.after) == ("keys moved into the store", "laptop (principal anna)")


def test_a_file_that_comes_back_adds_only_what_is_new(home: Home) -> None:
    """After a downgrade and another upgrade: keys that are there already stay as they are now."""
    old, _ = NamedKeys(home).add("laptop", principal="anna")
    with SqliteStore(home.root / "clew.db") as store:
        table = NamedKeys(home, store)
        table.edit("laptop", lambda key: (KeyRights(models=("m",)), "web"))
        (home.root / "keys.json.moved").rename(home.keys)
        more, _ = NamedKeys(home).add("other", principal="ben")
        clash = json.loads(home.keys.read_text())
        clash["keys"].append(clash["keys"][0] | {"kid": "anotherx"})
        home.keys.write_text(json.dumps(clash))
        assert {key.kid: (key.name, key.team) for key in table.all()} == {
            old.kid: ("laptop", "web"),
            more.kid: ("other", ""),
            "anotherx": ("laptop anotherx", ""),
        }


# ── whose key is this


def test_each_key_opens_for_its_own_principal_and_nothing_else_does(home: Home) -> None:
    _, anna = NamedKeys(home).add("a", principal="anna")
    _, bob = NamedKeys(home).add("b", principal="bob")
    table = KeyTable("own key", NamedKeys(home), extra={"one run": "local"})
    table.look()
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
    assert KeyTable("", NamedKeys(home)).principal_of("") is None


def test_a_table_that_breaks_while_the_gateway_runs_keeps_those_in_who_were(home: Home) -> None:
    """And a key that was removed stays out as soon as the table can be read."""
    _, key = NamedKeys(home).add("a", principal="anna")
    table = KeyTable("own", NamedKeys(home))
    table.look()
    NamedKeys(home).remove("a")
    home.keys.chmod(0o644)
    table.look()
    assert (table.principal_of(key), table.principal_of("own")) == ("anna", "local")
    home.keys.chmod(0o600)
    table.look()
    assert table.principal_of(key) is None


def test_an_answer_needs_no_store(home: Home) -> None:
    """A store that is away keeps nobody out who was let in before, also after a start; only a key that nobody knows yet
    cannot be checked."""
    with SqliteStore(home.root / "clew.db") as store:
        _, key = NamedKeys(home, store).add("a", principal="anna")
        where = store.describe()
        table = KeyTable("own", NamedKeys(home, store))
        table.look()
        digest = table.digest
    table.look()  # it is closed
    assert (table.principal_of(key), table.is_current) == ("anna", True)
    late = KeyTable("own", known=known_keys(home, where))
    late.await_source()
    assert (late.principal_of(key), late.is_current, late.digest) == ("anna", False, digest)
    assert known_keys(home, "another store") == ()


def test_the_last_use_of_a_key_is_noted_lazily(home: Home) -> None:
    now = [100.0]
    with SqliteStore(home.root / "clew.db") as store:
        keys = NamedKeys(home, store)
        row, key = keys.add("a", principal="anna")
        table = KeyTable("own", keys, wall=lambda: now[0])
        table.look()
        table.principal_of(key)
        now[0] = 130.0
        table.principal_of(key)
        table.look()
        digest = table.digest
        store.keys.note_used({row.kid: 90.0}).result(60)  # an older one changes nothing, and this one comes after
        assert [each.last_used for each in store.keys.all()] == [130.0]
        table.look()
        assert table.digest == digest


def test_an_unknown_key_is_compared_as_a_known_one_is(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reliability 4.2: same timing class; every question makes the same comparisons."""
    _, key = NamedKeys(home).add("a", principal="anna")
    table = KeyTable("own", NamedKeys(home))
    table.look()
    compared: list[tuple[int, int]] = []

    def watched(one: bytes | str, other: bytes | str) -> bool:
        compared.append((len(one), len(other)))
        return one == other

    monkeypatch.setattr(key_table.hmac, "compare_digest", watched)
    counts = []
    for shown in (key, key[:-1] + "!", "clew_nobodyxx_" + "x" * 43, "nothing"):
        compared.clear()
        table.principal_of(shown)
        counts.append(tuple(compared))
    assert counts == [((32, 32), (64, 64))] * 4
    assert hmac.compare_digest is watched

"""`clew limits` and `clew audit`."""

import json
from pathlib import Path

import pytest

from clew.store.sqlite.store import SqliteStore
from tests.cli.invoking import Clew
from tests.store.turns import recorded, turn


@pytest.fixture
def clew(tmp_path: Path) -> Clew:
    return Clew(tmp_path / "home")


def test_a_limit_is_set_listed_and_removed(clew: Clew) -> None:
    clew("keys", "add", "anna")
    done = clew("limits", "set", "key:anna", "5usd/1d", "--hard")
    assert (done.exit_code, done.stdout.splitlines()[0]) == (0, "key:anna: $5.00 per 1d, hard.")
    listed = clew("limits", "list")
    assert listed.stdout.splitlines()[1].split()[:6] == ["key:anna", "$5.00", "per", "1d", "hard", "$0.00"]
    (row,) = json.loads(clew("limits", "list", "--json").stdout)
    assert {name: row[name] for name in ("scope", "amount", "unit", "cap", "hard", "used")} == {
        "scope": "key:anna",
        "amount": "5usd/1d",
        "unit": "usd",
        "cap": 5_000_000,
        "hard": True,
        "used": 0,
    }
    assert clew("limits", "remove", "key:anna", "usd/1d").stdout.splitlines()[0] == "key:anna: $5.00 per 1d is removed."
    assert clew("limits", "list").stdout.startswith("There are no limits")


def test_all_limits_of_somebody_are_removed_together(clew: Clew) -> None:
    for amount in ("5usd/1d", "5usd/1h", "4parallel"):
        assert clew("limits", "set", "principal:web", amount).exit_code == 0
    assert clew("limits", "set", "principal:shop", "1usd/1h").exit_code == 0
    assert len(clew("limits", "remove", "principal:web", "usd").stdout.splitlines()) == 3
    assert (
        clew("limits", "remove", "principal:web").stdout.splitlines()[0] == "principal:web: 4 parallel requests is removed."
    )
    assert [row["scope"] for row in json.loads(clew("limits", "list", "--json").stdout)] == ["principal:shop"]


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        (("set", "key:nobody", "5usd/1d"), 1, "there is no key 'nobody' (there are: none)"),
        (("set", "team:nobody", "5usd/1d"), 1, "there is no team 'nobody' (there are: none)"),
        (("set", "anna", "5usd/1d"), 2, "use key:NAME, principal:NAME or team:NAME"),
        (("set", "principal:web", "5"), 2, "'5' is not a limit: write a number, a unit and a window, such as 5usd/1d"),
        (("set", "principal:web", "60requests/1m", "--hard"), 2, "cannot be hard"),
        (("remove", "web"), 2, "use key:NAME, principal:NAME or team:NAME"),
        (("remove", "principal:web"), 1, "there is no such limit of principal:web"),
    ],
)
def test_what_cannot_be_done_is_said_in_words(clew: Clew, given: tuple[str, ...], code: int, said: str) -> None:
    result = clew("limits", *given)
    assert result.exit_code == code
    assert said in result.stderr


def test_the_audit_says_who_changed_what(clew: Clew) -> None:
    assert clew("audit").stdout == "No changes yet.\n"
    clew("limits", "set", "principal:web", "5usd/1d")
    clew("limits", "set", "principal:web", "6usd/1d")
    newest, first = json.loads(clew("audit", "--json").stdout)
    assert (newest["what"], newest["target"], newest["before"], newest["after"]) == (
        *("limit set", "principal:web", "5usd/1d", "6usd/1d"),
    )
    assert newest["who"].endswith("(command line)")
    assert first["before"] == ""
    assert "principal:web" in clew("audit").stdout


def test_the_audit_has_choices_pins_and_deletions_too(clew: Clew) -> None:
    """And is narrowed down by its options."""
    clew.write(
        '[backends.a]\nurl = "http://127.0.0.1:9"\nauth = "none"\n[backends.b]\nurl = "http://127.0.0.1:9"\nauth = "none"\n'
    )
    with SqliteStore(clew.home / "clew.db") as store:
        store.record(turn(recorded("r", thread="01thread"))).result(60)
    clew("use", "b")
    clew("use", "a", "--agents")
    clew("use", "a", "--thread", "01thread")
    clew("forget", "01thread", "--yes")
    clew("keys", "add", "anna")
    entries = json.loads(clew("audit", "--json").stdout)
    assert [(each["what"], each["target"], each["before"], each["after"]) for each in entries] == [
        ("key added", "key:anna", "", "principal anna"),
        ("thread deleted", "thread:01thread", "principal local", ""),
        ("thread pinned", "thread:01thread", "", "a"),
        ("backend chosen", "sub-agents", "", "a"),
        ("backend chosen", "all requests", "", "b"),
    ]
    assert len(json.loads(clew("audit", "--what", "chosen", "--of", "all", "--since", "1d", "--json").stdout)) == 1
    assert clew("audit", "--who", "nobody").stdout == "No change matches.\n"
    assert clew("audit", "--since", "soon").exit_code == 2

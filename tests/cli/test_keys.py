"""`clew keys`: giving keys and taking them back."""

import json
from pathlib import Path

import pytest

from clew.settings.own_keys import KeyTable, load_keyring
from tests.cli.invoking import Clew

NO_GATEWAY = "No gateway runs now; the next one starts with it: `clew serve`, or `clew run -- claude`."


@pytest.fixture
def clew(tmp_path: Path) -> Clew:
    return Clew(tmp_path / "home")


def principal(clew: Clew, key: str) -> str | None:
    return KeyTable("own", clew.home / "keys.json").principal_of(key)


def test_a_key_is_printed_alone_and_once(clew: Clew) -> None:
    """The key on stdout, so that a script can take it; what to know about it on stderr."""
    result = clew("keys", "add", "laptop", "--principal", "anna")
    key = result.stdout.strip()
    assert (result.exit_code, principal(clew, key)) == (0, "anna")
    assert result.stderr.splitlines()[0] == "The key of laptop, principal anna. It is not shown again."
    listed = clew("keys", "list")
    assert listed.stdout.splitlines()[1].split()[:3] == ["laptop", key.split("_")[1], "anna"]
    assert key.split("_")[2] not in listed.output + clew("keys", "list", "--json").output


def test_a_key_for_another_person_has_a_principal_of_its_own(clew: Clew) -> None:
    """Else it would open all conversations of the owner."""
    result = clew("keys", "add", "anna")
    assert principal(clew, result.stdout.strip()) == "anna"
    assert result.stderr.splitlines() == ["The key of anna, principal anna. It is not shown again.", NO_GATEWAY]


def test_a_key_that_opens_the_conversations_of_the_owner_says_so(clew: Clew) -> None:
    result = clew("keys", "add", "laptop", "--principal", "local")
    assert principal(clew, result.stdout.strip()) == "local"
    assert result.stderr.splitlines() == [
        "The key of laptop, principal local. It is not shown again.",
        "This key opens all threads of local.",
        NO_GATEWAY,
    ]
    clew("keys", "add", "anna")
    second = clew("keys", "add", "annas-laptop", "--principal", "anna")
    assert second.stderr.splitlines()[1:] == ["This key opens all threads of anna.", NO_GATEWAY]


def test_the_principal_of_the_owner_is_never_given_by_accident(clew: Clew) -> None:
    result = clew("keys", "add", "local")
    assert (result.exit_code, clew.home.exists()) == (2, False)
    assert "`--principal local`" in result.stderr


def test_a_key_from_before_keeps_its_principal(clew: Clew) -> None:
    """Also one whose row does not name it, and when it is rotated."""
    clew("keys", "add", "old", "--principal", "local")
    file = clew.home / "keys.json"
    rows = json.loads(file.read_text())
    del rows["keys"][0]["principal"]
    file.write_text(json.dumps(rows))
    assert principal(clew, clew("keys", "rotate", "old").stdout.strip()) == "local"


def test_no_keys_is_an_answer_too(clew: Clew) -> None:
    result = clew("keys", "list")
    assert (result.exit_code, result.stdout.splitlines()) == (
        0,
        ["There are no named keys: `clew keys add NAME` makes one.", f"The gateway's own key: {clew.home / 'key'}"],
    )
    assert json.loads(clew("keys", "list", "--json").stdout) == []
    assert not clew.home.exists()
    clew.environ = {"CLEW_KEY": "mine"}
    assert clew("keys", "list").stdout.splitlines()[1] == "The gateway's own key is in CLEW_KEY."


def test_a_key_is_rotated_and_removed_by_its_name(clew: Clew) -> None:
    old = json.loads(clew("keys", "add", "a", "--json").stdout)
    new = json.loads(clew("keys", "rotate", "a", "--json").stdout)
    assert (principal(clew, old["key"]), principal(clew, new["key"]), new["principal"]) == (None, "a", "a")
    removed = clew("keys", "remove", "a").stdout.splitlines()
    assert removed == ["a opens nothing any more; what a recorded stays.", NO_GATEWAY]
    assert principal(clew, new["key"]) is None


@pytest.mark.parametrize("command", ["remove", "rotate"])
def test_a_name_that_is_not_there_says_which_are(clew: Clew, command: str) -> None:
    clew("keys", "add", "a")
    result = clew("keys", command, "b")
    assert (result.exit_code, result.stderr) == (1, "Error: there is no key 'b' (there are: a)\n")


def test_a_name_that_is_taken_is_refused(clew: Clew) -> None:
    """1, as a backend that is there already: no file has to be mended."""
    clew("keys", "add", "a")
    result = clew("keys", "add", "a")
    assert (result.exit_code, result.stderr) == (
        1,
        "Error: there is a key 'a' already: `clew keys rotate a` gives it a new secret\n",
    )
    assert clew("keys", "add", "x", "--principal", " ").exit_code == 2


@pytest.mark.parametrize("name", ["", "  ", "a\tb", "x" * 65])
def test_a_name_that_is_none_is_a_mistake_of_usage(clew: Clew, name: str) -> None:
    result = clew("keys", "add", name)
    said = "Error: Invalid value for NAME: a key's name has 1 to 64 printable characters"
    assert (result.exit_code, result.stderr.splitlines()[-1], clew.home.exists()) == (2, said, False)


def test_the_sealing_secret_is_rotated_and_the_old_one_still_opens(clew: Clew) -> None:
    first = load_keyring(clew.home / "secret", {})
    said = json.loads(clew("keys", "rotate-secret", "--json").stdout)
    ring = load_keyring(clew.home / "secret", {})
    assert (said["current"], said["keys"]) == (ring.current, [ring.current, first.current])
    text = clew("keys", "rotate-secret").stdout
    assert text.splitlines()[0].endswith("now; 2 older still open theirs.")
    clew.environ = {"CLEW_SECRET": "x" * 40}
    assert clew("keys", "rotate-secret").exit_code == 5


def test_a_table_that_cannot_be_read_ends_with_5(clew: Clew) -> None:
    clew("keys", "add", "a")
    (clew.home / "keys.json").chmod(0o644)
    for arguments in (["list"], ["add", "b"], ["remove", "a"]):
        result = clew("keys", *arguments)
        assert (result.exit_code, "can be used by others" in result.stderr) == (5, True)


def test_a_key_keeps_its_team_when_it_is_rotated_and_shares_the_limits_of_the_team(clew: Clew) -> None:
    clew("keys", "add", "anna", "--team", "web")
    key = clew("keys", "rotate", "anna").stdout.strip()
    holder = KeyTable("own", clew.home / "keys.json").holder_of(key)
    assert holder is not None
    assert (holder.key, holder.team) == ("anna", "web")
    assert json.loads(clew("keys", "list", "--json").stdout)[0]["team"] == "web"
    assert clew("limits", "set", "team:web", "5usd/1d").exit_code == 0
    assert clew("keys", "add", "ben", "--team", "\n").exit_code == 2

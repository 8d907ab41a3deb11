"""`clew keys`: giving keys and taking them back."""

import json
from pathlib import Path

import pytest

from clew.limits.keys import KeyHolder
from clew.settings.home import Home
from clew.settings.key_table import KeyTable
from clew.settings.named_keys import NamedKeys
from clew.settings.own_keys import load_keyring
from clew.store.sqlite.store import SqliteStore
from tests.cli.gateways import gateway_of
from tests.cli.homes import Home as Gateways
from tests.cli.invoking import Clew

NO_GATEWAY = "No gateway is running. The next one starts with this choice: `clew serve`, or `clew run -- claude`."
HOW_TO_USE = [
    "A client that uses it needs the address of this gateway and the key:",
    "  Claude Code, Anthropic's SDKs   ANTHROPIC_BASE_URL=ADDRESS ANTHROPIC_AUTH_TOKEN=KEY",
    "  Codex, OpenAI's SDKs            OPENAI_BASE_URL=ADDRESS/v1 OPENAI_API_KEY=KEY",
]


@pytest.fixture
def clew(tmp_path: Path) -> Clew:
    return Clew(tmp_path / "home")


def holder(clew: Clew, key: str) -> KeyHolder | None:
    with SqliteStore(clew.home / "clew.db") as store:
        table = KeyTable("own", NamedKeys(Home(clew.home), store))
        table.look()
        return table.holder_of(key)


def principal(clew: Clew, key: str) -> str | None:
    found = holder(clew, key)
    return found.principal if found else None


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
    assert result.stderr.splitlines() == [
        "The key of anna, principal anna. It is not shown again.",
        *HOW_TO_USE,
        NO_GATEWAY,
    ]


def test_a_key_that_opens_the_conversations_of_the_owner_says_so(clew: Clew) -> None:
    result = clew("keys", "add", "laptop", "--principal", "local")
    assert principal(clew, result.stdout.strip()) == "local"
    assert result.stderr.splitlines() == [
        "The key of laptop, principal local. It is not shown again.",
        *HOW_TO_USE,
        "This key gives access to all threads of local.",
        NO_GATEWAY,
    ]
    clew("keys", "add", "anna")
    second = clew("keys", "add", "annas-laptop", "--principal", "anna")
    assert second.stderr.splitlines()[1:] == [*HOW_TO_USE, "This key gives access to all threads of anna.", NO_GATEWAY]


def test_the_principal_of_the_owner_is_never_given_by_accident(clew: Clew) -> None:
    result = clew("keys", "add", "local")
    assert (result.exit_code, clew.home.exists()) == (2, False)
    assert "`--principal local`" in result.stderr


def test_a_key_from_before_keeps_its_principal(clew: Clew) -> None:
    """Also one whose row does not name it, and when it is rotated. Its file is kept as it was, under another name."""
    clew.home.mkdir(mode=0o700)
    NamedKeys(Home(clew.home)).add("old", principal="local")
    file = clew.home / "keys.json"
    rows = json.loads(file.read_text())
    del rows["keys"][0]["principal"]
    file.write_text(json.dumps(rows))
    assert [row["principal"] for row in json.loads(clew("keys", "list", "--json").stdout)] == ["local"]
    assert file.exists(), "a list moves nothing"
    assert principal(clew, clew("keys", "rotate", "old").stdout.strip()) == "local"
    assert not file.exists()
    assert json.loads((clew.home / "keys.json.moved").read_text()) == rows


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
    assert removed == ['Key "a" is revoked. The recordings of a are kept.', NO_GATEWAY]
    assert principal(clew, new["key"]) is None


@pytest.mark.parametrize("command", ["remove", "rotate", "show"])
def test_a_name_that_is_not_there_says_which_are(clew: Clew, command: str) -> None:
    clew("keys", "add", "a")
    result = clew("keys", command, "b")
    assert (result.exit_code, result.stderr) == (1, "Error: there is no key 'b' (there are: a)\n")


def test_a_name_that_is_taken_is_refused(clew: Clew) -> None:
    """1, as a backend that is there already: no file has to be corrected."""
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
    assert text.splitlines()[0].endswith("Seals of 2 older keys can still be opened.")
    clew.environ = {"CLEW_SECRET": "x" * 40}
    assert clew("keys", "rotate-secret").exit_code == 5


def test_a_table_that_cannot_be_read_ends_with_5(clew: Clew) -> None:
    clew.home.mkdir(mode=0o700)
    NamedKeys(Home(clew.home)).add("a", principal="a")
    (clew.home / "keys.json").chmod(0o644)
    for arguments in (["list"], ["add", "b"], ["remove", "a"]):
        result = clew("keys", *arguments)
        assert (result.exit_code, "can be used by others" in result.stderr) == (5, True)


def test_without_a_store_keys_are_in_their_file(clew: Clew) -> None:
    clew.write('[store]\nurl = "off"\n')
    key = clew("keys", "add", "a", "--models", "m").stdout.strip()
    table = KeyTable("own", NamedKeys(Home(clew.home)))
    table.look()
    found = table.holder_of(key)
    assert found is not None
    assert (found.key, found.rights[0].models) == ("a", ("m",))
    assert not (clew.home / "clew.db").exists()
    assert clew("keys", "remove", "a").exit_code == 0


def test_rights_are_given_shown_and_changed(clew: Clew) -> None:
    given = ("--models", "claude-haiku-*,glm-5", "--backends", "zai", "--expires", "30d", "--scopes", "inference,read")
    made = json.loads(clew("keys", "add", "ci", *given, "--json").stdout)
    assert (made["models"], made["backends"], made["scopes"]) == (
        ["claude-haiku-*", "glm-5"],
        ["zai"],
        ["inference", "read"],
    )
    assert made["expires"] - made["created"] == pytest.approx(30 * 86_400, abs=5)
    shown = clew("keys", "show", "ci").stdout
    assert "models     claude-haiku-*, glm-5" in shown and "scopes     inference, read" in shown
    assert "scopes inference, read; models claude-haiku-*, glm-5; backends zai" in clew("keys", "list").stdout
    edited = clew("keys", "edit", "ci", "--models", "all", "--expires", "never", "--team", "web")
    assert edited.stdout.splitlines()[0] == "ci: scopes inference, read; backends zai."
    kept = json.loads(clew("keys", "show", "ci", "--json").stdout)
    assert (kept["models"], kept["backends"], kept["expires"], kept["team"]) == ([], ["zai"], None, "web")
    assert principal(clew, made["key"]) == "ci", "its secret stays"
    told = [entry["what"] for entry in json.loads(clew("audit", "--json").stdout)]
    assert told == ["key edited", "key added"]
    assert made["key"].split("_")[2] not in clew("audit", "--json").stdout + shown


def test_the_old_secret_opens_for_the_overlap(clew: Clew) -> None:
    old = clew("keys", "add", "a").stdout.strip()
    rotated = clew("keys", "rotate", "a", "--overlap", "24h")
    assert "The old key is valid until" in rotated.stderr
    assert principal(clew, old) == principal(clew, rotated.stdout.strip()) == "a"
    found = holder(clew, old)
    assert found is not None and found.expires is not None
    assert "old secret" in clew("keys", "show", "a").stdout
    assert len(json.loads(clew("keys", "list", "--json").stdout)) == 1
    clew("keys", "rotate", "a")
    assert clew("keys", "rotate", "a", "--overlap", "soon").exit_code == 5


def test_a_child_goes_with_its_parent(clew: Clew) -> None:
    clew("keys", "add", "anna", "--models", "claude-*")
    child = clew("keys", "add", "bot", "--parent", "anna", "--models", "claude-haiku-*")
    assert (child.exit_code, principal(clew, child.stdout.strip())) == (0, "anna")
    refused = clew("keys", "add", "other", "--parent", "anna")
    assert (refused.exit_code, refused.stderr) == (
        1,
        "Error: 'other' would have all models, but its parent 'anna' has not\n",
    )
    assert clew("keys", "remove", "anna").stdout.splitlines()[1] == "Its child keys are revoked too: bot."
    assert json.loads(clew("keys", "list", "--json").stdout) == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("add", "b", "--scopes", "root"), "the scopes of a key are some of inference, read, admin"),
        (("add", "b", "--expires", "2020-01-01"), "is not in the future"),
        (("edit", "a"), "Name a change"),
        (("edit", "a", "--models", ""), "name one or more, with commas between"),
    ],
)
def test_what_is_no_right_is_a_mistake_of_usage(clew: Clew, given: tuple[str, ...], said: str) -> None:
    clew("keys", "add", "a")
    result = clew("keys", *given)
    assert result.exit_code == 2
    assert said in result.stderr


def test_a_key_keeps_its_team_when_it_is_rotated_and_shares_the_limits_of_the_team(clew: Clew) -> None:
    clew("keys", "add", "anna", "--team", "web")
    key = clew("keys", "rotate", "anna").stdout.strip()
    found = holder(clew, key)
    assert found is not None
    assert (found.key, found.team) == ("anna", "web")
    assert json.loads(clew("keys", "list", "--json").stdout)[0]["team"] == "web"
    assert clew("limits", "set", "team:web", "5usd/1d").exit_code == 0
    assert clew("keys", "add", "ben", "--team", "\n").exit_code == 2


def test_a_new_key_is_printed_with_the_address_of_the_running_gateway(tmp_path: Path) -> None:
    home = Gateways(tmp_path / "home")
    with gateway_of(home):
        told = home.clew("keys", "add", "anna").stderr
    assert "ANTHROPIC_BASE_URL=http://127.0.0.1:2539 ANTHROPIC_AUTH_TOKEN=KEY" in told
    assert "OPENAI_BASE_URL=http://127.0.0.1:2539/v1 OPENAI_API_KEY=KEY" in told
    assert "This gateway listens on this machine only. For other machines: `clew serve --host ADDRESS`." in told

"""Named keys: what each may do, and how the table of them changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import SettingsInvalid
from clew.limits.key_text import key_state, read_end, read_rights, read_span
from clew.limits.keys import (
    KeyHolder,
    KeyRights,
    KeyScope,
    MintedSecret,
    NamedKey,
    add_key,
    allows_backend,
    allows_model,
    current_keys,
    edit_key,
    excess,
    keys_digest,
    remove_key,
    rights_of,
    rotate_key,
)

NOW = 1_800_000_000.0
PATTERNS = st.text("ab*", min_size=1, max_size=4)
NAMES = st.text("ab", max_size=5)


def key(name: str, *, parent: str = "", principal: str = "p", team: str = "", **rights: object) -> NamedKey:
    wide = KeyRights(**rights)  # type: ignore[arg-type]
    return NamedKey(name=name, kid=f"kid-{name}", hash="h", principal=principal, parent=parent, team=team, rights=wide)


def rows(*keys: NamedKey) -> tuple[NamedKey, ...]:
    found: tuple[NamedKey, ...] = ()
    for each in keys:
        found = add_key(found, each).rows
    return found


def test_a_key_without_lists_may_use_everything() -> None:
    assert allows_model((KeyRights(),), "any") and allows_backend((KeyRights(),), "any")
    narrow = (KeyRights(models=("claude-haiku-*", "glm-5"), backends=("zai",)),)
    assert [allows_model(narrow, name) for name in ("claude-haiku-4-5", "glm-5", "glm-52", "claude-opus")] == [
        *(True, True, False, False),
    ]
    assert [allows_backend(narrow, name) for name in ("zai", "claude")] == [True, False]


@pytest.mark.parametrize(
    ("child", "parent", "more"),
    [
        (KeyRights(), KeyRights(), ""),
        (KeyRights(scopes=("inference", "admin")), KeyRights(), "the scope admin"),
        (KeyRights(), KeyRights(models=("a",)), "all models"),
        (KeyRights(models=("a-*",)), KeyRights(models=("a-1",)), "the model a-*"),
        (KeyRights(models=("a-1",)), KeyRights(models=("a-*",)), ""),
        (KeyRights(), KeyRights(backends=("b",)), "all backends"),
        (KeyRights(backends=("b", "c")), KeyRights(backends=("b",)), "the backend c"),
        (KeyRights(), KeyRights(expires=NOW), "a later end"),
        (KeyRights(expires=NOW + 1), KeyRights(expires=NOW), "a later end"),
        (KeyRights(expires=NOW - 1), KeyRights(expires=NOW), ""),
    ],
)
def test_a_child_has_no_more_than_its_parent(child: KeyRights, parent: KeyRights, more: str) -> None:
    assert excess(child, parent) == more


@given(
    child=st.lists(PATTERNS, max_size=3),
    parent=st.lists(PATTERNS, max_size=3),
    name=NAMES,
)
def test_whatever_a_child_within_its_parent_may_ask_for_its_parent_may_too(
    child: list[str], parent: list[str], name: str
) -> None:
    small, large = KeyRights(models=tuple(child)), KeyRights(models=tuple(parent))
    if not excess(small, large) and allows_model((small,), name):
        assert allows_model((large,), name)


def test_a_child_that_would_have_more_is_not_made_and_takes_the_team() -> None:
    parent = key("anna", team="web", models=("a-*",))
    with pytest.raises(SettingsInvalid, match="'bot' would have all models, but its parent 'anna' has not"):
        rows(parent, key("bot", parent="anna"))
    with pytest.raises(SettingsInvalid, match="the conversations of other"):
        rows(parent, key("bot", parent="anna", principal="other", models=("a-1",)))
    with pytest.raises(SettingsInvalid, match="there is no key 'nobody'"):
        rows(parent, key("bot", parent="nobody"))
    (_, bot) = rows(parent, key("bot", parent="anna", models=("a-1",)))
    assert bot.team == "web"
    with pytest.raises(SettingsInvalid, match="the model b"):
        edit_key((parent, bot), "bot", KeyRights(models=("b",)), "web")


def test_a_parent_that_gets_narrower_narrows_its_children() -> None:
    made = rows(key("anna"), key("bot", parent="anna"))
    narrow = edit_key(made, "anna", KeyRights(backends=("b",), expires=NOW), "").rows
    rights = rights_of({row.name: row for row in narrow}, narrow[1])
    assert (allows_backend(rights, "c"), KeyHolder("p", rights=rights).expires) == (False, NOW)
    alone = rights_of({}, narrow[1])
    scopes: tuple[KeyScope, ...] = ("inference", "read", "admin")
    assert all(KeyHolder("p", rights=alone).lacks(each) for each in scopes), "without its parent it may do nothing"


def test_a_key_goes_with_all_its_children() -> None:
    made = rows(key("a"), key("b", parent="a"), key("c", parent="b"), key("d"))
    change = remove_key(made, "a")
    assert [row.name for row in change.rows] == ["d"]
    assert change.before.endswith("with its children b, c")


def test_a_rotated_key_opens_for_as_long_as_was_said() -> None:
    made = rows(key("a", expires=NOW + 1000))
    change = rotate_key(made, "a", MintedSecret("new", "hash"), now=NOW, overlap=100)
    old, new = change.rows
    assert (old.kid, old.replaced_by, old.rights.expires) == ("kid-a", "new", NOW + 100)
    assert (new.kid, new.hash, new.rights.expires) == ("new", "hash", NOW + 1000)
    assert current_keys(change.rows) == (new,)
    again = rotate_key(change.rows, "a", MintedSecret("newer", "h"), now=NOW + 100, overlap=0)
    assert [row.kid for row in again.rows] == ["newer"], "what is over is not kept"
    late = rotate_key(made, "a", MintedSecret("new", "h"), now=NOW, overlap=5000)
    assert late.rows[0].rights.expires == NOW + 1000, "no longer than the key itself"


def test_the_digest_is_about_what_keys_open() -> None:
    made = rows(key("a"), key("b"))
    assert keys_digest(made) == keys_digest(made[::-1])
    assert keys_digest(()) == ""
    assert keys_digest(edit_key(made, "a", KeyRights(models=("m",)), "").rows) != keys_digest(made)


def test_rights_are_typed() -> None:
    old = KeyRights(models=("m",), expires=5.0)
    assert read_rights(old, now=NOW) == old
    typed = read_rights(old, now=NOW, scopes="read,inference", models="all", backends="b, c,b", expires="12h")
    assert typed == KeyRights(scopes=("inference", "read"), backends=("b", "c"), expires=NOW + 43_200)
    assert read_end("never", NOW) is None
    assert read_end("2027-01-31", NOW) == 1_801_440_000.0
    assert key_state(key("a", expires=1_801_440_000.0), NOW) == "until 2027-02-01 00:00 UTC"
    assert key_state(key("a", expires=NOW), NOW).startswith("expired ")
    assert read_span("0") == 0


@pytest.mark.parametrize(
    "typed",
    [
        {"scopes": "root"},
        {"scopes": ""},
        {"models": " , "},
        {"expires": "2020-01-01"},
        {"expires": "soon"},
        {"expires": "0d"},
        {"expires": "99999w"},
    ],
)
def test_what_is_no_right_is_refused(typed: dict[str, str]) -> None:
    with pytest.raises(SettingsInvalid):
        read_rights(KeyRights(), now=NOW, **typed)

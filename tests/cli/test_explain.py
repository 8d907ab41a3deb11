"""`clew explain`: words of clew's, and rules by their ids."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from clew.model.facts.glossary import glossary, term_named
from clew.model.facts.rules import rules
from tests.cli.homes import Home

ROOT = Path(__file__).parents[2]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "h", "")


def test_a_word_is_explained_in_whatever_spelling(home: Home) -> None:
    told = home.clew("explain", "Seals").stdout.splitlines()
    assert told[0] == "seal"
    assert told[1].startswith("A value that clew puts in place of a signature")
    assert told[-1] == "More: docs/concepts/thinking-across-backends.md"
    assert home.clew("explain", "left", "out").stdout.startswith("left out\n")
    assert home.json("explain", "dormant", "--json")["name"] == "confirmed"


def test_without_a_word_all_are_listed(home: Home) -> None:
    assert all(f"  {name} " in home.clew("explain").stdout for name in glossary())
    assert list(home.json("explain", "--json")) == list(glossary())


def test_a_rule_is_explained_by_its_id_or_number(home: Home) -> None:
    one = home.clew("explain", "R33.signature-missing").stdout.splitlines()
    assert one == [
        "R33.signature-missing",
        rules()["R33.signature-missing"].means,
        "The API says: {path}: Field required",
        "Right:        Send the block unchanged, with its signature. If it has no signature, leave the whole block out.",
        "Known by:     measured at the vendor's API (M5; anomalyco/opencode#25005)",
    ]
    ids = [each["id"] for each in home.json("explain", "r33", "--json")]
    assert ids == [id_ for id_ in rules() if id_.startswith("R33.")]
    assert "No tool output found" in home.clew("explain", "responses.call-unanswered").stdout


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("sela", "'sela' is not in clew's list of words. Did you mean 'seal'? `clew explain` prints the list."),
        ("xyzzy", "'xyzzy' is not in clew's list of words. `clew explain` prints the list."),
        ("R999", "There is no rule 'R999'. docs/reference/rules.md lists them."),
    ],
)
def test_an_unknown_word_is_a_usage_error(home: Home, word: str, says: str) -> None:
    assert home.refused("explain", word) == (2, f"Error: {says}")


def test_no_word_is_explained_twice_and_every_page_exists() -> None:
    words = [word for term in glossary().values() for word in (term.name, *term.also)]
    assert len(words) == len(set(words))
    assert [term.page for term in glossary().values() if not (ROOT / term.page).is_file()] == []
    assert [term.name for term in glossary().values() if not re.fullmatch(r"[A-Z].*\.", term.short)] == []
    assert term_named("no such word") is None

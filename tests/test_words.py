"""Texts that people read are in plain words: help, messages, pages, README and docs.

The readers are engineers, and English is the second language of most. `UNUSUAL` are the words that have stopped readers before.
A sentence that needs one of them can be said with a usual word.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from clew.cli import main

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "clew"
UNUSUAL = (
    *(
        "albeit",
        "amiss",
        "anew",
        "aught",
        "bade",
        "befall",
        "befalls",
        "befell",
        "forthwith",
        "heed",
        "heeded",
        "heeds",
        "hence",
    ),
    *(
        "hereby",
        "herein",
        "hither",
        "lest",
        "mend",
        "mended",
        "mending",
        "mends",
        "naught",
        "nigh",
        "nought",
        "thence",
        "thereby",
    ),
    *("thereof", "thither", "whence", "whereby", "wherein", "whereof", "whilst", "whoever", "whomever"),
    *("akin", "amid", "amongst", "bestow", "bestows", "dearest", "deem", "deemed", "deems", "forgo", "forgoes"),
    *("inasmuch", "insofar", "kin", "linger", "lingering", "lingers", "nonetheless", "notwithstanding"),
    *("outrank", "outranked", "outranks", "owing", "sundry", "thereafter", "thereupon", "thrice"),
    *("vouch", "vouched", "vouches", "whereupon"),
    *("befalling", "behold", "betwixt", "fain", "glance", "glanced", "glances", "heretofore", "hitherto", "perchance"),
    *("thusly", "tidings", "verily", "whither"),
)
STIFF = re.compile(
    r"\b(?:is|are) no (?:JSON|TOML|YAML|PDF|number|time|limit|address)\b|\bwithout a word\b"
    r"|\b(?:which|that) nobody asked for\b|\bopens nothing\b"
)
"""Sentences that are turned around: "is not JSON", "gave no reason", "was not requested" and "is revoked" say the same."""
_FOUND = re.compile(rf"\b(?:{'|'.join(UNUSUAL)})\b", re.IGNORECASE)


def unusual_in(text: str) -> list[str]:
    return _FOUND.findall(text)


def helps(command: click.Command, path: str = "clew", parent: click.Context | None = None) -> Iterator[tuple[str, str]]:
    with click.Context(command, info_name=path.split()[-1], parent=parent, **command.context_settings) as context:
        yield path, command.get_help(context)
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                below = command.get_command(context, name)
                assert below is not None
                yield from helps(below, f"{path} {name}", context)


def docstrings_in(tree: ast.Module) -> set[int]:
    """A string that stands alone is for readers of the code."""
    return {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}


def messages_of(file: Path) -> Iterator[str]:
    tree = ast.parse(file.read_text())
    inner = docstrings_in(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
            yield node.value


def test_help_is_in_usual_words() -> None:
    assert {path: found for path, text in helps(main) if (found := unusual_in(text))} == {}


def test_messages_are_in_usual_words() -> None:
    found = {
        str(file.relative_to(SOURCE)): words
        for file in sorted(SOURCE.rglob("*.py"))
        if (words := [word for message in messages_of(file) for word in unusual_in(message)])
    }
    assert found == {}


def test_messages_say_plainly_what_is_not_so() -> None:
    found = {
        str(file.relative_to(SOURCE)): turned
        for file in sorted(SOURCE.rglob("*.py"))
        if (turned := [message for message in messages_of(file) if STIFF.search(message)])
    }
    assert found == {}
    assert STIFF.search("a.json is no JSON")


CODE = sorted(
    file
    for folder in (SOURCE, *(ROOT / name for name in ("docs", "examples", "bench", "release", "plugin", "deploy")))
    for file in folder.rglob("*")
    if file.suffix in {".py", ".toml", ".html", ".js", ".md", ".scenario"}
)


def test_code_with_its_comments_and_decisions_is_in_usual_words() -> None:
    """For those who change the code, who are readers too."""
    pages = [*CODE, *ROOT.glob("*.md")]
    assert len(pages) > 700
    wrong = {str(file.relative_to(ROOT)): words for file in pages if (words := unusual_in(file.read_text()))}
    assert wrong.keys() <= {"CHANGELOG.md"}, wrong


READ = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((SOURCE / "web" / "templates").rglob("*.html")),
]


def test_pages_are_in_usual_words() -> None:
    """But for decisions, which are for those who change the code."""
    pages = [file for file in READ if "decisions" not in file.parts]
    assert len(pages) > 50
    assert {str(file.relative_to(ROOT)): words for file in pages if (words := unusual_in(file.read_text()))} == {}


@pytest.mark.parametrize("text", ["Say what befell it.", "It is Mended.", "for whoever asks"])
def test_an_unusual_word_is_found(text: str) -> None:
    assert len(unusual_in(text)) == 1

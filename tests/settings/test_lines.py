"""In which line of a TOML text a key stands."""

import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.settings.problems import format_key, key_lines, line_of
from tests.counts import examples

TEXT = '''# a comment with [brackets] and x = 1
active = "x"          # line 2

[backends.glm]
url = """
[not.a.header]
not = "a key"
"""
"quoted.key" = 'a "string" with [brackets'
keys = [
  "${A}",  # ]
  { inline = 1 },
]
quirks.missing = "off"

[[rules]]
family = "opus"
[[rules]]
agent = "*"
[rules.more]
x = 1

[ models . "glm-4.6" ]
context = 1
'''

LINES = {
    ("active",): 2,
    ("backends", "glm"): 4,
    ("backends", "glm", "url"): 5,
    ("backends", "glm", "quoted.key"): 9,
    ("backends", "glm", "keys"): 10,
    ("backends", "glm", "quirks", "missing"): 14,
    ("rules", 0): 16,
    ("rules", 0, "family"): 17,
    ("rules", 1): 18,
    ("rules", 1, "agent"): 19,
    ("rules", 1, "more"): 20,
    ("rules", 1, "more", "x"): 21,
    ("models", "glm-4.6"): 23,
    ("models", "glm-4.6", "context"): 24,
}


def test_every_header_and_every_key_has_its_line() -> None:
    tomllib.loads(TEXT)
    assert key_lines(TEXT) == LINES


@pytest.mark.parametrize(
    ("key", "line"),
    [
        (("backends", "glm", "keys", 1, "inline"), 10),
        (("backends",), 4),
        (("backends", "glm", "quirks"), 4),
        (("nowhere",), 0),
        ((), 0),
    ],
)
def test_a_key_without_a_line_has_that_of_what_holds_it_or_of_what_it_holds(key: tuple[str | int, ...], line: int) -> None:
    assert line_of(key, LINES) == line


def test_a_key_is_spelled_as_a_person_would() -> None:
    assert format_key(("rules", 1, "more", "glm-4.6")) == 'rules[1].more."glm-4.6"'
    assert format_key(()) == ""


NAMES = st.sampled_from(["a", "b-c", '"d.e"', "'f g'"])
VALUES = st.sampled_from(
    ["1", '"x # ["', "'''\n[y]\nz = 1\n'''", '"""a\\"""\n[b]\n"""', "[\n 1, # ]\n '}',\n]", "[\n ['a'],\n]", "{ k = '[' }"]
)


@given(st.lists(st.tuples(NAMES, st.dictionaries(NAMES, VALUES, max_size=3)), max_size=4))
@settings(max_examples=examples(48, soak=4000))
def test_whatever_the_values_look_like_each_key_is_where_it_was_written(tables: list[tuple[str, dict[str, str]]]) -> None:
    """Values that look like headers and keys do not count."""
    text, expected = "", {}
    for place, (name, entries) in enumerate(tables):
        expected[(f"t{place}", *_parts(name))] = text.count("\n") + 1
        text += f"[t{place}.{name}]\n"
        for key, value in entries.items():
            expected[(f"t{place}", *_parts(name), *_parts(key))] = text.count("\n") + 1
            text += f"{key} = {value}\n"
    tomllib.loads(text)
    assert key_lines(text) == expected


def _parts(name: str) -> tuple[Any, ...]:
    return (name.strip("\"'"),)

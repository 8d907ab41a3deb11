"""Edits of the settings file: only what is meant changes, and comments stay."""

import tomllib

import pytest

from clew.settings.edits import with_backend, with_backend_values, without_backend

TEXT = """# All of it.
active = "a"  # the first

[backends.a]  # Anna's
url = "http://a"  # do not # change
model = "one"

# Before b.
[backends.b]
url = "http://b#x"
[backends.b.timeouts]
connect = 1

[thinking]
restore = true
"""


@pytest.mark.parametrize(
    ("values", "old", "new"),
    [
        ({"url": "http://c#y"}, 'url = "http://a"  # do', 'url = "http://c#y"  # do'),
        ({"model": ""}, 'model = "one"\n', ""),
        ({"key": "${A}"}, 'model = "one"\n', 'model = "one"\nkey = "${A}"\n'),
        ({"realm": ""}, "", ""),
    ],
)
def test_a_value_is_set_added_or_removed_and_the_rest_stays(values: dict[str, str], old: str, new: str) -> None:
    assert with_backend_values(TEXT, "a", values) == TEXT.replace(old, new, 1)


def test_a_key_is_added_to_the_table_of_the_backend_and_not_to_a_table_in_it() -> None:
    found = tomllib.loads(with_backend_values(TEXT, "b", {"url": "http://d#z", "key": "${B}"}))
    assert found["backends"]["b"] == {"url": "http://d#z", "key": "${B}", "timeouts": {"connect": 1}}


def test_a_backend_comes_to_the_end_and_goes_without_a_trace() -> None:
    more = with_backend(TEXT, "new one", {"preset": "zai", "url": "", "key": "${Z}"})
    assert more == f'{TEXT}\n[backends."new one"]\npreset = "zai"\nkey = "${{Z}}"\n'
    assert without_backend(more, "new one").rstrip() == TEXT.rstrip()
    assert with_backend("", "x", {"url": "u"}) == '[backends.x]\nurl = "u"\n'


def test_a_backend_without_a_table_of_its_own_is_removed_whole_or_not_at_all() -> None:
    assert without_backend('backends = { a = { url = "http://a" }, b = {} }\n', "a") is None
    left = without_backend('[backends]\na = { url = "http://a" }\nb = {}\n', "a")
    assert left is not None
    assert tomllib.loads(left) == {"backends": {"b": {}}}

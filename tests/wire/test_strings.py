"""JSON strings that are read together."""

import pytest

from clew.wire.events import marked, read_marked


def test_strings_are_read_as_one() -> None:
    strings = [b"a\\n", b"\xc3\xa9", b"", b"\\u0062"]
    assert read_marked(marked(strings), len(strings)) == "a\néb"


@pytest.mark.parametrize(
    "strings",
    [
        [b"\\ud83d", b"\\ude00"],
        [b"\xc3", b"\xa9"],
        [b"a\\", b"n"],
        [b"\\u00", b"e9"],
        [b'a","b', b"c"],
        [b"a\x7fb", b"c"],
        [b"a\nb"],
    ],
)
def test_what_is_no_text_by_itself_does_not_become_text_together(strings: list[bytes]) -> None:
    assert read_marked(marked(strings), len(strings)) is None

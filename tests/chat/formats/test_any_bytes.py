"""Whatever a file holds, a reader says what is broken and goes on; and what it takes, the store can show again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.chat.formats import FORMATS, format_of
from tests.build import redacted, thinking, tool_result, tool_use
from tests.chat.formats.lines import Scribbler
from tests.chat.formats.stored import exported, imported, stored
from tests.counts import examples
from tests.store.turns import conversation, turn


def _transcript() -> bytes:
    talk = Scribbler()
    talk.user("list")
    talk.assistant("m1", thinking("hm", "sig-1"), redacted("d"), tool_use("t1", command="ls"), stop="tool_use")
    talk.user([tool_result("t1", "a\nb")])
    talk.assistant("m2", "Two.")
    return talk.raw


def _exports() -> dict[str, bytes]:
    with TemporaryDirectory() as room, stored(Path(room) / "a.db", *map(turn, conversation(3))) as store:
        return {name: exported(store, name) for name in ("clew", "anthropic", "openai")} | {"claude-code": _transcript()}


WHOLE = _exports()
PIECES = [b"null", b"[]", b"{}", b"7", b'"x"', b'"\\ud800"', b"\xff", b"\x00", b"1e999", b"[" * 600, b'"type":"text"', b"\n"]
cut = st.tuples(st.integers(0, 10_000), st.integers(0, 40), st.one_of(st.sampled_from(PIECES), st.binary(max_size=8)))


def spoilt(raw: bytes, cuts: Sequence[tuple[int, int, bytes]]) -> bytes:
    for at, length, put in cuts:
        at %= len(raw) + 1
        raw = raw[:at] + put + raw[at + length :]
    return raw


@pytest.mark.parametrize("name", WHOLE)
@given(st.lists(cut, min_size=1, max_size=4))
@settings(max_examples=examples(25, soak=200), deadline=None)
def test_a_spoilt_file_is_read_as_far_as_it_can_be(name: str, cuts: list[tuple[int, int, bytes]]) -> None:
    raw = spoilt(WHOLE[name], cuts)
    format_of(raw)
    with TemporaryDirectory() as room, stored(Path(room) / "a.db") as store:
        imported(store, raw, name)
        assert store.verify() == ()
        for each in FORMATS:
            exported(store, each)

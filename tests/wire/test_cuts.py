"""Cuts: the short way of the encoder gives the same bytes as the long one, or declines."""

from __future__ import annotations

import json
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from clew.model.blocks import text_block
from clew.model.request import Request, blocks_of, with_content
from clew.wire import requests
from clew.wire.requests import encode, parse
from clew.wire.spans import offset_of
from clew.wire.splice import cuts
from tests.build import Json, assistant, redacted, text, thinking, user
from tests.counts import examples


def compact(*content: Json) -> bytes:
    body = {"messages": [user("q"), assistant(*content), user("z")]}
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()


def keeping(asked: Request, *kept: int) -> Request:
    blocks = tuple(blocks_of(asked.messages[1])[i] for i in kept)
    return asked.with_messages((asked.messages[0], with_content(asked.messages[1], blocks), asked.messages[2]))


def the_long_way(going: Request) -> bytes:
    with patch.object(requests, "cuts", lambda request: None):
        return encode(going)


@settings(max_examples=examples(24, soak=2000), deadline=None)
@given(st.lists(st.sampled_from(["h", "t", "r", "o"]), min_size=1, max_size=6), st.data())
def test_the_short_way_gives_what_the_long_way_gives(kinds: list[str], data: st.DataObject) -> None:
    made = {"h": lambda i: thinking(f'{{"é {i}"', f"s{i}"), "t": lambda i: text(f"t{i}"), "r": lambda i: redacted(f"d{i}")}
    content = [made.get(kind, lambda i: thinking("", f"s{i}"))(i) for i, kind in enumerate(kinds)]
    asked = parse(compact(*content))
    kept = [i for i in range(len(content)) if data.draw(st.booleans())]

    assert encode(keeping(asked, *kept)) == the_long_way(keeping(asked, *kept))


def test_the_short_way_is_taken_for_thinking_that_is_left_out() -> None:
    asked = parse(compact(thinking("a", "clew1.x"), text("b"), thinking("c", "s")))

    assert cuts(keeping(asked, 1)) is not None
    assert encode(keeping(asked, 1)) == compact(text("b"))


@pytest.mark.parametrize("kept", [(), (1, 0)], ids=["nothing would be left", "the order changes"])
def test_other_edits_are_declined(kept: tuple[int, ...]) -> None:
    asked = parse(compact(thinking("a", "s"), text("b")))

    assert cuts(keeping(asked, *kept)) is None


def test_another_spelling_is_declined_and_still_encoded() -> None:
    raw = b'{"messages":[{"role":"assistant","content":[{"thinking":"a","type":"thinking","signature":"s"},{"type":"text","text":"b"}]}]}'
    asked = parse(raw)
    going = asked.with_messages((with_content(asked.messages[0], blocks_of(asked.messages[0])[1:]),))

    assert cuts(going) is None
    assert encode(going) == b'{"messages":[{"role":"assistant","content":[{"type":"text","text":"b"}]}]}'


def test_a_message_with_something_put_in_is_declined() -> None:
    asked = parse(compact(thinking("a", "s"), text("b")))
    going = asked.with_messages(
        (asked.messages[0], with_content(asked.messages[1], (text_block("new"),)), asked.messages[2])
    )

    assert cuts(going) is None


def test_a_raw_value_knows_its_place_in_its_own_document_alone() -> None:
    document = b'{"a": "x", "b": ["x", "x"]}'
    values = msgspec.json.decode(document, type=dict[str, Raw])

    assert offset_of(values["b"], document) == document.index(b'["x"')
    assert offset_of(values["a"], document) == document.index(b'"x"')
    assert offset_of(values["a"].copy(), document) is None
    assert offset_of(Raw(b'"x"'), document) is None

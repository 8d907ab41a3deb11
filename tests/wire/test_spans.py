"""Where values stand in JSON bytes, whatever the spelling."""

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clew.errors import BodyTooLarge, RequestInvalid
from clew.wire.spans import Member, Span, duplicate_keys, elements, members
from tests.counts import examples
from tests.wire.json_texts import arrays, objects, plain, spelled, trees


def test_members_are_found_in_their_order_with_white_space_around() -> None:
    assert members(b' { "a" : 1 ,\n"b":[2, 3]}') == [Member("a", 3, 9, 10), Member("b", 13, 17, 23)]


def test_elements_are_found_in_their_order_with_white_space_around() -> None:
    assert elements(b' [ 1,[2, 3] , "]" ] ') == [Span(3, 4), Span(5, 11), Span(14, 17)]


def test_keys_are_unescaped() -> None:
    assert members(b'{"\\u0061\\n":1}') == [Member("a\n", 1, 12, 13)]


def test_a_doubled_key_is_listed_twice() -> None:
    raw = b'{"a":{"b":[1]},"b":2,"a":"long enough to differ"}'

    assert [(each.key, raw[each.value_start : each.value_end]) for each in members(raw)] == [
        ("a", b'{"b":[1]}'),
        ("b", b"2"),
        ("a", b'"long enough to differ"'),
    ]


@given(tree=objects(unique=False), data=st.data())
@example(tree=("object", [("a", 12), ("a", 1), ("b", "x")]), data=None)
@settings(max_examples=examples(24, soak=2000), deadline=None)
def test_every_member_of_an_object_is_found(tree: Any, data: Any) -> None:
    """Doubled keys included: the bytes between the spans are nothing but keys and punctuation."""
    raw = spelled(tree, data.draw) if data else b'{"a":12,"a":1,"b":"x"}'
    found = members(raw)

    assert [(each.key, json.loads(raw[each.value_start : each.value_end])) for each in found] == [
        (key, plain(value)) for key, value in tree[1]
    ]
    assert [json.loads(raw[each.key_start : each.value_start].rstrip(b" \t\n\r:")) for each in found] == [
        key for key, _ in tree[1]
    ]


@given(tree=arrays(), data=st.data())
@settings(max_examples=examples(48, soak=2000), deadline=None)
def test_every_element_of_an_array_is_found(tree: list[Any], data: st.DataObject) -> None:
    raw = spelled(tree, data.draw)

    assert [json.loads(raw[start:end]) for start, end in elements(raw)] == plain(tree)


def test_a_doubled_key_cannot_hide_behind_a_value_of_the_right_length() -> None:
    """By lengths alone this has two members: an `a` that ends before the inner `b`, and that `b` with the value `2}`."""
    raw = b'{"a":1,"b":22,"a":{"x":0,"b":      2}}'

    assert [each.key for each in members(raw)] == ["a", "b", "a"]


@pytest.mark.parametrize("raw", [b"[]", b"1", b"", b'{"a":}', b'{"a":1', b'{"a":1}x'])
def test_what_is_no_object_has_no_members(raw: bytes) -> None:
    with pytest.raises(RequestInvalid):
        members(raw)


@pytest.mark.parametrize("raw", [b"{}", b"1", b"", b"[1,]", b"[1"])
def test_what_is_no_array_has_no_elements(raw: bytes) -> None:
    with pytest.raises(RequestInvalid):
        elements(raw)


def test_a_document_of_ten_thousand_levels_is_refused_and_not_crashed_into() -> None:
    with pytest.raises(BodyTooLarge):
        elements(b"[" * 10_000 + b"]" * 10_000)


def test_doubled_keys_are_named_by_path_at_any_depth() -> None:
    raw = b'{"a":[{"x":1,"x":2},{"y":{"z":[],"z":"{\\"q\\":1,\\"q\\":2}"}}], "a" :1,"\\u0061":2}'

    assert duplicate_keys(raw) == ["a.0.x", "a.1.y.z", "a"]


def test_depth_costs_the_search_for_doubled_keys_no_stack() -> None:
    deep = b'{"a":' * 10_000 + b'{"b":1,"b":2}' + b"}" * 10_000

    assert duplicate_keys(deep) == [".".join(["a"] * 10_000 + ["b"])]


@given(tree=trees(unique=False), data=st.data())
@settings(max_examples=examples(48, soak=2000), deadline=None)
def test_doubled_keys_are_exactly_those_that_a_full_reading_finds(tree: Any, data: st.DataObject) -> None:
    doubled: set[str] = set()

    def read(value: Any, path: tuple[str, ...]) -> None:
        pairs = value[1] if isinstance(value, tuple) else list(enumerate(value)) if isinstance(value, list) else []
        keys = [key for key, _ in pairs]
        doubled.update(".".join((*path, str(key))) for key in keys if keys.count(key) > 1)
        for key, inner in pairs:
            read(inner, (*path, str(key)))

    read(tree, ())
    assert set(duplicate_keys(spelled(tree, data.draw))) == doubled

"""Edits inside JSON bytes: the right value, and no other byte."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import RequestInvalid
from clew.wire.splice import Edit, apply, drop_key, edit_array, edit_object, elements, locate, members, set_key, shift
from tests.counts import examples
from tests.wire.json_texts import KEYS, arrays, objects, plain, spelled


@pytest.mark.parametrize(
    ("raw", "drop", "expected"),
    [
        (b"[ 1 ]", {0}, b"[  ]"),
        (b"[ 1 , 2 , 3 ]", {0}, b"[ 2 , 3 ]"),
        (b"[ 1 , 2 , 3 ]", {1}, b"[ 1 , 3 ]"),
        (b"[ 1 , 2 , 3 ]", {2}, b"[ 1 , 2 ]"),
        (b"[ 1 , 2 , 3 ]", {0, 1}, b"[ 3 ]"),
        (b"[ 1 , 2 , 3 ]", {1, 2}, b"[ 1 ]"),
        (b"[ 1 , 2 , 3 ]", {0, 2}, b"[ 2 ]"),
        (b"[ 1 , 2 , 3 ]", {0, 1, 2}, b"[  ]"),
        (b"[1,2,3,4,5]", {1, 3}, b"[1,3,5]"),
        (b"[]", set(), b"[]"),
    ],
)
def test_elements_leave_with_the_right_comma(raw: bytes, drop: set[int], expected: bytes) -> None:
    """Law 5, and the module's own words about white space."""
    assert apply(raw, edit_array(raw, drop=drop)) == expected


@pytest.mark.parametrize(
    ("raw", "drop", "insert", "expected"),
    [
        (b"[ ]", set(), {0: [b"9"]}, b"[9 ]"),
        (b"[ 1 , 2 ]", set(), {0: [b"9"]}, b"[ 9,1 , 2 ]"),
        (b"[ 1 , 2 ]", set(), {1: [b"9"]}, b"[ 1 , 9,2 ]"),
        (b"[ 1 , 2 ]", set(), {2: [b"8", b"9"]}, b"[ 1 , 2,8,9 ]"),
        (b"[ 1 , 2 ]", {0}, {0: [b"9"]}, b"[ 9,2 ]"),
        (b"[ 1 , 2 ]", {1}, {1: [b"9"]}, b"[ 1,9 ]"),
        (b"[ 1 , 2 ]", {0, 1}, {0: [b"8"], 2: [b"9"]}, b"[ 8,9 ]"),
    ],
)
def test_elements_come_in_with_the_right_comma(raw: bytes, drop: set[int], insert: Any, expected: bytes) -> None:
    assert apply(raw, edit_array(raw, drop=drop, insert=insert)) == expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b'{ "a" : 1 , "b" : 2 }', b'{ "a" : 9 , "b" : 2 }'),
        (b'{ "b" : 2 }', b'{ "b" : 2,"a":9 }'),
        (b"{ }", b'{"a":9 }'),
        (b'{"\\u0061":1}', b'{"\\u0061":9}'),
    ],
)
def test_a_key_is_set_in_place_or_added_at_the_end(raw: bytes, expected: bytes) -> None:
    assert set_key(raw, "a", b"9") == expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b'{ "a" : 1 }', b"{  }"),
        (b'{ "a" : 1 , "b" : 2 }', b'{ "b" : 2 }'),
        (b'{ "b" : 2 , "a" : 1 }', b'{ "b" : 2 }'),
        (b'{"b":2,"a":1,"c":3}', b'{"b":2,"c":3}'),
    ],
)
def test_a_key_leaves_with_the_right_comma(raw: bytes, expected: bytes) -> None:
    assert drop_key(raw, "a") == expected


def test_dropping_a_key_that_is_not_there_gives_the_very_same_bytes() -> None:
    raw = b'{"b":2}'

    assert drop_key(raw, "a") is raw


def test_several_members_are_edited_at_once() -> None:
    raw = b'{"a":1,"b":2,"c":3}'

    assert apply(raw, edit_object(raw, put={"b": b"[]", "d": b"4"}, drop=("a", "c"))) == b'{"b":[],"d":4}'


@pytest.mark.parametrize(
    "edit", [lambda raw: set_key(raw, "a", b"9", path="x.0"), lambda raw: drop_key(raw, "a", path="x.0")]
)
def test_a_doubled_key_is_not_edited(edit: Any) -> None:
    """Duplicate keys pass where clew does not edit the object, and are refused where it would have to."""
    with pytest.raises(RequestInvalid, match="duplicate key 'a' cannot be edited safely") as caught:
        edit(b'{"a":1,"b":2,"a":3}')

    assert caught.value.path == "x.0.a"


def test_beside_a_doubled_key_another_can_be_edited() -> None:
    assert set_key(b'{"a":1,"b":2,"a":3}', "b", b"9") == b'{"a":1,"b":9,"a":3}'


def test_a_value_is_located_by_its_path() -> None:
    raw = b' {"messages": [ {"content": [1, {"text": "hi"}]} ] } '

    assert [raw[slice(*locate(raw, path))] for path in ((), ("messages", 0, "content", 1, "text"))] == [raw.strip(), b'"hi"']


@pytest.mark.parametrize(
    ("path", "where", "words"),
    [
        (("a", "x"), "a.x", "there is no key 'x'"),
        (("b", 2), "b.2", "there is no element 2 among 2"),
        (("b", -1), "b.-1", "there is no element -1 among 2"),
        (("c", "d"), "c.d", "duplicate key 'd'"),
    ],
)
def test_a_path_that_leads_nowhere_says_where_it_ends(path: tuple[str | int, ...], where: str, words: str) -> None:
    with pytest.raises(RequestInvalid, match=words) as caught:
        locate(b'{"a":{},"b":[1,2],"c":{"d":1,"d":2}}', path)

    assert caught.value.path == where


def test_edits_of_a_value_are_shifted_to_its_document() -> None:
    raw = b'{"a":[1,2]}'
    start, end = locate(raw, ("a",))

    assert apply(raw, shift(edit_array(raw[start:end], drop={0}), start)) == b'{"a":[2]}'


def test_edits_that_overlap_are_a_mistake_of_the_caller() -> None:
    with pytest.raises(AssertionError, match="edits overlap at byte 1"):
        apply(b"abc", [Edit(0, 2, b""), Edit(1, 3, b"")])


def test_an_insertion_at_no_place_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(AssertionError, match="no place 3 among 2 entries"):
        edit_array(b"[1,2]", insert={3: [b"9"]})


@given(tree=arrays(), data=st.data())
@settings(max_examples=examples(24, soak=2000), deadline=None)
def test_an_edited_array_means_what_the_edited_list_means(tree: list[Any], data: st.DataObject) -> None:
    """parse(apply(edit)) == edit(parse), and every kept element keeps its bytes."""
    raw = spelled(tree, data.draw)
    places = st.integers(0, len(tree))
    drop = data.draw(st.sets(st.integers(0, max(len(tree) - 1, 0)), max_size=len(tree))) if tree else set()
    insert = data.draw(
        st.dictionaries(places, st.lists(st.sampled_from([b'"new"', b"[ ]"]), min_size=1, max_size=2), max_size=2)
    )
    replace = data.draw(st.dictionaries(st.sampled_from(range(len(tree))), st.just(b"-1"), max_size=2)) if tree else {}

    edited = apply(raw, edit_array(raw, drop=drop, insert=insert, replace=replace))

    own = [raw[span.start : span.end] for span in elements(raw)]
    expected: list[bytes] = []
    for i, element in enumerate([*own, None]):
        expected += insert.get(i, [])
        if element is not None and i not in drop:
            expected.append(replace.get(i, element))
    assert [edited[span.start : span.end] for span in elements(edited)] == expected
    json.loads(edited)


@given(tree=objects(unique=False), key=KEYS, data=st.data())
@settings(max_examples=examples(24, soak=2000), deadline=None)
def test_a_key_that_is_set_changes_its_value_and_no_other_byte(tree: Any, key: str, data: st.DataObject) -> None:
    raw = spelled(tree, data.draw)
    places = [each for each in members(raw) if each.key == key]
    if len(places) > 1:
        with pytest.raises(RequestInvalid):
            set_key(raw, key, b'"new"')
        return

    edited = set_key(raw, key, b'"new"')

    assert json.loads(edited) == {**plain(tree), key: "new"}
    if places:
        at = places[0]
        assert edited == raw[: at.value_start] + b'"new"' + raw[at.value_end :]
    else:
        added = len(edited) - len(raw)
        end = max((each.value_end for each in members(raw)), default=1)
        assert edited[:end] + edited[end + added :] == raw


@given(tree=objects(), key=KEYS, data=st.data())
@settings(max_examples=examples(24, soak=2000), deadline=None)
def test_a_key_that_is_dropped_takes_no_other_member_with_it(tree: Any, key: str, data: st.DataObject) -> None:
    raw = spelled(tree, data.draw)

    edited = drop_key(raw, key)

    def pairs(text: bytes) -> list[bytes]:
        return [text[each.key_start : each.value_end] for each in members(text) if each.key != key]

    assert json.loads(edited) == {name: value for name, value in plain(tree).items() if name != key}
    assert pairs(edited) == pairs(raw)

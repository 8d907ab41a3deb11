"""The long array of a document: found by one pass, rewritten with as few bytes as must be."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import RequestInvalid
from clew.wire.arrays import Array, Item, find_array, recompose
from clew.wire.splice import Span
from tests.counts import examples


def found(raw: bytes) -> Array:
    values = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])["list"]
    return find_array(raw, "list", msgspec.json.decode(values, type=list[msgspec.Raw]))


@pytest.mark.parametrize(
    "raw",
    [
        b'{"list":[1,{"a":[]},"x"]}',
        b' { "before" : {"list":[9]} , "list" : [ 1 , {"a":[]}\n,"x" ] , "after":"\\"list\\":[" } ',
        b'{"l\\u0069st":[1,{"a":[]},"x"]}',
    ],
    ids=["plain", "with decoys and white space", "with an escaped key"],
)
def test_the_array_and_its_elements_are_where_they_stand(raw: bytes) -> None:
    array = found(raw)

    assert json.loads(raw[array.start : array.end]) == [1, {"a": []}, "x"]
    assert [json.loads(raw[span.start : span.end]) for span in array.spans] == [1, {"a": []}, "x"]


def test_an_empty_array_has_no_elements() -> None:
    raw = b'{"list": [ ]}'

    assert found(raw) == Array(9, 12, [])


@pytest.mark.parametrize(
    "raw", [b'{"list":[1],"list":[1]}', b'{"list":[2],"a":0,"list":[1]}', b'{"list":[1],"l\\u0069st":[1]}']
)
def test_a_doubled_key_is_refused(raw: bytes) -> None:
    with pytest.raises(RequestInvalid, match="duplicate key"):
        found(raw)


_values = st.lists(st.one_of(st.integers(), st.text(max_size=5), st.lists(st.integers(), max_size=2)), max_size=6)


@settings(max_examples=examples(36, soak=3000), deadline=None)
@given(_values, st.sampled_from([None, 1]), st.data())
def test_any_elements_in_any_order_are_written_as_asked(values: list, indent: int | None, data: st.DataObject) -> None:
    raw = json.dumps({"a": 0, "list": values, "z": [values]}, indent=indent).encode()
    array = found(raw)
    kept = st.integers(0, len(values) - 1).map(Item) if values else st.nothing()
    changed = st.integers(0, len(values) - 1).map(lambda at: Item(at, b'"changed"')) if values else st.nothing()
    items = data.draw(st.lists(st.one_of(kept, changed, st.just(Item(new=b'"new"'))), max_size=7))

    new = recompose(raw, array.spans, Span(array.start, array.end), items)

    want = [values[item.at] if item.new is None and item.at is not None else json.loads(item.new or b"") for item in items]
    assert json.loads(new) == want
    assert json.loads(raw[: array.start] + new + raw[array.end :]) == {"a": 0, "list": want, "z": [values]}


def test_all_elements_as_they_were_are_the_bytes_that_were() -> None:
    raw = b'{"list":[ 1 ,\n 2,3 ]}'
    array = found(raw)

    assert recompose(raw, array.spans, Span(array.start, array.end), [Item(0), Item(1), Item(2)]) == b"[ 1 ,\n 2,3 ]"
    assert recompose(raw, array.spans, Span(array.start, array.end), [Item(0), Item(1, b"9"), Item(2)]) == b"[ 1 ,\n 9,3 ]"

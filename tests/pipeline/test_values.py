"""Raw values as plain objects and back: only the keys that differ are written again."""

import pytest
from msgspec import UNSET, Raw

from clew.errors import RequestInvalid
from clew.pipeline.values import (
    bytes_of,
    has_items,
    number_of,
    object_of,
    rewrite_object,
    value_of,
    with_changed_fields,
)
from tests.build import request, user

ODD = Raw(b'{ "a" : 1.0 , "b":[ ] ,"c":"\\u00e9"}')


def test_an_absent_value_reads_as_nothing() -> None:
    assert (value_of(UNSET), object_of(UNSET), number_of(UNSET), bytes_of(UNSET)) == (None, None, None, b"")
    assert not has_items(UNSET)


@pytest.mark.parametrize(("raw", "number"), [(b"1", 1), (b"1.5", 1.5), (b"true", None), (b'"1"', None), (b"null", None)])
def test_only_a_number_is_a_number(raw: bytes, number: float | None) -> None:
    assert number_of(Raw(raw)) == number


@pytest.mark.parametrize(("raw", "has"), [(b"[]", False), (b"[ ]", False), (b"[0]", True), (b"{}", False), (b'"x"', False)])
def test_only_an_array_with_something_in_it_has_items(raw: bytes, has: bool) -> None:
    assert has_items(Raw(raw)) is has


def test_an_equal_object_is_the_very_same_value() -> None:
    assert rewrite_object(ODD, {"c": "é", "b": [], "a": 1}, path="x") is ODD


def test_only_what_differs_is_written() -> None:
    """Law 5: other keys keep their white space, escapes and number forms."""
    assert bytes(rewrite_object(ODD, {"a": 1, "b": [2], "c": "é"}, path="x")) == b'{ "a" : 1.0 , "b":[2] ,"c":"\\u00e9"}'
    assert bytes(rewrite_object(ODD, {"a": 1, "c": "é", "d": None}, path="x")) == b'{ "a" : 1.0 , "c":"\\u00e9","d":null}'


def test_an_object_comes_and_goes() -> None:
    assert rewrite_object(ODD, None, path="x") is UNSET
    assert bytes(rewrite_object(UNSET, {"a": 1}, path="x")) == b'{"a":1}'
    assert bytes(rewrite_object(Raw(b'"no object"'), {"a": 1}, path="x")) == b'{"a":1}'


def test_a_doubled_key_that_must_change_is_refused() -> None:
    """Which of the two a reader takes, nobody knows; where it need not change, it passes."""
    doubled = Raw(b'{"a":1,"a":2,"b":3}')
    with pytest.raises(RequestInvalid, match="duplicate key 'a'"):
        rewrite_object(doubled, {"a": 4, "b": 3}, path="thinking")
    assert bytes(rewrite_object(doubled, {"a": 2, "b": 4}, path="thinking")) == b'{"a":1,"a":2,"b":4}'


def test_a_request_in_which_no_field_differs_is_the_very_same_request() -> None:
    given = request(user("hi"), thinking={"type": "adaptive"})
    assert with_changed_fields(given, thinking=given.body.thinking, system=UNSET) is given
    assert with_changed_fields(given, thinking=UNSET).body.thinking is UNSET

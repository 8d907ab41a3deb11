"""What is wrong with a large body: the place is exact, and no step looks at more than a slice."""

from typing import SupportsIndex

import msgspec
import pytest

from clew.errors import RequestInvalid
from clew.model.request import Body
from clew.wire import requests
from clew.wire.strict_json import LARGE_BYTES, SLICE_BYTES, find_fault, find_large_fault

LINES = 'ä"\n'.encode() * (SLICE_BYTES // 3)  # no slice ends where a line or a character does
TEXT = b'{"messages": [], "model": "' + b"\\\\" * LARGE_BYTES + b'",\n"a": "'

FAULTS: dict[str, tuple[bytes, str]] = {
    "an open string": (TEXT, "unexpected end of data"),
    "no colon": (TEXT + b'x", "b" 1}', "expected ':'"),
    "a bad escape": (TEXT + b'\\x"}', "invalid escaped character"),
    "a line end in a string": (TEXT + b'\n"}', "invalid character"),
    "a NaN": (TEXT + b'x", "b": NaN}', "invalid character"),
    "more behind the end": (TEXT + b'x"}}', "trailing characters"),
    "half a pair near the end": (
        b'{"messages": [], "a": "' + b"x" * LARGE_BYTES + b'", "model": "\\ud83d"}',
        "half a surrogate pair at the end",
    ),
}


def complaint_about(raw: bytes) -> str:
    with pytest.raises((msgspec.DecodeError, UnicodeDecodeError)) as caught:
        msgspec.json.decode(raw, type=Body)
    return str(caught.value)


@pytest.mark.parametrize("name", FAULTS)
def test_a_large_body_is_refused_with_the_place_of_its_fault(name: str) -> None:
    raw, reason = FAULTS[name]
    fault = find_large_fault(raw, complaint_about(raw))
    assert fault.reason == reason
    exact = find_fault(raw)
    assert fault.line == exact.line
    assert abs(fault.column - exact.column) <= len('\\ud83d"}')  # a decoder names the byte where it noticed


@pytest.mark.parametrize("complaint", ["Input data was truncated", "JSON is malformed: trailing characters (byte 2000000)"])
def test_bytes_that_are_no_utf8_are_found_in_any_slice(complaint: str) -> None:
    raw = LINES[: SLICE_BYTES + 1] + "ä".encode() + b"\n\xff" + LINES * 10
    assert find_large_fault(raw, complaint) == find_fault(raw)


class OnlyInSlices(bytes):
    """Refuses to be looked at as a whole, and notes how long the slices are that are taken of it."""

    taken: list[int]

    def __getitem__(self, index: SupportsIndex | slice) -> bytes:  # type: ignore[override]  # an index is never asked for
        assert isinstance(index, slice)
        found = bytes.__getitem__(self, index)
        self.taken.append(len(found))
        return found

    def _refused(self, *_: object) -> bytes:
        raise AssertionError("the whole body was looked at in one call")

    decode = count = find = rfind = index = strip = rstrip = lstrip = split = splitlines = _refused  # type: ignore[assignment]


def test_no_call_looks_at_more_than_a_slice() -> None:
    raw = OnlyInSlices(b"[" + b"\\" * (8 * LARGE_BYTES))
    raw.taken = []
    find_large_fault(raw, "Input data was truncated")
    assert sum(raw.taken) >= len(raw)
    assert max(raw.taken) == SLICE_BYTES


@pytest.mark.parametrize("name", FAULTS)
def test_a_large_request_is_not_read_a_second_time(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def decode_again(raw: bytes) -> None:
        raise AssertionError(f"{len(raw)} bytes were read again")

    monkeypatch.setattr(requests, "decode_json", decode_again)
    with pytest.raises(RequestInvalid, match=r"^.+: line \d+ column \d+ \(char \d+\)$") as caught:
        requests.parse(FAULTS[name][0])
    assert caught.value.line == find_fault(FAULTS[name][0]).line

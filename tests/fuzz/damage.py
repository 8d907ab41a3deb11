"""What happens to streams on their way: events that are lost, doubled, swapped, broken off; and others in between."""

from collections.abc import Callable

from hypothesis import strategies as st

JUNK = (
    b": a comment\n\n",
    b"\n",
    b"data:\n\n",
    b"data: {\n\n",
    b"data: null\n\n",
    b"data: []\n\n",
    b"data: [DONE]\n\n",
    b"event: ping\n\n",
    b"id: 7\nretry: 3\n\n",
    b"event: error\ndata: {}\n\n",
    b"data: {}\n\n",
    b'data: {"choices":[]}\n\n',
    b'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}\n\n',
    b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n',
    b'data: {"error":{"message":"slow down","code":429}}\n\n',
    b"data: \xff\xfe\n\n",
    b"<html>\n\n",
    b"\xef\xbb\xbf",
    b"\r",
)

Damage = Callable[[list[bytes]], list[bytes]]


def _at(events: list[bytes], place: int) -> int:
    return place % (len(events) + 1)


def _lose(place: int) -> Damage:
    return lambda events: [*events[: _at(events, place)], *events[_at(events, place) + 1 :]]


def _double(place: int) -> Damage:
    return lambda events: [*events[: _at(events, place)], *events[max(_at(events, place) - 1, 0) :]]


def _swap(place: int) -> Damage:
    def swapped(events: list[bytes]) -> list[bytes]:
        at = _at(events, place)
        return [*events[:at], *reversed(events[at : at + 2]), *events[at + 2 :]]

    return swapped


def _break_off(place: int, size: int) -> Damage:
    """The event ends too soon, and the next one follows on a line of its own."""

    def broken(events: list[bytes]) -> list[bytes]:
        at = _at(events, place)
        return [*events[:at], *(event[:size] + b"\n\n" for event in events[at : at + 1]), *events[at + 1 :]]

    return broken


def _end(place: int, size: int) -> Damage:
    """Nothing comes any more."""
    return lambda events: [*events[: _at(events, place)], *(event[:size] for event in events[_at(events, place) :][:1])]


def _put(place: int, junk: bytes) -> Damage:
    return lambda events: [*events[: _at(events, place)], junk, *events[_at(events, place) :]]


PLACE = st.integers(0, 60)
DAMAGE: st.SearchStrategy[Damage] = st.one_of(
    PLACE.map(_lose),
    PLACE.map(_double),
    PLACE.map(_swap),
    st.builds(_break_off, PLACE, st.integers(0, 300)),
    st.builds(_end, PLACE, st.integers(0, 300)),
    st.builds(_put, PLACE, st.sampled_from(JUNK)),
)


def damaged(events: list[bytes], damages: list[Damage]) -> list[bytes]:
    for each in damages:
        events = each(events)
    return events

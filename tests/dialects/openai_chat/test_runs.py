"""Runs of events that need no reading: the same answer as if each had been read."""

from unittest.mock import patch

from hypothesis import given, settings

from clew.dialects.openai_chat.decoder import Asked
from clew.dialects.openai_chat.lanes import Lanes
from clew.dialects.openai_chat.moulds import Member
from clew.dialects.openai_chat.quirks import Quirks
from clew.dialects.openai_chat.stream import Told
from clew.dialects.openai_chat.translate import Translation
from clew.model.events import Event
from clew.wire.events import decode_event
from clew.wire.sse import SseReader
from tests.counts import examples
from tests.fuzz.vendors import CUTS, QUIRKS, STREAMS, pieces


def nowhere(_lanes: Lanes, _member: Member) -> None:
    """In the place of `Lanes.at`: nothing passes unread."""


def translated(stream: list[bytes], quirks: Quirks) -> tuple[list[Event], object, object]:
    """What the client hears, and what is left for the backend."""
    translation = Translation(Asked("m", message_id="msg_1"), quirks)
    told = [part for piece in stream for part in translation.feed(piece)] + translation.flush()
    return [event for part in told for event in _events(part)], translation.late, translation.failure


def _events(part: Told) -> list[Event]:
    return [decode_event(each) for each in SseReader().feed(part)] if isinstance(part, bytes) else [part]


def translated_slowly(stream: list[bytes], quirks: Quirks) -> tuple[list[Event], object, object]:
    with patch.object(Lanes, "at", nowhere):
        return translated(stream, quirks)


@settings(max_examples=examples(600, soak=30_000), deadline=None)
@given(STREAMS, QUIRKS, CUTS)
def test_what_passes_unread_is_what_reading_would_have_made_of_it(
    events: list[bytes], quirks: Quirks, cuts: list[int]
) -> None:
    """Event for event, with the payloads that the backend needs back in the signatures."""
    stream = b"".join(events)

    assert translated(pieces(stream, cuts), quirks) == translated_slowly([stream], quirks)

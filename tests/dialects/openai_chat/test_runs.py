"""Runs of events that need no reading: the same answer as if each had been read."""

from unittest.mock import patch

from hypothesis import given, settings

from clew.dialects.openai_chat.decoder import Asked
from clew.dialects.openai_chat.lanes import Lanes
from clew.dialects.openai_chat.quirks import Speech
from clew.dialects.openai_chat.stream import Told
from clew.dialects.openai_chat.translate import Translation
from clew.model.events import Event
from clew.wire.events import decode_event
from clew.wire.sse import SseReader
from tests.counts import examples
from tests.fuzz.judging import nowhere
from tests.fuzz.vendors import CUTS, SPEECH, STREAMS, pieces


def translated(stream: list[bytes], speech: Speech) -> tuple[list[Event], object, object]:
    """What the client hears, and what is left for the backend."""
    translation = Translation(Asked("m", message_id="msg_1"), speech)
    told = [part for piece in stream for part in translation.feed(piece)] + translation.flush()
    return [event for part in told for event in _events(part)], translation.late, translation.failure


def _events(part: Told) -> list[Event]:
    return [decode_event(each) for each in SseReader().feed(part)] if isinstance(part, bytes) else [part]


def translated_slowly(stream: list[bytes], speech: Speech) -> tuple[list[Event], object, object]:
    with patch.object(Lanes, "at", nowhere):
        return translated(stream, speech)


@settings(max_examples=examples(600, soak=30_000), deadline=None)
@given(STREAMS, SPEECH, CUTS)
def test_what_passes_unread_is_what_reading_would_have_made_of_it(
    events: list[bytes], speech: Speech, cuts: list[int]
) -> None:
    """Event for event, with the payloads that the backend needs back in the signatures."""
    stream = b"".join(events)

    assert translated(pieces(stream, cuts), speech) == translated_slowly([stream], speech)

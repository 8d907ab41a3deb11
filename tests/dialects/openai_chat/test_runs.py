"""Runs of events that need no reading: the same answer as if each had been read."""

from unittest.mock import patch

import pytest
from hypothesis import given, settings

from clew.dialects.openai_chat.answer.decoder import Asked
from clew.dialects.openai_chat.answer.stream import Told
from clew.dialects.openai_chat.answer.translate import Translation
from clew.dialects.openai_chat.speech import Speech
from clew.dialects.openai_chat.unread.lanes import Lanes
from clew.model.events import BlockDelta, Event
from clew.pipeline.stream.dress import Dress
from clew.pipeline.stream.translated import TranslatedRelay
from clew.wire.events import decode_event
from clew.wire.sse import SseReader
from tests.counts import examples
from tests.fuzz.judging import judge, nowhere
from tests.fuzz.vendors import CUTS, SPEECH, STREAMS, Manner, Segment, pieces, written
from tests.golden.driving import MODEL, wear
from tests.golden.legal import problems

Translated = tuple[list[Event], object, object]


def translated(stream: list[bytes], speech: Speech) -> Translated:
    """What the client hears, and what is left for the backend."""
    return _heard(Translation(Asked("m", message_id="msg_1"), speech), stream)[0]


def translated_slowly(stream: list[bytes], speech: Speech) -> Translated:
    with patch.object(Lanes, "at", nowhere):
        return translated(stream, speech)


def _heard(translation: Translation, stream: list[bytes]) -> tuple[Translated, int]:
    """And how many runs passed unread."""
    told = [part for piece in stream for part in translation.feed(piece)] + translation.flush()
    events = [event for part in told for event in _events(part)]
    return (events, translation.late, translation.failure), sum(isinstance(part, bytes) for part in told)


def _events(part: Told) -> list[Event]:
    return [decode_event(each) for each in SseReader().feed(part)] if isinstance(part, bytes) else [part]


USUAL, ESCAPED = Manner(), Manner(ascii=True)


def said(*segments: tuple[str, list[str]], envelope: str = "plain", manner: Manner = USUAL) -> list[bytes]:
    return written([Segment(*each) for each in segments], envelope, manner, "")


def usage(count: int) -> bytes:
    return b'data: {"choices":[],"usage":{"prompt_tokens":%d}}\n\n' % count


ANYWHERE, NEVER = Speech(tags="anywhere"), Speech(tags="never")
AB, COUNTED, COUNTS = ("content", ["a", "b"]), ("content", ["c", "d"]), "same usage in each"
THOUGHT = said(("reasoning", ["a", "b"]))
RULES: dict[str, tuple[list[bytes], Speech]] = {
    "the stand-in for a hidden thought is no text": (said(("reasoning", ["a", "b", "[REDACTED]", "c"])), Speech()),
    "nor is it with escapes": (
        [each.replace(b']"', b'\\u005d"') for each in said(("reasoning", ["a", "b", "[REDACTED]", "c"]))],
        Speech(),
    ),
    "space at the end of a thought between tags waits": (
        said(("content", ["<think>", "a", "b", "c ", "</think>", "d"])),
        Speech(),
    ),
    "so does space of other kinds": (said(("content", ["<think>", "a", "b", "c\u3000", "</think>", "d"])), Speech()),
    "a tag may begin in a text": (said(("content", ["t", "u", "v<think>", "w", "</think>z"])), ANYWHERE),
    "a tag may end in a thought": (said(("content", ["<think>", "a", "b", "c</think>d", "e"])), Speech()),
    "a fence may begin in a text": (said(("content", ["t", "u", "v```", "<think>"])), ANYWHERE),
    "what may be a tag waits": (said(("content", ["t", "u", "a<", "b"])), ANYWHERE),
    "what stands before a tag may quote it": (said(("content", ["t", "u", "```x```", "y", "<think>", "w"])), ANYWHERE),
    "half a character waits for the other": (said(("content", ["a", "b", "\ud83d", "c"]), manner=ESCAPED), NEVER),
    "both halves are one": (said(("content", ["a", "b", "\ud83d", "\ude00", "c"]), manner=ESCAPED), NEVER),
    "nothing is told of nothing": (said(("content", ["a", "b", "", "c"])), Speech()),
    "arguments that are repeated count once": (
        said(("call begins", ['{"q":']), ("call goes on", ["1", "}", '{"q":1}'])),
        Speech(),
    ),
    "what comes for a whole call is lost where another waits": (
        said(
            ("call begins", ['{"q"']),
            ("call goes on", [":", "1"]),
            ("call begins elsewhere", ["{}"]),
            ("call goes on", ["}", " "]),
        ),
        Speech(),
    ),
    "another id behind a whole call begins another": (
        said(("call begins", ['{"q"']), ("call goes on, with another id", [":", "1", "}", "x"])),
        Speech(),
    ),
    "a call in another place is another": (
        said(("call begins", ['{"q"']), ("call goes on", [":", "1"]), ("call goes on, elsewhere", ["2"])),
        Speech(),
    ),
    "a thought ends a call that has no name": (
        [*THOUGHT, *said(("call goes on, nameless", ["{"]), envelope=COUNTS), *THOUGHT, *said(("call begins", ["}"]))],
        Speech(),
    ),
    "a thought takes away the space before a text": (
        [*THOUGHT, *said(("content", [" "]), envelope=COUNTS), *THOUGHT, *said(("content", ["x"]))],
        NEVER,
    ),
    "a thought that comes again under another name is told once": (
        said(("reasoning", ["a", "b", "c"]), ("reasoning_content", ["a", "b", "c", "d"])),
        Speech(),
    ),
    "also behind a text": (
        said(("reasoning", ["a", "b", "c"]), ("content", ["x"]), ("reasoning_content", ["abc", "d"])),
        Speech(),
    ),
    "a proof says what was known when its thought ended": (
        said(("reasoning", ["a"]), ("content", ["x", "<think>a", "</think>y"])),
        ANYWHERE,
    ),
    "deltas may be snapshots": (said(("content", ["a", "ab", "abc"])), Speech(tags="never", snapshots=True)),
    "or may turn out to be pieces": (said(("content", ["a", "b", "c", "d"])), Speech(tags="never", snapshots=True)),
    "another choice says nothing": ([*said(AB), *said(("content", ["x", "y", "z"]), envelope="other choice")], Speech()),
    "two choices": ([*said(AB), *said(("content", ["x", "y", "z"]), envelope="two choices")], Speech()),
    "the last usage counts": (
        [*said(AB), usage(5), *said(COUNTED, envelope=COUNTS), usage(7), *said(("content", ["e"]), envelope=COUNTS)],
        Speech(cut_is_end=True),
    ),
    "a second word in the delta counts": (
        said(("reasoning", ["a", "b"]), ("reasoning and content", ["c", "d"]), ("both names", ["e", "f"])),
        Speech(),
    ),
    "entries are kept beside the text": (said(("reasoning", ["a", "b"]), ("details, constant", ["c", "d", "e"])), Speech()),
    "bytes that are no text are no JSON": (
        [*said(AB), *(each.replace(b"!", b"\xff") for each in said(("content", ["c!"])))],
        NEVER,
    ),
    "a line within the word is no JSON": (
        [*said(AB), *(each.replace(b"c!", b"c\n!") for each in said(("content", ["c!"])))],
        NEVER,
    ),
    "two words are no JSON": ([*said(AB), *(each.replace(b"!", b'" "') for each in said(("content", ["c!d"])))], NEVER),
    "an event of two lines": ([*said(AB), *(b"event: x\n" + each for each in said(("content", ["c"]))), *said(AB)], NEVER),
}


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_of_reading_holds_for_what_passes_unread(rule: str) -> None:
    """In one read and with a read for each event."""
    events, speech = RULES[rule]
    slowly = translated_slowly([b"".join(events)], speech)
    for stream in (events, [b"".join(events)], [bytes([byte]) for byte in b"".join(events)]):
        assert translated(stream, speech) == slowly


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_holds_for_events_that_come_alone(rule: str) -> None:
    """On their way to the client, where one event in a read has the shortest way."""
    judge(*RULES[rule])


@settings(max_examples=examples(100, soak=10_000), deadline=None)
@given(STREAMS, SPEECH)
def test_events_that_come_alone_say_what_they_say_together(events: list[bytes], speech: Speech) -> None:
    judge(events, speech)


def test_most_events_that_come_alone_take_the_shortest_way() -> None:
    """A thought and a text: all but the first of each, and none where something is left over from the read before."""
    stream = said(("reasoning", ["a", "b", "c"]), ("content", ["x", "y", "z"]))
    translation = Translation(Asked("m"), Speech())
    taken: list[bytes] = []
    for event in stream:
        taken.append(translation.shortcut.take_one(event))
        if not taken[-1]:
            translation.feed(event)
    assert [bool(each) for each in taken] == [False, True, True, False, True, True]
    translation.feed(b"data: ")
    assert translation.shortcut.take_one(stream[-1]) == b""


@pytest.mark.parametrize("shape", ["content", "reasoning", "reasoning_content", "thinking", "call goes on"])
@pytest.mark.parametrize("envelope", ["plain", "bare", "vllm", "deepseek", "azure", "minimax"])
def test_the_usual_shapes_of_vendors_pass_unread(shape: str, envelope: str) -> None:
    """All but the first words: one that opens the block, and for a call those that may repeat it."""
    opening = said(("call begins", ['{"path": "/a/long/path"']), envelope=envelope)
    stream = [*opening, *said((shape, ["a", "b", "c", "d", "e"]), envelope=envelope)]
    _, runs = _heard(Translation(Asked("m"), Speech()), stream)
    assert runs == 4


@settings(max_examples=examples(200, soak=30_000), deadline=None)
@given(STREAMS, SPEECH, CUTS)
def test_what_passes_unread_is_what_reading_would_have_made_of_it(
    events: list[bytes], speech: Speech, cuts: list[int]
) -> None:
    """Event for event, with the payloads that the backend needs back in the signatures."""
    stream = b"".join(events)

    assert translated(pieces(stream, cuts), speech) == translated_slowly([stream], speech)


def test_a_thought_that_passes_unread_is_hidden_where_thoughts_are() -> None:
    """`show_reasoning = "hide"`: a run is opened after all, and the blocks behind it are counted anew."""
    stream = said(
        ("reasoning", ["a", "b", "c"]), ("content", ["x", "y", "z"]), ("reasoning", ["d", "e"]), ("content", ["w"])
    )
    for reads in (stream, [b"".join(stream)]):
        relay = TranslatedRelay(Dress(wear(hide=True)), Translation(Asked(MODEL), Speech(cut_is_end=True)))
        out = b"".join([*map(relay.feed, reads), relay.flush(), *relay.held])

        assert problems(out, model=MODEL) == []
        deltas = [event for event in map(decode_event, SseReader().feed(out)) if isinstance(event, BlockDelta)]
        assert [(delta.index, delta.delta["text"]) for delta in deltas] == [(0, "x"), (0, "y"), (0, "z"), (1, "w")]

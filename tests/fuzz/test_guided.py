"""Bytes that nobody would send, found by what they reach in the code: never a crash, never an illegal stream."""

from pathlib import Path

import pytest

import clew.dialects.openai_chat as dialect
from clew.dialects.openai_chat.options import ChatAnswerOptions
from tests.counts import examples
from tests.fuzz.damage import JUNK
from tests.fuzz.guided import Coverage, Guided
from tests.fuzz.judging import judge
from tests.fuzz.vendors import ENVELOPES, SHAPES, WORDS, Manner, Segment, pieces, written
from tests.golden.cases import CASES
from tests.numbers import note

FOLDER = Path(str(dialect.__file__)).parent
SPEECHES = (
    ChatAnswerOptions(),
    ChatAnswerOptions(tags="anywhere", empty_counts=True),
    ChatAnswerOptions(tags="never", snapshots=True, cut_is_end=True),
    ChatAnswerOptions(implicit_open=True, reasoning_apart=True),
)
TOKENS = [
    *JUNK,
    *(word.encode("utf-8", "replace") for word in WORDS),
    *(b'"content":', b'"reasoning":', b'"reasoning_content":', b'"reasoning_details":[', b'"tool_calls":[', b'"index":1'),
    *(b'"finish_reason":"stop"', b'"delta":', b'"type":"reasoning.text"', b'"arguments":"', b'"id":"call_1"', b'"name":"f"'),
    *(
        b"null",
        b"true",
        b"-1",
        b"1e999",
        b"[]",
        b"{}",
        b'""',
        b"\\ud83d",
        b"\\ude00",
        b"\\u0000",
        b"\\",
        b'"',
        b"\xff",
        b"\r\n",
    ),
]


def _seeds() -> list[bytes]:
    """The golden streams, and one short stream of each shape and each envelope."""
    golden = [scene.sections["backend"] for case in CASES for scene in case.scenes if "backend" in scene.sections]
    shapes = [(shape, "plain") for shape in SHAPES] + [("reasoning", envelope) for envelope in ENVELOPES]
    short = [written([Segment(shape, ["a", "b", "c"])], envelope, Manner(), "stop") for shape, envelope in shapes]
    return [each for each in golden if len(each) < 4000] + [b"".join(events) for events in short]


def _act(given: bytes) -> None:
    """The length decides on the backend's habits and on the cuts, so that the input is all there is."""
    cuts = [len(given) * number // 5 + number for number in range(1, len(given) % 5)]
    judge(pieces(given, cuts), SPEECHES[len(given) % len(SPEECHES)])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(examples(1, soak=2)))
def test_no_bytes_that_reach_something_new_break_the_stream(seed: int) -> None:
    guided = Guided(Coverage(FOLDER), _seeds(), TOKENS, seed)
    guided.run(_act, examples(500, soak=40_000))

    note("fuzz: inputs", len(_seeds()) + examples(500, soak=40_000))
    note("fuzz: inputs that reached something new", len(guided.kept))
    assert len(guided.kept) > 100


def test_the_fuzzer_finds_what_chance_alone_would_not() -> None:
    """It climbs: each of the five bytes is a step that only the one before makes reachable."""
    tried: list[bytes] = []

    def climb(given: bytes) -> None:
        tried.append(given)
        _steps(given)

    guided = Guided(Coverage(Path(__file__).parent), [b"....."], [b"f", b"u", b"z", b"y"], seed=1)
    guided.run(climb, 6000)
    assert any(each.startswith(b"fuzzy") for each in tried)


def _steps(given: bytes) -> int:
    if given[:1] == b"f":
        if given[1:2] == b"u":
            if given[2:3] == b"z":
                if given[3:4] == b"z":
                    return 1 if given[4:5] == b"y" else 2
                return 3
            return 4
        return 5
    return 6

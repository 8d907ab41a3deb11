"""Estimated token counts: against counts that vendors published, and within bounds that hold for anything."""

from __future__ import annotations

import base64
import struct
import time
import zlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.engine.process_memory import MOST_COUNTED, TokenCounts
from clew.model.tokens import USUAL_IMAGE_TOKENS, image_size, image_tokens, tokens_of
from clew.pipeline.token_estimate import LEAST_FACTOR, MOST_FACTOR, calibrate, estimate
from tests.build import Json, assistant, request, text, thinking, tool_result, tool_use, user
from tests.counts import examples
from tests.manifest import proves

WEATHER: Json = {
    "name": "get_current_weather",
    "description": "Get the current weather in a given location",
    "input_schema": {
        "type": "object",
        "properties": {
            "location": {"type": "string", "description": "The city and state, e.g. San Francisco, CA"},
            "unit": {
                "type": "string",
                "description": "The unit of temperature to return",
                "enum": ["celsius", "fahrenheit"],
            },
        },
        "required": ["location"],
    },
}
JARGON = (
    "You are a helpful, pattern-following assistant that translates corporate jargon into plain English.",
    "New synergies will help drive top-line growth.",
    "Things working well together will increase revenue.",
    "Let's circle back when we have more bandwidth to touch base on opportunities for increased leverage.",
    "Let's talk later when we're less busy about how to do better.",
    "This late pivot means we don't have time to boil the ocean for the client deliverable.",
)

PUBLISHED: list[tuple[str, Any, tuple[int, ...]]] = [
    ("Claude: token counting guide", request(user("Hello, Claude"), system="You are a scientist"), (14,)),
    ("OpenAI: cookbook, two tokenisers", request(*(user(each) for each in JARGON)), (129, 124)),
    (
        "OpenAI: cookbook, with a tool",
        request(
            user("What's the weather like in San Francisco?"),
            system="You are a helpful assistant that can answer to questions about the weather.",
            tools=[WEATHER],
        ),
        (105, 101),
    ),
    ("Gemini: API reference", request(user("The quick brown fox jumps over the lazy dog.")), (11,)),
]


@proves("req:S3-41")
@pytest.mark.parametrize(("asked", "counts"), [row[1:] for row in PUBLISHED], ids=[row[0] for row in PUBLISHED])
def test_an_estimate_is_near_the_counts_that_vendors_published(asked: Any, counts: tuple[int, ...]) -> None:
    """Within a third before anything was learnt; a half more where a vendor has its own short form for tools."""
    for count in counts:
        assert 0.7 * count - 3 <= estimate(asked) <= 1.6 * count + 3


@pytest.mark.parametrize(
    ("sample", "least", "most"),
    [
        ("It was the best of times, it was the worst of times, it was the age of wisdom. " * 50, 3.6, 5.2),
        ("def read(path: str) -> bytes:\n    with open(path) as file:\n        return file.read()\n\n" * 50, 2.5, 4.2),
        ('{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]},' * 50, 2.4, 4.6),
        ("0123456789 " * 100, 1.6, 3.6),
        ("我想知道明天北京的天气怎么样，会不会下雨？" * 50, 1.1, 1.9),
        ("Я хотел бы знать, какая завтра будет погода в Москве. " * 50, 2.0, 3.6),
        ("내일 서울 날씨가 어떨지 알고 싶습니다. " * 50, 1.2, 2.2),
        ("明日の東京の天気はどうなるか知りたいです。" * 50, 1.1, 1.9),
    ],
    ids=["prose", "code", "json", "digits", "chinese", "russian", "korean", "japanese"],
)
def test_characters_per_token_are_those_of_the_kind_of_text(sample: str, least: float, most: float) -> None:
    """Vendors: 3 to 4.3 characters of English to a token, 1.2 to 2 of Chinese, about 1.6 of Korean."""
    assert least <= len(sample) / tokens_of(sample.encode()) <= most


def test_everything_that_a_model_reads_counts_and_signatures_do_not() -> None:
    bare = request(
        user("go"), assistant(thinking("", signature="s" * 5000), tool_use("a", "Read")), user(tool_result("a", ""))
    )
    full = request(
        user("go"),
        assistant(thinking("word " * 100, signature="s" * 5000), tool_use("a", "Read", path="word " * 100)),
        user(tool_result("a", [text("word " * 100)])),
    )

    assert estimate(bare) < 60
    assert 300 <= estimate(full) - estimate(bare) <= 450


def test_redacted_thinking_and_unknown_blocks_break_nothing() -> None:
    odd = request(user({"type": "new", "words": "some words"}, {"type": "image"}, {"type": "document", "source": {}}))

    assert estimate(odd) == estimate(request(user({"type": "new", "words": "some words"}))) + USUAL_IMAGE_TOKENS


def test_a_document_counts_by_its_text_or_by_its_pages() -> None:
    words = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "word " * 400}}
    pages = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "x" * 100_000}}

    assert 380 <= estimate(request(user(words))) <= 520
    assert 4000 <= estimate(request(user(pages))) <= 4020


def png(width: int, height: int) -> bytes:
    head = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + head + struct.pack(">I", zlib.crc32(head))


def jpeg(width: int, height: int) -> bytes:
    preview = b"\xff\xe1" + struct.pack(">H", 402) + bytes(400)
    return b"\xff\xd8" + preview + b"\xff\xc0" + struct.pack(">HBHH", 17, 8, height, width) + bytes(12)


def webp(kind: bytes, rest: bytes) -> bytes:
    return b"RIFF\x00\x00\x00\x00WEBP" + kind + b"\x00\x00\x00\x00" + rest.ljust(20, b"\x00")


@pytest.mark.parametrize(
    ("head", "size"),
    [
        (png(640, 480), (640, 480)),
        (jpeg(1024, 768), (1024, 768)),
        (b"GIF89a" + struct.pack("<HH", 12, 34), (12, 34)),
        (webp(b"VP8 ", bytes(6) + struct.pack("<HH", 800, 600)), (800, 600)),
        (webp(b"VP8L", b"\x2f" + struct.pack("<I", 799 | 599 << 14)), (800, 600)),
        (webp(b"VP8X", bytes(4) + (799).to_bytes(3, "little") + (599).to_bytes(3, "little")), (800, 600)),
        (webp(b"NEW ", b""), None),
        (b"\xff\xd8\xff\xe1\x00", None),
        (b"\x89PNG", None),
        (b"BM", None),
        (b"", None),
    ],
)
def test_the_size_of_an_image_is_read_from_its_first_bytes(head: bytes, size: tuple[int, int] | None) -> None:
    assert image_size(head) == size


@pytest.mark.parametrize(
    ("width", "height", "tokens"), [(200, 200, 53), (1000, 1000, 1333), (1092, 1092, 1590), (8000, 4000, 1600), (1, 1, 1)]
)
def test_an_image_costs_its_area_up_to_what_a_model_sees(width: int, height: int, tokens: int) -> None:
    """Vision guide: width times height over 750; larger ones are scaled down."""
    assert image_tokens(base64.b64encode(png(width, height)).decode()) == tokens


def test_an_image_that_cannot_be_measured_costs_the_usual() -> None:
    assert image_tokens("%%%") == image_tokens("") == image_tokens("iVBO") == USUAL_IMAGE_TOKENS


def test_a_long_text_is_measured_by_samples_and_comes_out_the_same() -> None:
    prose = b"It was the best of times, it was the worst of times. " * 4000
    code = b"    return [each for each in value if isinstance(each, dict)]\n" * 4000
    together = tokens_of(prose + code)

    assert together == pytest.approx(tokens_of(prose) + tokens_of(code), rel=0.03)


@pytest.mark.slow
def test_a_megabyte_of_history_takes_milliseconds() -> None:
    history = request(*(user("A sentence of the conversation, neither long nor short. " * 20) for _ in range(900)))
    best = min(_seconds(history) for _ in range(5))

    assert best < 0.05


def _seconds(history: Any) -> float:
    began = time.thread_time()
    estimate(history)
    return time.thread_time() - began


@settings(max_examples=examples(24, soak=2000), deadline=None)
@given(st.text(max_size=300))
def test_no_text_has_fewer_tokens_than_none_or_many_more_than_bytes(words: str) -> None:
    raw = words.encode("utf-8", "replace")

    assert 0 <= tokens_of(raw) <= 1.5 * len(raw)


@settings(max_examples=examples(24, soak=2000), deadline=None)
@given(st.text(max_size=100), st.text(min_size=1, max_size=100))
def test_more_text_is_never_fewer_tokens(one: str, more: str) -> None:
    """To a token or so: a word may go on where the other ended."""
    assert tokens_of((one + more).encode("utf-8", "replace")) >= tokens_of(one.encode("utf-8", "replace")) - 1


# ───────────────────────────────────────────── what answers teach


def test_a_large_answer_sets_the_factor_and_later_ones_move_it() -> None:
    first = calibrate(10_000, 12_000)

    assert first == pytest.approx(1.2)
    assert calibrate(10_000, 14_000, first) == pytest.approx(1.3)


def test_a_small_answer_says_little() -> None:
    assert calibrate(40, 80) == pytest.approx(1.01)


@pytest.mark.parametrize(("estimated", "reported"), [(0, 5), (5, 0), (-1, 5)])
def test_nothing_reported_teaches_nothing(estimated: int, reported: int) -> None:
    assert (calibrate(estimated, reported), calibrate(estimated, reported, 1.7)) == (1.0, 1.7)


@given(st.lists(st.tuples(st.integers(-5, 10**7), st.integers(-5, 10**9)), max_size=20))
def test_a_factor_stays_within_its_bounds_whatever_is_reported(answers: list[tuple[int, int]]) -> None:
    factor: float | None = None
    for estimated, reported in answers:
        factor = calibrate(estimated, reported, factor)

    assert factor is None or LEAST_FACTOR <= factor <= MOST_FACTOR


def test_a_steady_error_is_learnt_within_a_few_answers() -> None:
    counts = TokenCounts()
    for _ in range(6):
        counts.learn("b", "m", 10_000, 15_000)

    assert counts.rate("b", "m").corrected(20_000) == pytest.approx(30_000, rel=0.01)
    assert counts.rate("b", "other").corrected(20_000) == 20_000


def test_answers_are_learnt_from_often_at_first_and_rarely_later() -> None:
    counts = TokenCounts()

    due = [counts.is_due("b", "m") for _ in range(34)]

    assert [place for place, each in enumerate(due, 1) if each] == [1, 2, 3, 4, 16, 32]


def test_only_so_many_models_are_remembered_and_the_longest_unused_goes() -> None:
    counts = TokenCounts()
    counts.learn("b", "first", 10_000, 20_000)
    counts.learn("b", "second", 10_000, 20_000)
    counts.learn("b", "first", 10_000, 20_000)
    for number in range(MOST_COUNTED - 1):
        counts.learn("b", f"m{number}", 10_000, 20_000)

    assert (counts.rate("b", "first").factor, counts.rate("b", "second").factor) == (2.0, 1.0)


def test_a_count_is_never_nothing() -> None:
    assert TokenCounts().rate("b", "m").corrected(0) == 1

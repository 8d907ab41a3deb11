"""What an answer cost: one trap of a vendor's counting per test."""

import pytest

from clew.dialects.openai_chat.answers import write_answer
from clew.dialects.openai_chat.endings import TokenTotals, totals_of, usage_in
from clew.dialects.openai_chat.stream_chunks import chunk_of
from clew.dialects.openai_chat.streams import ChatStreamWriter
from clew.dialects.shape import AnswerContext
from clew.model.json import JsonObject
from clew.model.unfold import events_of
from tests.dialects.openai_chat.chat import DONE, Told, chunk, data
from tests.manifest import proves

PLAIN: JsonObject = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}


@pytest.mark.parametrize(
    ("vendor", "usage"),
    [
        pytest.param(PLAIN, TokenTotals(input=100, output=20), id="plain"),
        pytest.param(
            {**PLAIN, "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10}},
            TokenTotals(input=100, cache_read=60, cache_write=10, output=20),
            id="OpenAI: the prompt includes the cache",
        ),
        pytest.param(
            {**PLAIN, "completion_tokens_details": {"reasoning_tokens": 15}},
            TokenTotals(input=100, output=20, reasoning=15),
            id="OpenAI: the completion includes reasoning",
        ),
        pytest.param(
            {
                "prompt_tokens": 307,
                "completion_tokens": 26,
                "total_tokens": 560,
                "completion_tokens_details": {"reasoning_tokens": 227},
            },
            TokenTotals(input=307, output=253, reasoning=227),
            id="xAI: it does not, and the total shows it",
        ),
        pytest.param(
            {**PLAIN, "cached_tokens": 60}, TokenTotals(input=100, cache_read=60, output=20), id="Kimi: at the top"
        ),
        pytest.param(
            {"prompt_cache_hit_tokens": 60, "prompt_cache_miss_tokens": 40, "completion_tokens": 20},
            TokenTotals(input=100, cache_read=60, output=20),
            id="DeepSeek: hits and misses",
        ),
        pytest.param(
            {**PLAIN, "prompt_tokens_details": {"cache_creation_input_tokens": 10}},
            TokenTotals(input=100, cache_write=10, output=20),
            id="Qwen: the write has another name",
        ),
        pytest.param(
            {**PLAIN, "reasoning_tokens": 15}, TokenTotals(input=100, output=20, reasoning=15), id="SGLang: at the top"
        ),
        pytest.param(
            {**PLAIN, "prompt_tokens_details": None, "completion_tokens": "20", "reasoning_tokens": True},
            TokenTotals(input=100),
            id="null, text and truth are no numbers",
        ),
    ],
)
def test_each_way_of_counting_comes_to_the_same_form(vendor: JsonObject, usage: TokenTotals) -> None:
    """§5, case 47."""
    assert totals_of(vendor) == usage


def test_a_row_may_say_that_reasoning_is_counted_apart() -> None:
    """Where no total shows it."""
    vendor: JsonObject = {"completion_tokens": 26, "completion_tokens_details": {"reasoning_tokens": 4}}

    assert totals_of(vendor, reasoning_apart=True) == TokenTotals(output=30, reasoning=4)


def test_the_client_counts_input_without_the_cache_and_hears_of_no_zero_reasoning() -> None:
    """§5: a reasoning count of 0 is unknown, not 0; and nothing is ever below 0."""
    assert TokenTotals(100, 60, 10, 20, 15).canonical() == {
        "input_tokens": 30,
        "cache_creation_input_tokens": 10,
        "cache_read_input_tokens": 60,
        "output_tokens": 20,
        "output_tokens_details": {"thinking_tokens": 15},
    }
    assert TokenTotals(input=1, cache_read=5).canonical() == {
        "input_tokens": 0,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 5,
        "output_tokens": 0,
    }


def test_usage_is_found_in_each_of_its_places_and_the_top_wins() -> None:
    """Case 46: Groq says it twice, Kimi said it in the choice."""
    assert usage_in(chunk_of({"usage": PLAIN, "x_groq": {"usage": {"prompt_tokens": 1}}})) == PLAIN
    assert usage_in(chunk_of({"choices": [{"usage": PLAIN}]})) == PLAIN
    assert usage_in(chunk_of({"x_groq": {"usage": PLAIN}, "usage": None})) == PLAIN
    assert usage_in(chunk_of({"choices": []})) == {}


@proves("req:S3-43")
@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param([chunk({"content": "x"}, finish="stop", usage=PLAIN)], id="in the finish chunk"),
        pytest.param([chunk({"content": "x"}, finish="stop"), data({"choices": [], "usage": PLAIN})], id="behind it"),
        pytest.param(
            [chunk({"content": "x"}, usage={"prompt_tokens": 100}), chunk({}, finish="stop", usage=PLAIN)], id="in each"
        ),
        pytest.param(
            [chunk({"content": "x"}, finish="stop", usage=PLAIN), data({"choices": [], "usage": PLAIN})], id="twice"
        ),
    ],
)
def test_the_last_usage_counts_wherever_it_comes(pieces: list[bytes]) -> None:
    """S3-43, case 46: totals are never added up."""
    assert Told(*pieces, DONE).usage == TokenTotals(input=100, output=20).canonical()


@proves("req:S3-43")
def test_an_estimate_is_not_told_to_clients_of_this_dialect() -> None:
    """It has no words for one; a client that asked for usage gets none."""
    context = AnswerContext(model="m")
    message: JsonObject = {"role": "assistant", "content": [{"type": "text", "text": "Yes."}], "stop_reason": "end_turn"}

    def written(usage: JsonObject) -> tuple[bool, bool]:
        whole: JsonObject = {**message, "usage": usage}
        writer = ChatStreamWriter(context)
        streamed = b"".join([writer.write(event) for event in events_of(whole, chunk=9)])
        return b'"usage"' in streamed, b'"usage"' in write_answer(whole, context)

    assert written({"input_tokens": 1, "output_tokens": 2}) == (True, True)
    assert written({"input_tokens": 1, "output_tokens": 2, "output_tokens_estimated": True}) == (False, False)

"""A backend's errors in the client's words: what each vendor is known to say, one row each."""

from __future__ import annotations

import json
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.dialects.failures.reading import failure_in, failure_of
from clew.model.facts.failures import meanings
from clew.model.failure import Failure
from clew.model.http import NO_WAIT, Wait
from clew.model.json import JsonObject
from tests.build import Json
from tests.counts import examples

OVERLOADED = Failure(529, "overloaded_error", "Overloaded")


def said(status: int, body: object) -> Failure:
    return failure_of(status, json.dumps(body).encode())


@pytest.mark.parametrize(
    ("chunk", "failure"),
    [
        ({"error": {"code": 429, "message": "m"}}, Failure(429, "rate_limit_error", "m")),
        ({"error": {"code": "503", "message": "m"}}, Failure(529, "overloaded_error", "m")),
        ({"error": "it broke"}, Failure(500, "api_error", "it broke")),
        ({"error": {"type": "rate_limit_exceeded", "message": "m"}}, Failure(429, "rate_limit_error", "m")),
        ({"error": {"message": "Overloaded"}}, OVERLOADED),
        ({"object": "error", "message": "m", "code": 400}, Failure(400, "invalid_request_error", "m")),
        ({"type": "error", "message": "Overloaded"}, OVERLOADED),
        ({"type": "overloaded_error", "message": "m", "param": "", "code": ""}, Failure(529, "overloaded_error", "m")),
        ({"x_groq": {"error": "Overloaded"}}, OVERLOADED),
        ({"base_resp": {"status_code": 1002, "status_msg": "rate limit"}}, Failure(429, "rate_limit_error", "rate limit")),
        ({"base_resp": {"status_code": 1008, "status_msg": "m"}}, Failure(402, "billing_error", "m")),
        ({"base_resp": {"status_code": 2049, "status_msg": "m"}}, Failure(401, "authentication_error", "m")),
        (
            {"base_resp": {"status_code": 2013, "status_msg": "invalid params, context window exceeds limit"}},
            Failure(400, "invalid_request_error", "prompt is too long: invalid params, context window exceeds limit"),
        ),
        ({"choices": [{"finish_reason": "error"}]}, Failure(502, "api_error", "the backend gave up: error")),
        (
            {"choices": [{"finish_reason": "insufficient_system_resource"}]},
            Failure(529, "overloaded_error", "the backend gave up: insufficient_system_resource"),
        ),
        (
            {"error": {"message": "You do not have permission"}},
            Failure(403, "permission_error", "You do not have permission"),
        ),
        ({"error": {"message": "request timed out"}}, Failure(504, "timeout_error", "request timed out")),
        ({"error": {}}, None),
        ({"error": None, "base_resp": {"status_code": 0}, "choices": [{"finish_reason": "stop"}]}, None),
    ],
)
def test_an_error_inside_a_200_is_found_in_each_of_its_places(chunk: JsonObject, failure: Failure | None) -> None:
    """Rule 6.10, case 4."""
    assert failure_in(chunk) == failure


def error(message: str, **more: Any) -> JsonObject:
    return {"error": {"message": message, **more}}


KNOWN: dict[str, list[Json]] = tomllib.loads((Path(__file__).parent / "errors.toml").read_text("utf-8"))


def known(table: str) -> Any:
    rows = KNOWN[table]
    return pytest.mark.parametrize("row", rows, ids=[row["who"] or str(place) for place, row in enumerate(rows)])


def expected(row: Json) -> Failure:
    return Failure(row["says"], row["type"], row["message"], Wait(row.get("wait"), row.get("until")))


@known("full")
def test_a_full_context_is_said_in_the_words_that_clients_look_for(row: Json) -> None:
    """Case 65b; clients 1.7: Claude Code compacts when it reads them."""
    assert failure_of(row["status"], row["body"].encode()) == expected(row)
    assert expected(row).message.startswith("prompt is too long")


@known("room")
def test_too_much_asked_of_a_prompt_that_fits_makes_the_client_ask_for_less(row: Json) -> None:
    """clients 1.7: Claude Code then sends max_tokens = C - A - 1000. rule R8 has the words."""
    assert failure_of(row["status"], row["body"].encode()) == expected(row)
    assert expected(row).message.startswith("input length and `max_tokens` exceed context limit: ")


@known("other")
def test_what_each_vendor_says_is_said_with_anthropics_status_and_type(row: Json) -> None:
    """clients 1.7; rule R62."""
    assert failure_of(row["status"], row["body"].encode()) == expected(row)


def test_a_prompt_that_leaves_no_room_for_an_answer_is_too_long() -> None:
    """Asking for less would leave less than nothing."""
    message = "maximum context length is 8192 tokens. However, you requested 8392 tokens (7880 in the messages, 512 in the completion)"

    assert said(400, error(message)).message == "prompt is too long: 7880 tokens > 7192 maximum"


def test_more_asked_for_than_a_model_can_say_is_anthropics_sentence() -> None:
    """rule R7; nothing that compacting would help against."""
    message = (
        "max_tokens is too large: 200000. This model supports at most 64000 completion tokens, whereas you provided 200000."
    )

    assert said(400, error(message)).message == (
        "max_tokens: 200000 > 64000, which is the maximum allowed number of output tokens"
    )


@pytest.mark.parametrize(
    ("status", "body", "failure"),
    [
        (401, b'{"error":{"message":"no","code":429}}', Failure(401, "authentication_error", "no")),
        (
            502,
            b"<html><head><title>502 Bad Gateway</title></head><body><center>nginx</center></body></html>",
            Failure(502, "api_error", "an HTML page instead of an answer: 502 Bad Gateway"),
        ),
        (
            413,
            b"<html><h1>413 Request Entity Too Large</h1></html>",
            Failure(413, "request_too_large", "an HTML page instead of an answer: 413 Request Entity Too Large"),
        ),
        (
            502,
            b"<html><script>x()</script>\xff</html>",
            Failure(502, "api_error", "an HTML page instead of an answer: \ufffd"),
        ),
        (524, b"", Failure(504, "timeout_error", "the backend reported an error (504) and gave no reason")),
        (503, b"", Failure(529, "overloaded_error", "Overloaded")),
        (429, b"", Failure(429, "rate_limit_error", "the backend asks to wait and gives no reason")),
        (400, b"null", Failure(400, "invalid_request_error", "null")),
        (500, b"upstream connect error", Failure(500, "api_error", "upstream connect error")),
        (400, b'{"error":{"message":"\\ud800"}}', Failure(400, "invalid_request_error", "\ufffd")),
    ],
)
def test_pages_texts_and_nothing_at_all_are_errors_too(status: int, body: bytes, failure: Failure) -> None:
    """Case 6: an HTML page from a proxy. The response's own status counts, unless the words prove it wrong."""
    assert failure_of(status, body) == failure


def test_a_word_of_waiting_counts_only_where_waiting_helps() -> None:
    assert said(400, error("try again in 5s")).wait == NO_WAIT


@pytest.mark.parametrize("row", meanings(), ids=lambda row: f"{row.reason}-{row.says}")
def test_every_meaning_has_something_to_be_known_by_and_a_source(row: Any) -> None:
    assert row.codes or row.words
    assert row.sources or row.over == {0}
    assert row.codes == {code.lower() for code in row.codes}


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["error", "message", "code", "type", "detail", "metadata", "raw", "details", "loc"]), inner
        )
    ),
    max_leaves=8,
)


@settings(max_examples=examples(24, soak=2000), deadline=None)
@given(st.sampled_from([400, 401, 413, 429, 500, 503, 599]), values)
def test_no_body_breaks_it_and_every_failure_has_words(status: int, body: Any) -> None:
    failure = said(status, body)

    assert 400 <= failure.status <= 599
    assert failure.message
    json.dumps(failure.error()).encode()


@pytest.mark.parametrize("words", [f"maximum context length is {'1' * 1500}{'(1 in ' * 400}", "(1 in " * 600, "1" * 4000])
def test_no_words_take_long_to_read(words: str) -> None:
    """They are read where every other exchange waits."""
    began = time.process_time()
    said(400, error(f"maximum context length is 1 {words}"))
    said(400, error(words))
    assert time.process_time() - began < 10


@pytest.mark.parametrize(
    ("given", "told"), [(405, 404), (408, 504), (498, 529), (499, 502), (503, 529), (525, 502), (530, 502)]
)
def test_a_status_that_anthropic_does_not_use_becomes_one_that_it_does(given: int, told: int) -> None:
    """Clients decide by it whether to ask again: what a proxy says of a call that it lost is no fault of the request."""
    assert said(given, error("m")).status == told


@pytest.mark.parametrize(
    "code",
    [
        *("invalid_prompt", "data_residency_mismatch", "bio_policy", "misalignment_policy_violation", "invalid_image"),
        *("invalid_image_format", "invalid_base64_image", "invalid_image_url", "image_too_large", "image_too_small"),
        *("image_parse_error", "image_content_policy_violation", "invalid_image_mode", "image_file_too_large"),
        *("unsupported_image_media_type", "empty_image_file", "failed_to_download_image", "image_file_not_found"),
    ],
)
def test_a_request_that_openai_refuses_inside_a_stream_is_not_tried_again(code: str) -> None:
    """All codes of a failed response (openai-python: `ResponseError.code`) that are about the request."""
    failure = failure_in({"error": {"code": code, "message": "No."}})
    assert failure is not None
    assert (failure.status, failure.type) == (400, "invalid_request_error")

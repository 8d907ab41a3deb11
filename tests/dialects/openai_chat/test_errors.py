"""A backend's errors in the client's words."""

import json

import pytest

from clew.dialects.openai_chat.errors import Failure, failure_in, failure_of
from clew.model.json import JsonObject

OVERLOADED = Failure(529, "overloaded_error", "Overloaded")


@pytest.mark.parametrize(
    ("chunk", "failure"),
    [
        ({"error": {"code": 429, "message": "m"}}, Failure(429, "rate_limit_error", "m")),
        ({"error": {"code": "503", "message": "m"}}, Failure(503, "overloaded_error", "m")),
        ({"error": "it broke"}, Failure(500, "api_error", "it broke")),
        ({"error": {"type": "rate_limit_exceeded", "message": "m"}}, Failure(429, "rate_limit_error", "m")),
        ({"error": {"message": "Overloaded"}}, OVERLOADED),
        ({"object": "error", "message": "m", "code": 400}, Failure(400, "invalid_request_error", "m")),
        ({"type": "error", "message": "Overloaded"}, OVERLOADED),
        ({"x_groq": {"error": "Overloaded"}}, OVERLOADED),
        ({"base_resp": {"status_code": 1002, "status_msg": "rate limit"}}, Failure(429, "rate_limit_error", "rate limit")),
        ({"choices": [{"finish_reason": "error"}]}, Failure(502, "api_error", "the backend gave up: error")),
        (
            {"choices": [{"finish_reason": "insufficient_system_resource"}]},
            Failure(529, "overloaded_error", "the backend gave up: insufficient_system_resource"),
        ),
        ({"error": {}}, None),
        ({"error": None, "base_resp": {"status_code": 0}, "choices": [{"finish_reason": "stop"}]}, None),
    ],
)
def test_an_error_inside_a_200_is_found_in_each_of_its_places(chunk: JsonObject, failure: Failure | None) -> None:
    """Rule 6.10, case 4."""
    assert failure_in(chunk) == failure


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (
            400,
            {
                "error": {
                    "code": "context_length_exceeded",
                    "message": "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.",
                }
            },
            "prompt is too long: 9000 tokens > 8192 maximum",
        ),
        (
            400,
            {
                "error": {
                    "code": 400,
                    "type": "exceed_context_size_error",
                    "message": "the request exceeds the available context size",
                    "n_prompt_tokens": 9000,
                    "n_ctx": 8192,
                }
            },
            "prompt is too long: 9000 tokens > 8192 maximum",
        ),
        (400, {"error": {"message": "Input is too long."}}, "prompt is too long: Input is too long."),
        (400, {"message": "prompt is too long"}, "prompt is too long"),
    ],
)
def test_a_full_context_is_said_in_the_words_that_clients_look_for(status: int, body: JsonObject, message: str) -> None:
    """Case 65b: Claude Code compacts when it reads them."""
    assert failure_of(status, json.dumps(body).encode()) == Failure(400, "invalid_request_error", message)


def test_the_status_of_a_response_counts_and_a_page_is_its_own_message() -> None:
    """Case 6: an HTML page from a proxy."""
    assert failure_of(401, b'{"error":{"message":"no","code":429}}') == Failure(401, "authentication_error", "no")
    assert failure_of(502, b"<html>\xff</html>") == Failure(502, "api_error", "<html>\ufffd</html>")

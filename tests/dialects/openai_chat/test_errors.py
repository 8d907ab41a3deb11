"""A backend's errors in the client's words: what each vendor is known to say, one row each."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.dialects.openai_chat.errors import Failure, failure_in, failure_of
from clew.model.facts.failures import meanings
from clew.model.json import JsonObject
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


FULL: list[tuple[str, int, object, str]] = [
    (
        "openai",
        400,
        error(
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 149767 tokens. "
            "Please reduce the length of the messages.",
            type="invalid_request_error",
            code="context_length_exceeded",
        ),
        "149767 tokens > 128000 maximum",
    ),
    (
        "openai, a request over the minute's limit",
        429,
        error(
            "Request too large for gpt-5-nano in organization org-1 on tokens per min (TPM): Limit 200000, Requested 480002. "
            "The input or output tokens must be reduced in order to run successfully.",
            type="tokens",
            code="rate_limit_exceeded",
        ),
        "480002 tokens > 200000 maximum",
    ),
    (
        "groq, the same as 413",
        413,
        error(
            "Request too large for model `llama-3.3-70b-versatile` in organization `org_1` service tier `on_demand` on tokens "
            "per minute (TPM): Limit 12000, Requested 14137, please reduce your message size and try again.",
            type="tokens",
            code="rate_limit_exceeded",
        ),
        "14137 tokens > 12000 maximum",
    ),
    (
        "deepseek",
        400,
        error(
            "This model's maximum context length is 65536 tokens. However, you requested 78214 tokens (70022 in the "
            "messages, 8192 in the completion). Please reduce the length of the messages or completion.",
            code="invalid_request_error",
        ),
        "70022 tokens > 65536 maximum",
    ),
    (
        "openrouter",
        400,
        error(
            "This endpoint's maximum context length is 32768 tokens. However, you requested about 56827 tokens (56811 of "
            "text input, 16 in the output). Please reduce the length of either one.",
            code=400,
            metadata={"provider_name": None},
        ),
        "56811 tokens > 32768 maximum",
    ),
    (
        "xai",
        400,
        {
            "code": "Client specified an invalid argument",
            "error": "This model's maximum prompt length is 256000 but the request contains 332986 tokens.",
        },
        "332986 tokens > 256000 maximum",
    ),
    (
        "mistral",
        400,
        {
            "object": "error",
            "message": "Prompt contains 170397 tokens and 0 draft tokens, too large for model with 131072 maximum "
            "context length",
            "type": "invalid_request_invalid_args",
            "param": None,
            "code": "3051",
        },
        "170397 tokens > 131072 maximum",
    ),
    (
        "gemini",
        400,
        [error("The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).", code=400)],
        "1196265 tokens > 1048575 maximum",
    ),
    (
        "kimi",
        400,
        error(
            "Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)",
            type="invalid_request_error",
        ),
        "269030 tokens > 262144 maximum",
    ),
    (
        "together",
        403,
        error("The input (300000 tokens) is longer than the model's context length (262144 tokens)."),
        "300000 tokens > 262144 maximum",
    ),
    (
        "fireworks",
        400,
        error("The prompt is too long: 131073, model maximum context length: 131071"),
        "131073 tokens > 131071 maximum",
    ),
    (
        "cerebras",
        400,
        {
            "message": "Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192",
            "type": "invalid_request_error",
            "code": "context_length_exceeded",
        },
        "9000 tokens > 8192 maximum",
    ),
    (
        "copilot",
        400,
        error("prompt token count of 200000 exceeds the limit of 128000", code="model_max_prompt_tokens_exceeded"),
        "200000 tokens > 128000 maximum",
    ),
    (
        "vllm, longer than the model",
        400,
        error("The decoder prompt (length 9000) is longer than the maximum model length of 8192.", type="BadRequestError"),
        "9000 tokens > 8192 maximum",
    ),
    (
        "llama.cpp",
        400,
        error(
            "the request exceeds the available context size, try increasing it",
            code=400,
            type="exceed_context_size_error",
            n_prompt_tokens=9000,
            n_ctx=8192,
        ),
        "9000 tokens > 8192 maximum",
    ),
    (
        "lm studio",
        400,
        {
            "error": "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with "
            "context length of only 4096 tokens, which is not enough."
        },
        "9000 tokens > 4096 maximum",
    ),
    (
        "ollama",
        400,
        error("prompt too long; exceeded max context length by 4096 tokens"),
        "prompt too long; exceeded max context length by 4096 tokens",
    ),
    (
        "dashscope",
        400,
        error("Range of input length should be [1, 129024]", code="invalid_parameter_error"),
        "Range of input length should be [1, 129024]",
    ),
    ("z.ai", 400, error("Prompt exceeds max length", code="1261"), "Prompt exceeds max length"),
    ("bedrock's words", 400, error("Input is too long for requested model."), "Input is too long for requested model."),
    (
        "litellm",
        400,
        error("litellm.ContextWindowExceededError: prompt is too long: 9 tokens > 8 maximum"),
        "9 tokens > 8 maximum",
    ),
    ("only a code", 400, {"error": {"code": "context_length_exceeded"}}, ""),
]


@pytest.mark.parametrize(("status", "body", "words"), [row[1:] for row in FULL], ids=[row[0] for row in FULL])
def test_a_full_context_is_said_in_the_words_that_clients_look_for(status: int, body: object, words: str) -> None:
    """Case 65b; clients 1.7: Claude Code compacts when it reads them."""
    assert said(status, body) == Failure(400, "invalid_request_error", f"prompt is too long: {words}".removesuffix(": "))


ROOM = [
    (
        "This model's maximum context length is 32768 tokens. However, you requested 43111 tokens (11111 in the messages, "
        "32000 in the completion). Please reduce the length of the messages or completion.",
        "11111 + 32000 > 32768",
    ),
    (
        "'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context length is 32768 tokens "
        "and your request has 11111 input tokens (32000 > 32768 - 11111). None",
        "11111 + 32000 > 32768",
    ),
    (
        "This model's maximum context length is 202752 tokens. However, you requested 64000 output tokens and your prompt "
        "contains 139000 input tokens.",
        "139000 + 64000 > 202752",
    ),
    (
        "Requested token count exceeds the model's maximum context length of 131072 tokens. You requested a total of 140000 "
        "tokens: 100000 tokens from the input messages and 40000 tokens for the completion.",
        "100000 + 40000 > 131072",
    ),
    (
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 5000 `inputs` tokens and 4096 "
        "`max_new_tokens`",
        "5000 + 4096 > 8193",
    ),
    (
        "This model's maximum context length is 8191 tokens, however you requested 10346 tokens (5346 in your prompt; 5000 "
        "for the completion). Please reduce your prompt; or completion length.",
        "5346 + 5000 > 8191",
    ),
]


@pytest.mark.parametrize(("message", "sum_"), ROOM)
def test_too_much_asked_of_a_prompt_that_fits_makes_the_client_ask_for_less(message: str, sum_: str) -> None:
    """clients 1.7: Claude Code then sends max_tokens = C - A - 1000. rule R8 has the words."""
    assert said(400, error(message)) == Failure(
        400,
        "invalid_request_error",
        f"input length and `max_tokens` exceed context limit: {sum_}, decrease input length or `max_tokens` and try again",
    )


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


GOOGLE_DETAILS = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}]

ROWS: list[tuple[str, int, object, Failure]] = [
    (
        "openai, tokens",
        429,
        error("Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 28000. Please try again in 4ms."),
        Failure(
            429,
            "rate_limit_error",
            "Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 28000. Please try again in 4ms.",
            0.004,
        ),
    ),
    (
        "openai, a limit that was reached by others",
        429,
        error("Limit 30000, Used 28000, Requested 4000. Please try again in 7m12s.", code="rate_limit_exceeded"),
        Failure(429, "rate_limit_error", "Limit 30000, Used 28000, Requested 4000. Please try again in 7m12s.", 432.0),
    ),
    (
        "openai, no money",
        429,
        error("You exceeded your current quota, please check your plan and billing details.", code="insufficient_quota"),
        Failure(402, "billing_error", "You exceeded your current quota, please check your plan and billing details."),
    ),
    (
        "gemini, the same words for a limit",
        429,
        [error("You exceeded your current quota.", code=429, status="RESOURCE_EXHAUSTED", details=GOOGLE_DETAILS)],
        Failure(429, "rate_limit_error", "You exceeded your current quota.", 34.0),
    ),
    (
        "gemini, in words",
        429,
        error("Please retry in 34.074824224s.", code=429, status="RESOURCE_EXHAUSTED"),
        Failure(429, "rate_limit_error", "Please retry in 34.074824224s.", 34.075),
    ),
    (
        "gemini, overloaded",
        503,
        error("The model is overloaded. Please try again later.", status="UNAVAILABLE"),
        Failure(529, "overloaded_error", "The model is overloaded. Please try again later."),
    ),
    (
        "gemini, wrong key",
        400,
        error("API key not valid. Please pass a valid API key.", status="INVALID_ARGUMENT"),
        Failure(401, "authentication_error", "API key not valid. Please pass a valid API key."),
    ),
    (
        "azure, limit",
        429,
        error(
            "Requests have exceeded call rate limit of your current pricing tier. Please retry after 12 seconds.", code="429"
        ),
        Failure(
            429,
            "rate_limit_error",
            "Requests have exceeded call rate limit of your current pricing tier. Please retry after 12 seconds.",
            12.0,
        ),
    ),
    (
        "azure, filter",
        400,
        error("The response was filtered.", code="content_filter", innererror={"code": "ResponsibleAIPolicyViolation"}),
        Failure(400, "invalid_request_error", "the backend's content filter refused this: The response was filtered."),
    ),
    (
        "azure, deployment",
        404,
        error("The API deployment for this resource does not exist.", code="DeploymentNotFound"),
        Failure(404, "not_found_error", "The API deployment for this resource does not exist."),
    ),
    ("deepseek, money", 402, error("Insufficient Balance"), Failure(402, "billing_error", "Insufficient Balance")),
    (
        "deepseek, key",
        401,
        error("Authentication Fails, Your api key: ****1 is invalid", type="authentication_error"),
        Failure(401, "authentication_error", "Authentication Fails, Your api key: ****1 is invalid"),
    ),
    ("deepseek, model", 400, error("Model Not Exist"), Failure(404, "not_found_error", "Model Not Exist")),
    (
        "deepseek, reasoning not passed back: the words must stay, the engine heals by them",
        400,
        error("The reasoning_content in the thinking mode must be passed back to the API."),
        Failure(
            400,
            "invalid_request_error",
            "The reasoning_content in the thinking mode must be passed back to the API.",
        ),
    ),
    (
        "kimi, overloaded",
        429,
        error("The engine is currently overloaded, please try again later", type="engine_overloaded_error"),
        Failure(529, "overloaded_error", "The engine is currently overloaded, please try again later"),
    ),
    (
        "kimi, money",
        403,
        error("Your account is suspended", type="exceeded_current_quota_error"),
        Failure(402, "billing_error", "Your account is suspended"),
    ),
    (
        "z.ai, money as 429",
        429,
        error("Insufficient balance or no resource package. Please recharge.", code="1113"),
        Failure(402, "billing_error", "Insufficient balance or no resource package. Please recharge."),
    ),
    (
        "z.ai, limit",
        429,
        error("High concurrency usage of this API", code="1302"),
        Failure(429, "rate_limit_error", "High concurrency usage of this API"),
    ),
    (
        "dashscope, filter",
        400,
        error("Input data may contain inappropriate content.", code="data_inspection_failed"),
        Failure(
            400,
            "invalid_request_error",
            "the backend's content filter refused this: Input data may contain inappropriate content.",
        ),
    ),
    (
        "xai, no credits",
        403,
        {
            "code": "The caller does not have permission to execute the specified operation",
            "error": "Your newly created teams doesn't have any credits yet.",
        },
        Failure(402, "billing_error", "Your newly created teams doesn't have any credits yet."),
    ),
    (
        "xai, credits used up",
        429,
        {"error": "Your team 1 has either used all available credits or reached its monthly spending limit."},
        Failure(
            402,
            "billing_error",
            "Your team 1 has either used all available credits or reached its monthly spending limit.",
        ),
    ),
    (
        "xai, wrong key as 400",
        400,
        {"code": "Client specified an invalid argument", "error": "Incorrect API key provided: sk***1."},
        Failure(401, "authentication_error", "Incorrect API key provided: sk***1."),
    ),
    (
        "groq, limit",
        429,
        error("Rate limit reached for model `x` on tokens per minute (TPM). Please try again in 7.66s.", type="tokens"),
        Failure(
            429,
            "rate_limit_error",
            "Rate limit reached for model `x` on tokens per minute (TPM). Please try again in 7.66s.",
            7.66,
        ),
    ),
    (
        "groq, the model's call was no JSON",
        400,
        error("Failed to call a function.", code="tool_use_failed", failed_generation="<function"),
        Failure(
            502,
            "api_error",
            "the model's answer was no valid tool call or JSON, and the backend threw it away: Failed to call a function.",
        ),
    ),
    ("groq, flex", 498, error("capacity exceeded"), Failure(529, "overloaded_error", "capacity exceeded")),
    (
        "cerebras, a quota that is a limit",
        429,
        {
            "message": "Requests per minute limit exceeded",
            "type": "too_many_requests_error",
            "code": "request_quota_exceeded",
        },
        Failure(429, "rate_limit_error", "Requests per minute limit exceeded"),
    ),
    (
        "mistral, FastAPI's form inside its own",
        422,
        {
            "object": "error",
            "message": {
                "detail": [
                    {
                        "type": "extra_forbidden",
                        "loc": ["body", "tools", 0, "function"],
                        "msg": "Extra inputs are not permitted",
                    }
                ]
            },
            "type": "invalid_request_error",
        },
        Failure(400, "invalid_request_error", "tools.0.function: Extra inputs are not permitted"),
    ),
    (
        "mistral, no key",
        401,
        {"detail": "Unauthorized"},
        Failure(401, "authentication_error", "Unauthorized"),
    ),
    (
        "FastAPI: the role that Claude Code heals",
        422,
        {"detail": [{"loc": ["body", "messages", 1, "role"], "msg": "Input should be 'user' or 'assistant'"}]},
        Failure(400, "invalid_request_error", "messages.1.role: Input should be 'user' or 'assistant'"),
    ),
    (
        "openrouter, the vendor's words behind its own",
        429,
        error(
            "Provider returned error",
            code=429,
            metadata={"raw": "x is temporarily rate-limited upstream", "provider_name": "y"},
        ),
        Failure(429, "rate_limit_error", "Provider returned error: x is temporarily rate-limited upstream"),
    ),
    (
        "openrouter, the vendor's JSON behind its own",
        400,
        error("Provider returned error", metadata={"raw": '{"error":{"message":"Input is too long"}}'}),
        Failure(400, "invalid_request_error", "prompt is too long: Provider returned error: Input is too long"),
    ),
    (
        "openrouter, moderation",
        403,
        error("x requires moderation. Your input was flagged", code=403, metadata={"reasons": ["violence"]}),
        Failure(
            400,
            "invalid_request_error",
            "the backend's content filter refused this: x requires moderation. Your input was flagged",
        ),
    ),
    (
        "openrouter, credits",
        402,
        error("This request requires more credits, or fewer max_tokens.", code=402),
        Failure(402, "billing_error", "This request requires more credits, or fewer max_tokens."),
    ),
    ("openrouter, timeout", 408, error("timed out", code=408), Failure(504, "timeout_error", "timed out")),
    (
        "a wrapped error as text",
        429,
        error('{"error": {"code": 429, "message": "Resource has been exhausted"}}', code=429),
        Failure(429, "rate_limit_error", "Resource has been exhausted"),
    ),
    (
        "vllm, model",
        404,
        {"object": "error", "message": "The model `x` does not exist.", "type": "NotFoundError", "code": 404},
        Failure(404, "not_found_error", "The model `x` does not exist."),
    ),
    (
        "ollama, model",
        404,
        error('model "x" not found, try pulling it first', type="api_error"),
        Failure(404, "not_found_error", 'model "x" not found, try pulling it first'),
    ),
    (
        "llama.cpp, loading",
        503,
        error("Loading model", type="unavailable_error", code=503),
        Failure(529, "overloaded_error", "Loading model"),
    ),
    (
        "llama.cpp, a template's complaint",
        500,
        error("Jinja Exception: System message must be at the beginning", type="server_error"),
        Failure(500, "api_error", "Jinja Exception: System message must be at the beginning"),
    ),
    (
        "minimax, over http",
        429,
        {"base_resp": {"status_code": 1002, "status_msg": "m"}},
        Failure(429, "rate_limit_error", "m"),
    ),
    ("too large", 413, {"error": {}}, Failure(413, "request_too_large", "Request exceeds the maximum size")),
    ("a plain string", 500, "oops", Failure(500, "api_error", "oops")),
]


@pytest.mark.parametrize(("status", "body", "failure"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_what_each_vendor_says_is_said_with_anthropics_status_and_type(status: int, body: object, failure: Failure) -> None:
    """clients 1.7; rule R62."""
    assert said(status, body) == failure


@pytest.mark.parametrize(
    ("status", "body", "failure"),
    [
        (401, b'{"error":{"message":"no","code":429}}', Failure(401, "authentication_error", "no")),
        (
            502,
            b"<html><head><title>502 Bad Gateway</title></head><body><center>nginx</center></body></html>",
            Failure(502, "api_error", "a page instead of an answer: 502 Bad Gateway"),
        ),
        (
            413,
            b"<html><h1>413 Request Entity Too Large</h1></html>",
            Failure(413, "request_too_large", "a page instead of an answer: 413 Request Entity Too Large"),
        ),
        (502, b"<html><script>x()</script>\xff</html>", Failure(502, "api_error", "a page instead of an answer: \ufffd")),
        (524, b"", Failure(504, "timeout_error", "the backend reported an error (504) without a word why")),
        (503, b"", Failure(529, "overloaded_error", "Overloaded")),
        (429, b"", Failure(429, "rate_limit_error", "the backend asks to wait, without a word why")),
        (400, b"null", Failure(400, "invalid_request_error", "null")),
        (500, b"upstream connect error", Failure(500, "api_error", "upstream connect error")),
        (400, b'{"error":{"message":"\\ud800"}}', Failure(400, "invalid_request_error", "\ufffd")),
    ],
)
def test_pages_texts_and_nothing_at_all_are_errors_too(status: int, body: bytes, failure: Failure) -> None:
    """Case 6: an HTML page from a proxy. The response's own status counts, unless the words prove it wrong."""
    assert failure_of(status, body) == failure


def test_a_word_of_waiting_counts_only_where_waiting_helps() -> None:
    assert said(400, error("try again in 5s")).retry_after is None


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


@settings(max_examples=examples(100), deadline=None)
@given(st.sampled_from([400, 401, 413, 429, 500, 503, 599]), values)
def test_no_body_breaks_it_and_every_failure_has_words(status: int, body: Any) -> None:
    failure = said(status, body)

    assert 400 <= failure.status <= 599
    assert failure.message
    json.dumps(failure.error()).encode()

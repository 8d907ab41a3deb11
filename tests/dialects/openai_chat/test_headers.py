"""Headers of OpenAI-style answers by Anthropic's names."""

from __future__ import annotations

import pytest

from clew.dialects.openai.errors import rate_headers, response_headers

NOON = 1_800_000_000.0  # 2027-01-15T08:00:00Z


def given(**headers: str) -> list[tuple[bytes, bytes]]:
    return [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]


def told(kind: str, limit: str, remaining: str, reset: str) -> list[tuple[str, str]]:
    return [
        (f"anthropic-ratelimit-{kind}-{what}", value) for what, value in zip(PARTS, (limit, remaining, reset), strict=True)
    ]


PARTS = ("limit", "remaining", "reset")

VENDORS = {
    "openai, groq": (
        given(
            x_ratelimit_limit_requests="60",
            x_ratelimit_remaining_requests="59",
            x_ratelimit_reset_requests="1s",
            x_ratelimit_limit_tokens="150000",
            x_ratelimit_remaining_tokens="149984",
            x_ratelimit_reset_tokens="6m0s",
        ),
        [
            *told("requests", "60", "59", "2027-01-15T08:00:01Z"),
            *told("tokens", "150000", "149984", "2027-01-15T08:06:00Z"),
        ],
    ),
    "cerebras": (
        given(
            x_ratelimit_limit_requests_day="1000",
            x_ratelimit_remaining_requests_day="999",
            x_ratelimit_reset_requests_day="33011.382867",
            x_ratelimit_limit_tokens_minute="8000",
            x_ratelimit_remaining_tokens_minute="0",
            x_ratelimit_reset_tokens_minute="11.3",
        ),
        [
            *told("requests", "1000", "999", "2027-01-15T17:10:11Z"),
            *told("tokens", "8000", "0", "2027-01-15T08:00:11Z"),
        ],
    ),
    "openrouter: milliseconds since 1970": (
        given(x_ratelimit_limit="20", x_ratelimit_remaining="0", x_ratelimit_reset="1800000060000"),
        told("requests", "20", "0", "2027-01-15T08:01:00Z"),
    ),
    "kimi: seconds since 1970": (
        given(X_RateLimit_Limit="20", X_RateLimit_Remaining="1", X_RateLimit_Reset="1800000060"),
        told("requests", "20", "1", "2027-01-15T08:01:00Z"),
    ),
    "fireworks": (
        given(
            x_ratelimit_limit_tokens_prompt="60000",
            x_ratelimit_remaining_tokens_prompt="59986",
            x_ratelimit_limit_tokens_generated="6000",
            x_ratelimit_remaining_tokens_generated="5999",
        ),
        [
            ("anthropic-ratelimit-input-tokens-limit", "60000"),
            ("anthropic-ratelimit-input-tokens-remaining", "59986"),
            ("anthropic-ratelimit-output-tokens-limit", "6000"),
            ("anthropic-ratelimit-output-tokens-remaining", "5999"),
        ],
    ),
    "nothing that can be read": (
        given(x_ratelimit_remaining_requests="lots", x_ratelimit_reset_requests="soon", x_ratelimit_limit_tokens="5"),
        [],
    ),
    "a reset that is none": (
        given(x_ratelimit_remaining_requests="1", x_ratelimit_reset_requests="99999999999999"),
        [("anthropic-ratelimit-requests-remaining", "1")],
    ),
}


@pytest.mark.parametrize("vendor", VENDORS)
def test_limits_are_told_by_the_names_that_clients_know(vendor: str) -> None:
    """rule R77: limit, remaining, and a date in RFC 3339."""
    headers, expected = VENDORS[vendor]

    assert rate_headers(headers, wall=NOON) == expected


def test_what_the_client_may_hear_passes_and_the_rest_does_not() -> None:
    headers = given(
        retry_after="3", x_request_id="req_1", x_should_retry="false", server="nginx", set_cookie="a=b", cf_ray="1"
    )

    assert response_headers(headers, wall=NOON) == [
        ("retry-after", "3"),
        ("x-should-retry", "false"),
        ("request-id", "req_1"),
    ]


def test_azures_name_for_the_wait_is_the_sdks() -> None:
    assert response_headers(given(x_ms_retry_after_ms="250"), wall=NOON) == [("retry-after-ms", "250")]


def test_a_request_id_of_its_own_name_counts_before_any_other() -> None:
    headers = given(request_id="mine", x_request_id="other")

    assert response_headers(headers, wall=NOON) == [("request-id", "mine")]

"""Headers, size and JSON: what is wrong before the request is looked at (R2, R3, R4, R62, R63)."""

import json
import time

import pytest

from clew.simulator.anthropic.judge import static_violations
from clew.simulator.interfaces import VendorRefusal
from tests.manifest import accepts, proves, refuses
from tests.simulator.judging import NEW, OLD, ask, headers, request, row

NOT_JSON = "The request body is not valid JSON: "
GOOD = json.dumps(request()).encode()
HUGE = b'{"model": "' + b"x" * (32 * 1024 * 1024) + b'"}'

ROWS = [
    row("R62.too-large", HUGE, GOOD, "", "Request exceeds the maximum size"),
    row("R2.version-missing", {}, {}, "", "anthropic-version: header is required", version="", good_version=NEW),
    row(
        "R2.version-unknown",
        {},
        {},
        "",
        'anthropic-version: "2024-01-01" is not a valid version',
        version="2024-01-01",
        good_version=OLD,
    ),
    row(
        "R3.beta-unknown",
        {},
        {},
        "",
        "Unexpected value(s) `invalid-beta-name`, `other` for the `anthropic-beta` header. Please consult our "
        "documentation at platform.claude.com/docs or try again without the header.",
        betas=("effort-2025-11-24", "invalid-beta-name", " other"),
        good_betas=("effort-2025-11-24", "claude-code-20250219"),
    ),
    row(
        "R4.body-empty",
        b"",
        GOOD,
        "",
        NOT_JSON + "Input is a zero-length, empty document: line 1 column 1 (char 0)",
    ),
    row(
        "R4.body-not-json",
        b'{"model": "claude-opus-4-8", "messages": [',
        GOOD,
        "",
        NOT_JSON + "unexpected end of data: line 1 column 43 (char 42)",
    ),
    row(
        "R63.lone-surrogate",
        GOOD.replace(b"Hello.", b"\\ud800"),
        GOOD.replace(b"Hello.", b"\\ud83d\\ude00"),
        "",
        "The request body contains invalid Unicode: unpaired surrogate",
    ),
    row("R4.body-not-object", b"[]", GOOD, "", "Input should be an object"),
]


@accepts("rule:R62.too-large")
def test_a_body_of_exactly_32_mb_passes() -> None:
    """R62: blanks count as bytes, and are JSON."""
    assert ask(GOOD + b" " * (32 * 1024 * 1024 - len(GOOD))).violation is None


@refuses("rule:R62.too-large")
def test_a_violation_carries_grade_status_and_type() -> None:
    """R62: 413 has a type of its own."""
    assert ask(HUGE).violation == VendorRefusal(
        rule="R62.too-large",
        grade="A",
        status=413,
        error_type="request_too_large",
        message="Request exceeds the maximum size",
    )


@pytest.mark.parametrize("bad", [b"\xff", b"NaN", b'{"a": NaN}', b'{"a": Infinity}', b"[" * 10_000 + b"]" * 10_000, b"{} x"])
@refuses("rule:R4.body-not-json")
def test_what_is_no_json_is_refused_quickly(bad: bytes) -> None:
    """R4: NaN, bad UTF-8, 10,000 levels and trailing bytes are no JSON; each is answered in well under a second."""
    begun = time.thread_time()
    violation = ask(bad).violation
    assert violation is not None
    assert (violation.rule, violation.status) == ("R4.body-not-json", 400)
    assert time.thread_time() - begun < 10


@accepts("rule:R4.body-not-json")
def test_big_integers_and_doubled_keys_are_json() -> None:
    """R4: JSON sets no limit to integers, and says nothing about doubled keys: the last one counts."""
    raw = GOOD.replace(b'"max_tokens": 1024', b'"max_tokens": 1, "max_tokens": 1024').replace(
        b"}]}", b'}], "metadata": {"user_id": "1"}}'
    )
    assert ask(raw).violation is None
    tool_input = (
        b'[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{"n":123456789012345678901}}]},'
    )
    answered = tool_input + b'{"role":"user","content":[{"type":"tool_result","tool_use_id":"t"}]}]'
    body = b'{"model":"claude-opus-4-8","max_tokens":5,"messages":' + answered + b"}"
    assert ask(body).violation is None


@proves("rule:R63.lone-surrogate")
def test_static_violations_of_the_transport_are_all_named() -> None:
    """R63: the findings of the first phase that has any, in the order of the book."""
    found = static_violations(GOOD, headers("1999-01-01", ["nope"]))
    assert [violation.rule for violation in found] == ["R2.version-unknown", "R3.beta-unknown"]

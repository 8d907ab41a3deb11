"""The compliance check on what nobody means: hostile bodies, values that are no JSON, a million of anything."""

from __future__ import annotations

from collections.abc import Callable
from time import thread_time
from typing import Any

import pytest

from clew.thinking.compliance import Violation, check
from clew.thinking.compliance.request_view import MOST
from tests.conversations.asked import headers
from tests.manifest import refuses

HEAD = b'{"model": "claude-opus-5-5", "max_tokens": 5, '


def million(entry: bytes) -> bytes:
    return HEAD + b'"messages": [' + b",".join([entry] * 1_000_000) + b"]}"


def found(request: Any, **options: Any) -> tuple[Violation, ...]:
    return check(request, headers=headers(), **options)


@refuses("rule:R17.too-many-messages", "rule:R4.body-not-json", "rule:R63.lone-surrogate")
@pytest.mark.parametrize(
    ("make", "rule"),
    [
        (lambda: million(b'{"role":"user","content":"x"}'), "R17.too-many-messages"),
        (lambda: million(b"{}"), "R17.too-many-messages"),
        (lambda: million(b"0"), "R17.too-many-messages"),
        (lambda: HEAD + b'"messages": ' + b"[" * 10_000 + b"]" * 10_000 + b"}", "R4.body-not-json"),
        (lambda: b"[" * 10_000_000, "R4.body-not-json"),
        (lambda: b'{"a":' * 10_000 + b"1" + b"}" * 10_000, "R4.body-not-json"),
        (lambda: HEAD + b'"messages": ["\\ud800"]}', "R63.lone-surrogate"),
        (lambda: HEAD + b'"messages": ["\xed\xa0\x80"]}', "R4.body-not-json"),
        (lambda: HEAD + b'"messages": [NaN]}', "R4.body-not-json"),
        (lambda: HEAD + b'"temperature": -Infinity}', "R4.body-not-json"),
        (lambda: b"\x00" * 1000, "R4.body-not-json"),
    ],
    ids=[
        "messages",
        "empty messages",
        "numbers for messages",
        "levels of lists",
        "levels without end",
        "levels of objects",
        "half a character",
        "half a character in UTF-8",
        "no number",
        "infinity",
        "zeros",
    ],
)
def test_a_hostile_body_is_one_clear_violation_soon(make: Callable[[], bytes], rule: str) -> None:
    """A million messages, ten thousand levels, half characters, what is no number."""
    body = make()
    start = thread_time()
    violations = found(body)
    assert [violation.rule for violation in violations] == [rule]
    assert thread_time() - start < 10


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"in": value}
    return value


NO_JSON = "The request body is not valid JSON: {}: line 1 column 1 (char 0)"
NO_NUMBER = NO_JSON.format("NaN is not a JSON value")
TOO_DEEP = NO_JSON.format("nested more than 128 levels deep")
HALF = "The request body contains invalid Unicode: unpaired surrogate"


@pytest.mark.parametrize(
    ("value", "rule", "words"),
    [
        ({"model": float("nan")}, "R4.body-not-json", NO_NUMBER),
        ({"model": [{"in": float("-inf")}]}, "R4.body-not-json", NO_NUMBER),
        ({"model": "a\udfff"}, "R63.lone-surrogate", HALF),
        ({"\ud800": 1}, "R63.lone-surrogate", HALF),
        (nested(10_000), "R4.body-not-json", TOO_DEEP),
    ],
    ids=["nan", "infinity", "value", "key", "deep"],
)
def test_an_object_that_no_json_text_says_is_refused_too(value: Any, rule: str, words: str) -> None:
    """A caller in Python can build what no client can send."""
    assert [(each.rule, each.words) for each in found(value)] == [(rule, words)]


def test_big_integers_pass_as_they_came() -> None:
    """No float on the way: the words hold every digit."""
    body = HEAD.replace(b"5, ", b"1" + b"0" * 40 + b", ") + b'"messages": [{"role": "user", "content": "x"}]}'
    (violation,) = found(body)
    assert violation.words.startswith(f"max_tokens: {10**40} > 128000, ")


def test_a_rule_that_is_broken_without_end_is_named_a_thousand_times() -> None:
    """And every other rule of that phase still once."""
    unknown = b",".join(b'"k%d": 1' % n for n in range(5 * MOST))
    violations = found(HEAD + unknown + b', "stream": 1}')
    rules = [violation.rule for violation in violations]
    assert rules[:2] == ["R4.messages-required", "R4.wrong-type"]
    assert rules[2:] == ["R4.field-unknown"] * MOST


@pytest.mark.slow
def test_a_hundred_thousand_legal_messages_are_checked_in_seconds() -> None:
    """Linear, with no quadratic corner in pairing or runs."""
    body = HEAD + b'"messages": [' + b",".join([b'{"role":"user","content":"x"}'] * 100_000) + b"]}"
    start = thread_time()
    assert found(body) == ()
    assert thread_time() - start < 60

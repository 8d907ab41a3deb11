"""Secrets by shape and by value, and in linear time."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.exchange.redact import _SHAPES, HIDDEN, Redactor
from tests.counts import examples
from tests.manifest import proves


@proves("req:S1-45")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("key sk-ant-api03-AbCdEfGh_12 end", f"key sk-ant-{HIDDEN} end"),
        ("sk-proj-12345678", f"sk-{HIDDEN}"),
        ("clew_ab12_0123456789abcdef", f"clew_{HIDDEN}"),
        ("Authorization: Bearer abc.def", f"Authorization: {HIDDEN}"),
        ("sent bearer abc.def, twice", f"sent bearer {HIDDEN}, twice"),
        ("Basic dXNlcjpwYXNz", f"Basic {HIDDEN}"),
        ("cookie: a=b; c=d", f"cookie: {HIDDEN}"),
        ('{"x-api-key": "short", "n": 1}', f'{{"x-api-key": "{HIDDEN}", "n": 1}}'),
        ("http://me:pw@proxy:3128/", f"http://{HIDDEN}@proxy:3128/"),
        ("/login?code=abc&next=/", f"/login?code={HIDDEN}&next=/"),
        ("a task-oriented-approach, basic words", "a task-oriented-approach, basic words"),
        ("https://example.org/a@b", "https://example.org/a@b"),
    ],
)
def test_what_looks_like_a_secret_is_hidden(text: str, shown: str) -> None:
    """reliability 4.10."""
    assert Redactor()(text) == shown


def test_a_loaded_secret_is_hidden_wherever_it_stands() -> None:
    """reliability 4.10: by value; the longer of two that begin alike goes whole."""
    redact = Redactor(["hunter2", "hunter2-and-more", "x"])
    assert redact("a hunter2-and-more b hunter2 c x") == f"a {HIDDEN} b {HIDDEN} c x"
    redact.learn(["another-one"])
    assert redact("another-one hunter2") == f"{HIDDEN} {HIDDEN}"


def test_a_json_value_is_cleaned_by_names_too() -> None:
    value = {"headers": {"Cookie": "a", "accept": "b"}, "list": ["sk-12345678", 1, None], "my_api_key": "c", "tokens": 5}
    assert Redactor().clean(value) == {
        "headers": {"Cookie": HIDDEN, "accept": "b"},
        "list": [f"sk-{HIDDEN}", 1, None],
        "my_api_key": HIDDEN,
        "tokens": 5,
    }


@pytest.mark.slow
@proves("fault:X20")
@pytest.mark.parametrize(
    "piece", ["sk-", "bearer ", "cookie", "://", "://a", "?key=", "authorization:", "a@", "basic  ", '"']
)
def test_hostile_text_costs_linear_time(piece: str) -> None:
    """X20: twice the text, at most about twice the time."""
    redact = Redactor(["canary-0123456789"])

    def seconds(size: int) -> float:
        text = (piece * size)[:size]
        return min(_timed(redact, text) for _ in range(3))

    assert seconds(200_000) < 6 * seconds(100_000) + 0.005


def _timed(redact: Redactor, text: str) -> float:
    start = time.thread_time()
    redact(text)
    return time.thread_time() - start


PIECES = [
    "sk-",
    "sk-ant-",
    "clew_",
    "Bearer ",
    "BASIC ",
    "Cookie",
    "authorization",
    "x-api-key",
    "api_key",
    "auth-token",
    "password",
]
PIECES += ["client_secret", "://", "?key=", "&sig=", "a@b", ":", "=", '"', " ", "0123456789abcdef", "\n", "é", "İ"]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
@settings(max_examples=examples(72, soak=6000), deadline=None)
def test_a_text_that_is_passed_by_has_no_secret_in_it(text: str) -> None:
    """The quick look never misses what a shape would find."""
    if not Redactor().suspects(text):
        for shape, replacement in _SHAPES:
            assert shape.sub(replacement, text) == text

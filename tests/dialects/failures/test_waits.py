"""Durations and moments, as vendors write them in headers, bodies and sentences."""

from __future__ import annotations

import pytest

from clew.dialects.failures.reading import duration_of, moment_of, wait_in


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("6m0s", 360.0),
        ("7.66s", 7.66),
        ("120ms", 0.12),
        ("2m59.56s", 179.56),
        ("1h2m", 3720.0),
        ("1d", 86400.0),
        ("12", 12.0),
        ("soon", None),
        ("", None),
        ("5x", None),
    ],
)
def test_durations_are_read_as_vendors_write_them(text: str, seconds: float | None) -> None:
    assert duration_of(text) == seconds


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("Please try again in 7m12s.", 432.0),
        ("try again in 1 minute", 60.0),
        ("Please retry after 12 seconds.", 12.0),
        ("Try again in 1 hour 5 minutes, please", 3900.0),
        ("Please try again in 250 milliseconds", 0.25),
        ("Please try again later", None),
        ("try again in soon", None),
    ],
)
def test_a_wait_is_read_out_of_a_sentence(message: str, seconds: float | None) -> None:
    assert wait_in(message) == seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1789138080", 1789138080.0),
        ("1789138080.5", 1789138080.0),
        ("1789138080000", 1789138080.0),
        ("9999999999999999", None),
        ("999999999", None),
        ("4102444801000001", None),
        ("\u0661" * 10, None),
        ("tomorrow", None),
        ("", None),
    ],
)
def test_a_moment_is_in_seconds_or_in_milliseconds_since_1970(text: str, seconds: float | None) -> None:
    assert moment_of(text) == seconds

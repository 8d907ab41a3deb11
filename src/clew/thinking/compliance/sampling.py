"""Sampling parameters under API version 2023-06-01 (R13, R14). The newer version knows none of them (R2)."""

from __future__ import annotations

from collections.abc import Iterator

from clew.thinking.compliance.reading import Check, Reading, Spot, at, number

__all__ = ["RULES"]

WITHOUT_SAMPLING = "2026-10-21"
TOP_P_WITH_THINKING = 0.95


def _given(reading: Reading, key: str) -> int | float | None:
    """The value, where this API version knows the parameter."""
    return None if reading.version == WITHOUT_SAMPLING else number(reading.body.get(key))


def _thinks_on_older(reading: Reading) -> bool:
    return reading.profile.sampling == "accept" and reading.thinking in ("enabled", "adaptive")


def _temperature_with_thinking(reading: Reading) -> Iterator[Spot]:
    if _thinks_on_older(reading) and _given(reading, "temperature") not in (None, 1):
        yield at("temperature")


def _top_p_with_thinking(reading: Reading) -> Iterator[Spot]:
    top_p = _given(reading, "top_p")
    if top_p is not None and _thinks_on_older(reading) and not TOP_P_WITH_THINKING <= top_p <= 1:
        yield at("top_p")


def _top_k_with_thinking(reading: Reading) -> Iterator[Spot]:
    if _thinks_on_older(reading) and _given(reading, "top_k") is not None:
        yield at("top_k")


def _deprecated(reading: Reading, key: str, *allowed: int) -> Iterator[Spot]:
    value = _given(reading, key)
    if reading.profile.sampling == "reject" and value is not None and value not in allowed:
        yield at(key)


def _temperature_deprecated(reading: Reading) -> Iterator[Spot]:
    return _deprecated(reading, "temperature", 1)


def _top_p_deprecated(reading: Reading) -> Iterator[Spot]:
    return _deprecated(reading, "top_p", 1)


def _top_k_deprecated(reading: Reading) -> Iterator[Spot]:
    return _deprecated(reading, "top_k")


def _temperature_and_top_p(reading: Reading) -> Iterator[Spot]:
    both = _given(reading, "temperature") is not None and _given(reading, "top_p") is not None
    if both and not reading.profile.temperature_and_top_p:
        yield at("top_p")


RULES: dict[str, Check] = {
    "R13.temperature-with-thinking": _temperature_with_thinking,
    "R13.top-p-with-thinking": _top_p_with_thinking,
    "R13.top-k-with-thinking": _top_k_with_thinking,
    "R14.temperature-deprecated": _temperature_deprecated,
    "R14.top-p-deprecated": _top_p_deprecated,
    "R14.top-k-deprecated": _top_k_deprecated,
    "R14.temperature-and-top-p": _temperature_and_top_p,
}

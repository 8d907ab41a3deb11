"""Fixtures for testing agents and gateways without a key: `Simulator`, and the pytest plugin that makes fixtures of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.testing.simulator import Simulator

__all__ = ["Simulator"]


def __getattr__(name: str) -> object:
    """`Simulator`, imported when first used: pytest loads this package in every run, also where no test needs it."""
    if name == "Simulator":
        from clew.testing.simulator import Simulator

        return Simulator
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

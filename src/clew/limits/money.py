"""Money as whole millionths of a US dollar: sums of them are exact, in Python and in every database."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal
from typing import Final

MICRO: Final = 1_000_000
"""Micro-dollars of a dollar."""


def micro_usd(usd: Decimal) -> int:
    """What was spent, to the nearest micro-dollar.

    >>> micro_usd(Decimal("0.0123456"))
    12346
    """
    return int((usd * MICRO).to_integral_value(ROUND_HALF_EVEN))


def micro_usd_at_most(usd: Decimal) -> int:
    """What will be spent, rounded up."""
    return int((usd * MICRO).to_integral_value(ROUND_CEILING))


def dollars(micro: int) -> str:
    """For people: at least two places, and all that are not zero.

    >>> dollars(5_000_000), dollars(12_346), dollars(-1)
    ('$5.00', '$0.012346', '-$0.000001')
    """
    whole, part = divmod(abs(micro), MICRO)
    places = f"{part:06d}".rstrip("0").ljust(2, "0")
    return f"{'-' if micro < 0 else ''}${whole:,}.{places}"

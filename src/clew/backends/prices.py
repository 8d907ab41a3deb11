"""List prices: what tokens of a backend's model cost, from data that comes with genai-prices.

Nothing is looked up on the network. The backend's address decides whose price list counts, else its preset, else its realm;
for an unknown host it is the list of the model's maker. The data takes half a second and 40 MB to load, so it is loaded
when the first price is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from msgspec import Struct

from clew.backends.address import is_local
from clew.backends.presets import presets
from clew.backends.row import Backend
from clew.model.facts import canonical_model
from clew.model.turn import TokenUsage

if TYPE_CHECKING:
    from genai_prices.types import Provider
    from genai_prices.types import Usage as Tokens


def load_prices() -> None:
    """Read the price list, which takes a moment: call it while waiting for something else."""
    from genai_prices.data_snapshot import get_snapshot

    get_snapshot()


class PricedCounts(Struct, frozen=True, kw_only=True):
    """Tokens by price; None if a count is missing."""

    fresh: int | None = None
    output: int | None = None
    read: int = 0
    written: int = 0
    for_an_hour: int | None = None
    searches: int = 0
    estimated: bool = False

    @property
    def is_known(self) -> bool:
        return self.fresh is not None or self.output is not None

    @property
    def is_whole(self) -> bool:
        return self.fresh is not None and self.output is not None and not self.estimated


def provider_of(backend: Backend | str | None) -> Provider | None:
    """The vendor with the prices of this backend; None if there is none."""
    from genai_prices.data_snapshot import get_snapshot

    row = presets().get(backend) if isinstance(backend, str) else backend
    hints: list[tuple[str | None, str | None]] = [(None, row.url)] if row else []
    if name := backend if isinstance(backend, str) else backend.preset if backend else "":
        hints.append((name, None))
    # A realm that only a config file names could be any name, so it is not used.
    if row and row.realm in {each.realm for each in presets().values()}:
        hints.append((row.realm, None))
    for hint, url in hints:
        with suppress(LookupError):
            return get_snapshot().find_provider(None, hint, url)
    return None


def price_range(
    model: str, counts: PricedCounts, provider: Provider | None, at: datetime | None
) -> tuple[Decimal, Decimal] | None:
    """The lowest and the highest price that these counts can have; None if no price is known."""
    from genai_prices.data_snapshot import get_snapshot

    for name in dict.fromkeys((model, canonical_model(model))):
        with suppress(LookupError, ValueError):
            whose, row = get_snapshot().find_provider_model(name, provider, None, None)
            low, high = (row.calc_price(tokens, whose, genai_request_timestamp=at) for tokens in _possible(counts))
            return low.total_price, high.total_price
    return None


def price_of(model: str, usage: TokenUsage, backend: Backend, at: float) -> Decimal | None:
    """US dollars for the tokens of one call; None if the price is not known, as for a server on this machine."""
    counts = PricedCounts(fresh=usage.input, output=usage.output, read=usage.cache_read, written=usage.cache_written)
    found = known_range(model, counts, backend, at)
    return found[0] if found else None


def most_price(model: str, prompt: int, output: int, backend: Backend, at: float) -> Decimal | None:
    """US dollars that one call with so many tokens costs at most: as if all of its prompt were new, or written to the
    most expensive cache. None if the price is not known."""
    fresh = known_range(model, PricedCounts(fresh=prompt, output=output), backend, at)
    written = known_range(model, PricedCounts(fresh=0, written=prompt, output=output), backend, at)
    return max(fresh[1], written[1]) if fresh and written else None


def known_range(model: str, counts: PricedCounts, backend: Backend, at: float) -> tuple[Decimal, Decimal] | None:
    """The lowest and the highest price of a call to this backend at this time. None where no price is known, and for a
    server on this machine."""
    provider = provider_of(backend)
    if provider is None and is_local(backend.url):  # nobody sends a bill
        return None
    return price_range(model, counts, provider, datetime.fromtimestamp(at, UTC))


def _possible(counts: PricedCounts) -> Iterator[Tokens]:
    """The lowest and the highest price: all cache entries short-lived, or all long-lived; the same if it is known."""
    from genai_prices.types import Usage as Tokens

    known = counts.for_an_hour
    for hours in (0, counts.written) if known is None else (known, known):
        yield Tokens(
            input_tokens=(counts.fresh or 0) + counts.read + counts.written,
            cache_read_tokens=counts.read,
            cache_write_tokens=counts.written,
            cache_write_1h_tokens=min(hours, counts.written),
            output_tokens=counts.output or 0,
            web_searches=counts.searches,
        )

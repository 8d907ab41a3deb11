"""An exchange that is open in the store, and whose process is gone, was cut."""

from __future__ import annotations

import msgspec

from clew.model.turn import Exchange
from clew.store.process_protocols import Leases


def as_seen(exchange: Exchange, process: str, leases: Leases) -> Exchange:
    """The exchange as people see it now. `process` answers it, if it is open."""
    if exchange.outcome != "open" or leases.is_held(process):
        return exchange
    return msgspec.structs.replace(exchange, outcome="cut")

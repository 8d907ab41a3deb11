"""An exchange as it may be shown: what a backend said when it failed is hidden like all that strangers wrote.

It is kept without secrets (`story`); but what an older clew kept, or knew no secret of at the time, is there as it was said.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from clew.engine.redact import Redactor
from clew.model.turn import Exchange

_BY_SHAPE: Final = Redactor()


def with_told_tries(exchange: Exchange, redact: Redactor = _BY_SHAPE) -> Exchange:
    if not any(each.why for each in exchange.tries):
        return exchange
    return replace(exchange, tries=tuple(replace(each, why=redact(each.why)) for each in exchange.tries))

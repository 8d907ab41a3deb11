"""Sealed summaries: what a client holds in place of a history that was compacted.

Clients of the Responses API ask for one and send it back as it is, so it has to bring its text, to any backend. It is a seal
(`seal`), over a text of its own, so that no seal of a thought can be taken for a summary.
"""

from __future__ import annotations

from clew.errors import SealInvalid
from clew.model.origin import Origin
from clew.thinking.seal import Seal, Sealer

LONGEST = 700_000
"""Bytes of a summary that a seal takes."""

_OVER = "a summary of the conversation"
_HEAD = "Summary of the conversation so far (the messages before it were compacted):\n\n"


def seal_summary(sealer: Sealer, text: str, *, principal: str, origin: Origin, exchange: str) -> str:
    """The seal that brings this summary. Raises SealInvalid if it is too long for one."""
    payload = text.encode("utf-8", "surrogatepass")
    if len(payload) > LONGEST:
        raise SealInvalid(f"a summary of {len(payload)} bytes is longer than the {LONGEST} that a seal takes")
    return sealer.mint(Seal(principal, origin, exchange, 0, payload), _OVER)


def open_summary(sealer: Sealer, token: str, *, principal: str) -> str:
    """The summary in words for any model. Raises SealInvalid."""
    return _HEAD + sealer.open(token, _OVER, principal=principal).payload.decode("utf-8", "surrogatepass")

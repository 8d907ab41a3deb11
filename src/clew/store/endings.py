"""How an exchange ended, in the words that commands, logs and pages share.

An answer that is not whole was either *stopped*, by the client that asked for it or by a gateway that ended, or *cut off*:
its backend broke off. The last try tells: it says why only where the backend is at fault.
"""

from __future__ import annotations

from typing import Final

from clew.store.values import Exchange

__all__ = ["CUT_OFF", "STOPPED", "ending_word", "failure_of", "unfinished_word"]

STOPPED: Final = "stopped"
CUT_OFF: Final = "cut off"


def ending_word(exchange: Exchange) -> str:
    """The outcome, but for `cut`, which is one of two."""
    return unfinished_word(exchange) if exchange.outcome == "cut" else exchange.outcome


def unfinished_word(exchange: Exchange | None) -> str:
    """How an answer ended that is not whole; None where what happened to it is forgotten."""
    is_stopped = exchange is not None and exchange.outcome == "cut" and not failure_of(exchange)
    return STOPPED if is_stopped else CUT_OFF


def failure_of(exchange: Exchange) -> str:
    """Why the backend did not give a whole answer, in its words or ours; "" if it is not at fault, or nobody knows."""
    return exchange.tries[-1].why if exchange.tries and exchange.outcome != "whole" else ""

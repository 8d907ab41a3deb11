"""One exchange as lines of a page. `--json` has each change; these group them."""

from __future__ import annotations

from clew.cli.pages import Line
from clew.store.exchange_text import at_time, details_of, head_of, thinking_of
from clew.store.values import Exchange

__all__ = ["at_time", "lines_of", "thinking_of"]


def lines_of(exchange: Exchange) -> list[Line]:
    """The head, and below it what there is to say."""
    head = Line(head_of(exchange), "" if exchange.outcome == "whole" else "bad")
    return [head, *(Line(f"    {text}", "quiet") for text in details_of(exchange))]

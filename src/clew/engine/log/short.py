"""The log for people at a terminal: a request as `clew log` shows it, and everything else as key=value."""

from __future__ import annotations

import logging

from clew.engine.log.lines import as_pairs, line_of
from clew.engine.log.summary import Summary
from clew.exchange.redact import Redactor
from clew.store.text import exchange_details, exchange_line


def short_line_of(record: logging.LogRecord, redact: Redactor) -> str:
    """The record as it is written, without the last newline."""
    if isinstance(record, Summary):
        exchange = record.exchange
        return "\n    ".join(redact(text) for text in (exchange_line(exchange), *exchange_details(exchange)))
    return line_of(record, redact, as_pairs)

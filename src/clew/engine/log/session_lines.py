"""The lines of the session policy: what its registry did, in the words of the registry's document.

| level | event | says |
|---|---|---|
| INFO | `backend switch` | old and new backend, and the sessions that end and begin |
| DEBUG | `block registered` | an answer brought a block: its hash, its session, its beginning only if asked for |
| DEBUG | `block confirmed` | a request brought it back |
| DEBUG | `block cleaned up` | it left the table, and by which of the three rules |

The hash is the same in all of them, and in `clew status --blocks`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import NamedTuple

from clew.model.json import JsonObject
from clew.thinking.registry.blocks import Registration
from clew.thinking.registry.table import BackendSwitch, Filtered


class SessionLine(NamedTuple):
    """A line to write."""

    level: int
    event: str
    fields: JsonObject


def short_hash(key: bytes) -> str:
    """As much of a block's key as people compare."""
    return key.hex()[:16]


def switch_line(switch: BackendSwitch) -> SessionLine:
    backends: JsonObject = {"old_backend": switch.old_backend, "new_backend": switch.new_backend}
    sessions: JsonObject = {"old_session": switch.old_session, "new_session": switch.new_session}
    return SessionLine(logging.INFO, "backend switch", backends | sessions)


def decision_lines(exchange: str, filtered: Filtered) -> Iterator[SessionLine]:
    """What a request confirmed, and what left the table because of it."""
    for key in filtered.confirmations:
        fields: JsonObject = {"exchange": exchange, "hash": short_hash(key), "session": filtered.session}
        yield SessionLine(logging.DEBUG, "block confirmed", fields)
    for each in filtered.cleanups:
        fields = {"exchange": exchange, "hash": short_hash(each.key), "session": each.entry.session}
        yield SessionLine(logging.DEBUG, "block cleaned up", fields | {"rule": each.rule})


def registration_lines(exchange: str, registered: Registration, *, thinking_text: bool) -> Iterator[SessionLine]:
    for block in registered.blocks:
        fields: JsonObject = {"exchange": exchange, "hash": short_hash(block.key), "session": block.session}
        fields |= {"complete": block.complete} | ({"content_preview": block.preview} if thinking_text else {})
        yield SessionLine(logging.DEBUG, "block registered", fields)

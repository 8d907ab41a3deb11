"""The statements of SQLite, as `clew.store.statements.StoreStatements` names them."""

from __future__ import annotations

from clew.store.sqlite.bodies import add_bodies, read_bodies
from clew.store.sqlite.deletions import delete_some_of_thread, delete_thread, deletions
from clew.store.sqlite.leases import abandon_calls, call_owner, claim_calls, finish_calls
from clew.store.sqlite.native_turns import hide_native_turn, native_history, native_turns
from clew.store.sqlite.queries import (
    days,
    exchange,
    exchanges,
    exchanges_since,
    passages,
    pin_of,
    pinned,
    position,
    settings,
    sibling_threads,
    statistics,
    thread,
    thread_of,
    thread_totals,
    threads,
    tree,
    usage_totals,
)
from clew.store.sqlite.retention import apply_retention, check_clock
from clew.store.sqlite.search import index_turns, search
from clew.store.sqlite.writes import pin, rename, set_setting, touch

__all__ = [
    "abandon_calls",
    "add_bodies",
    "apply_retention",
    "call_owner",
    "check_clock",
    "claim_calls",
    "days",
    "delete_some_of_thread",
    "delete_thread",
    "deletions",
    "exchange",
    "exchanges",
    "exchanges_since",
    "finish_calls",
    "hide_native_turn",
    "index_turns",
    "native_history",
    "native_turns",
    "passages",
    "pin",
    "pin_of",
    "pinned",
    "position",
    "read_bodies",
    "rename",
    "search",
    "set_setting",
    "settings",
    "sibling_threads",
    "statistics",
    "thread",
    "thread_of",
    "thread_totals",
    "threads",
    "touch",
    "tree",
    "usage_totals",
]

"""The statements of PostgreSQL, as `clew.store.statements.StoreStatements` names them."""

from __future__ import annotations

from clew.store.postgres.bodies import add_bodies, read_bodies
from clew.store.postgres.deletions import delete_some_of_thread, delete_thread, deletions
from clew.store.postgres.leases import abandon_calls, call_owner, claim_calls, finish_calls
from clew.store.postgres.queries import (
    days,
    exchange,
    exchanges,
    exchanges_since,
    hide_native_turn,
    native_history,
    native_turns,
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
from clew.store.postgres.retention import apply_retention, check_clock
from clew.store.postgres.search import index_turns, search
from clew.store.postgres.settings import pin, rename, set_setting
from clew.store.postgres.turns import touch

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

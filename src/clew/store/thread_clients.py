"""Threads with the programs that asked in them, the newest first."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from clew.store.protocols import Store
from clew.store.values import Thread


class ThreadWithClients(Thread, frozen=True, kw_only=True):
    """A thread, and who asked in it. Several programs may go on with one conversation."""

    clients: tuple[str, ...]


def with_clients(store: Store, principal: str, threads: Sequence[Thread]) -> list[ThreadWithClients]:
    """The same threads in the same order."""
    totals = store.thread_totals(principal, [thread.id for thread in threads])
    clients: dict[str, dict[str, None]] = {}
    for total in reversed(totals):
        if total.client:
            clients.setdefault(total.thread, {})[total.client] = None
    return [ThreadWithClients(**structs.asdict(thread), clients=tuple(clients.get(thread.id, ()))) for thread in threads]

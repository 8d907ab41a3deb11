"""The operator's side: a JSON API, live events, metrics and login, on its own listeners. Loaded after clients are served."""

from __future__ import annotations

import asyncio
from importlib import import_module

from clew.store.prepared_types import prepare_types


async def load_admin() -> None:
    """Import `clew.admin.serving` in a thread: its web framework and its server take a fifth of a second, and clients are
    served by then."""
    await asyncio.to_thread(_import_serving)


def _import_serving() -> None:
    import_module("clew.admin.serving")
    prepare_types()  # pages and answers are made in threads

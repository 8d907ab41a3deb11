"""Loads and starts the admin, without delaying anything else.

The admin brings a web framework and a server of its own, which take a fifth of a second to import. Clients are served by
then, so that is done in a thread; this module itself costs nothing.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from clew.settings.own_keys import KeyTable

if TYPE_CHECKING:
    from clew.admin.routing import AdminRoute
    from clew.admin.services import CurrentSettings
    from clew.admin.serving import Admin
    from clew.engine.hub import Hub
    from clew.engine.runtime import Runtime
    from clew.gateway.workers import WorkerReport
    from clew.settings.home import Home
    from clew.store import Store


async def serve_admin(
    *,
    current: CurrentSettings,
    store: Store | None,
    hub: Hub,
    home: Home,
    port: int,
    name: str = "",
    token: str = "",
    planes: Callable[[], Sequence[WorkerReport]] = tuple,
    runtime: Runtime | None = None,
    pages: Callable[[], Sequence[AdminRoute]] = lambda: (),
    key: str = "",
    keys: KeyTable | None = None,
) -> Admin:
    """Serve from now on. `port` 0 is a free one; `name` is the gateway's, for its socket; `token` is made if none is given;
    `planes` gives the reports of the data planes; without `works` there is no chat; `pages` gives the routes beside the
    API, and may take its time; `key` is the gateway's own, which opens the chat as named keys do; `keys` is the table of
    both, where the caller has one.

    Raises OSError for a port that is taken.
    """
    await asyncio.to_thread(import_module, "clew.admin.serving")
    from clew.admin.access import AdminAccess, BrowserSessions
    from clew.admin.feed import Feed
    from clew.admin.metrics import Metrics
    from clew.admin.services import AdminServices, principals_of
    from clew.admin.serving import LOOPBACK, bind_sockets, start_admin

    rows = await asyncio.to_thread(pages)
    path = home.make().socket(f"admin-{name or os.getpid()}")
    sockets = bind_sockets(port, path)
    url = f"http://{LOOPBACK}:{sockets[0].getsockname()[1]}"
    metrics = Metrics(lambda: current.snapshot.settings.backends)
    services = AdminServices(
        current=current,
        store=store,
        home=home,
        access=AdminAccess(token, keys=keys or KeyTable(key, home.keys), sessions=BrowserSessions(home.sessions, url)),
        feed=Feed(hub, store, lambda: principals_of(home), current, finished=metrics.count),
        metrics=metrics,
        planes=planes,
        runtime=runtime,
        url=url,
    )
    return await start_admin(services, rows, sockets, path)

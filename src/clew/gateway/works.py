"""The works behind the plane, as a plan wants them. Built once clients can already connect."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import IO

from clew.engine import works
from clew.engine.works import Finished, Works
from clew.gateway.plan import Plan
from clew.settings.home import Home
from clew.settings.load import Loaded

__all__ = ["Finished", "Works", "build_works"]


async def build_works(
    plan: Plan,
    loaded: Loaded,
    home: Home,
    *,
    environ: Mapping[str, str] = os.environ,
    log_to: IO[str] | None = None,
    hidden: tuple[str, ...] = (),
    finished: Finished | None = None,
) -> Works:
    """Raises StoreError and SettingsInvalid where something cannot be used. `hidden` are secrets that no log may show;
    `finished` is told of every exchange that is over, after the log."""
    return await works.build_works(
        loaded,
        home,
        name=plan.name,
        file=plan.file,
        choice=plan.choice,
        environ=environ,
        log_to=log_to,
        hidden=hidden,
        finished=finished,
    )

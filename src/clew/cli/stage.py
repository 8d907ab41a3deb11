"""What a gateway is to be started with: the options of `clew serve`, the settings and the environment, looked up once."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clew.gateway.plan import Plan
    from clew.settings.home import Home
    from clew.settings.load import Loaded

__all__ = ["Stage", "staged"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What was asked for, looked up."""

    plan: Plan
    loaded: Loaded
    home: Home
    environ: Mapping[str, str]
    workers: int
    admin: bool
    admin_is_asked_for: bool
    as_json: bool


@asynccontextmanager
async def staged(options: Mapping[str, Any]) -> AsyncGenerator[Stage]:
    """For the demo, with the simulated backends running as long as it is used."""
    if not options["demo"]:
        yield _stage(options, options["config"], os.environ)
        return
    from clew.cli.demo import demo

    async with demo(os.environ) as (file, environ):
        yield _stage(options, file, environ)


def _stage(options: Mapping[str, Any], file: Path | None, environ: Mapping[str, str]) -> Stage:
    from clew.gateway.plan import Plan
    from clew.settings.home import home_of
    from clew.settings.load import load

    loaded = load(file, environ)
    wanted = loaded.settings.gateway
    given = {name: options[name] for name in ("host", "port", "admin_port") if options[name] is not None}
    plan = Plan(
        name=str(os.getpid()),
        host=given.get("host", wanted.host),
        port=given.get("port", wanted.port),
        admin_port=given.get("admin_port", wanted.admin_port),
        port_is_asked_for="port" in given or "gateway.port" in loaded.origins,
        named_file=str(file.absolute()) if file else "",
    )
    return Stage(
        plan=plan,
        loaded=loaded,
        home=home_of(environ),
        environ=environ,
        workers=options["workers"] or wanted.workers,
        admin=not options["no_admin"],
        admin_is_asked_for="admin_port" in given or "gateway.admin_port" in loaded.origins,
        as_json=options["as_json"],
    )

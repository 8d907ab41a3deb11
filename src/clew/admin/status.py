"""The status: what is active, what there is, and how it is going. No secret is part of it."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

from msgspec import Struct

from clew.admin.desk import Desk
from clew.backends.row import Backend
from clew.settings.gateway_key import LOCAL
from clew.settings.processes import RunningGateway, running_gateways
from clew.settings.values import DisabledBackend, RoutingRule
from clew.store.reports import Health, Statistics

__all__ = ["BackendRow", "Status", "status_of"]


class BackendRow(Struct, frozen=True, kw_only=True):
    """A backend without its keys."""

    name: str
    dialect: str
    url: str
    realm: str
    auth: str
    keys: int
    model: str
    models: Mapping[str, str]
    active: bool


class Status(Struct, frozen=True, kw_only=True):
    """What `clew status` shows."""

    version: str
    pid: int
    active: str
    active_from: str
    backends: tuple[BackendRow, ...]
    disabled: tuple[DisabledBackend, ...]
    """Those of the file that lack a variable where this gateway runs: requests for one get a 503."""
    rules: tuple[RoutingRule, ...]
    chosen: tuple[RoutingRule, ...]
    """Those among them that were switched while everything runs."""
    failover: tuple[str, ...]
    policy: str
    open_streams: int
    settings_problem: str
    """Why a newer config was not taken; "" if there is nothing wrong."""
    store: Health | None
    """None: switched off."""
    thinking: Statistics | None
    gateways: tuple[RunningGateway, ...]
    """Those of the same home, each with the settings that its processes have applied."""


def status_of(desk: Desk) -> Status:
    """Reads the store and the registry, so it belongs into a thread."""
    snapshot, redact = desk.current.snapshot, desk.redactor()
    settings = snapshot.settings
    store = desk.store
    return Status(
        version=desk.version,
        pid=os.getpid(),
        active=snapshot.active,
        active_from=snapshot.active_from,
        backends=tuple(_row(each, snapshot.active, redact(each.url)) for each in settings.backends.values()),
        disabled=tuple(settings.disabled.values()),
        rules=settings.rules,
        chosen=snapshot.chosen,
        failover=settings.failover,
        policy=settings.thinking.policy,
        open_streams=desk.open_streams(),
        settings_problem=redact(desk.current.problem),
        store=desk.health(),
        thinking=store.statistics(LOCAL, backend=snapshot.active, now=time.time()) if store else None,
        gateways=tuple(running_gateways(desk.home)),
    )


def _row(backend: Backend, active: str, url: str) -> BackendRow:
    return BackendRow(
        name=backend.name,
        dialect=backend.dialect,
        url=url,
        realm=backend.realm,
        auth=backend.auth,
        keys=len(backend.keys),
        model=backend.model,
        models=backend.models,
        active=backend.name == active,
    )

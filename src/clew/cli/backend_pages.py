"""What `clew backends` shows: the backends, the servers on this machine, the presets, and the results of a trial.

A server on this machine is one that answers on a port where servers for local models usually listen. They are looked for
when a person looks at the backends, never while a request is handled. Only 127.0.0.1 is tried, all ports at once, with a
request that costs nothing (the list of models) and half a second at most. A server that does not answer with such a list is
not taken for one.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from msgspec import Struct

from clew.backends.about import deviations_of, hidden_of, is_unmapped, models_of
from clew.backends.presets import Preset, presets
from clew.backends.row import Auth, Backend
from clew.cli.output import Page, TextLine, plural, printable, printable_table
from clew.errors import BackendError
from clew.settings.load import Loaded

if TYPE_CHECKING:
    from clew.admin.trial import Trial
    from clew.upstream.pool import Pool


_SECONDS: Final = 0.5
_NO_KEY: Final = (401, 403)
_MOST_MODELS: Final = 3
_AUTHS: Final[dict[Auth, str]] = {
    "passthrough": "the client's own",
    "key": "x-api-key",
    "bearer": "Bearer",
    "api-key": "api-key",
    "none": "none",
}


def backends_page(loaded: Loaded) -> Page:
    rows: list[tuple[str, ...]] = []
    notes: list[str] = []
    for row in loaded.settings.backends.values():
        deviations = ", ".join(f"{name}={value}" for name, value in deviations_of(row).items())
        rows.append((row.name, row.dialect, row.realm, row.url, _AUTHS[row.auth], models_of(row), deviations))
        if hidden := hidden_of(row):
            notes.append(f"{row.name}: {hidden}")
        if is_unmapped(row):
            notes.append(f"{row.name}: clients ask for Claude's names, which it does not know: set `model`, or `models`")
    rows += [(name, "disabled", "", "", "", "", "") for name in loaded.settings.disabled]
    where = f"from {loaded.file}" if loaded.file else "found without a config; `clew config init` writes one"
    notes += [f"warning: {warning}" for warning in loaded.warnings]
    return [
        printable_table(("backend", "dialect", "realm", "url", "auth", "models", "deviates"), rows),
        TextLine(printable(f"{plural(len(rows), 'backend')}, {where}"), "quiet"),
        *(TextLine(printable(note)) for note in notes),
    ]


def presets_page(rows: Sequence[Preset]) -> Page:
    cells = [
        (row.name, row.title, each.dialect, each.url or "your own", ", ".join(name.name for name in row.variables))
        for row in rows
        for each in (row, *row.others.values())
    ]
    return [printable_table(("preset", "vendor", "dialect", "url", "variables"), cells)]


def trials_page(found: Sequence[Trial]) -> Page:
    rows: list[tuple[str, ...]] = []
    for trial in found:
        lessons = ("", "", "", "")
        if learned := trial.learned:
            back = f"{learned.passed_back} in {', '.join(learned.back_in)}" if learned.back_in else learned.passed_back
            usage = learned.usage
            reasoning = "reasoning not told" if usage.reasoning is None else f"{usage.reasoning} reasoning"
            tokens = f"{usage.input} in, {usage.output} out, {reasoning}"
            lessons = (", ".join(learned.reasoning) or "nowhere", back, learned.tool_ids, tokens)
        ended = {True: "ok", False: "failed", None: "not asked"}[trial.ok]
        took = f"{trial.seconds:.2f} s" if trial.status else ""
        also = ", ".join(name for name in ("count_tokens", "models") if getattr(trial, name))
        rows.append((trial.backend, trial.model, ended, took, *lessons, also, trial.says))
    columns = ("backend", "model", "", "took", "reasoning in", "passed back", "tool ids", "tokens", "also has", "says")
    return [printable_table(columns, rows)]


# Servers on this machine


class LocalServer(Struct, frozen=True, kw_only=True):
    """A server that answers. Its port suggests which program it is."""

    preset: str
    title: str
    url: str
    models: tuple[str, ...] = ()
    wants_key: bool = False
    backend: str = ""
    """The backend of the config that calls it already."""


def servers_page(servers: Sequence[LocalServer]) -> Page:
    """Each with the line that adds it; those that the config has already are only named."""
    if not servers:
        return []
    rows: list[tuple[str, ...]] = []
    for each in servers:
        more = len(each.models) - _MOST_MODELS
        models = ", ".join([*each.models[:_MOST_MODELS], *([f"{more} more"] if more > 0 else [])]) or "none loaded"
        key = f" --key '${{{each.preset.upper()}_API_KEY}}'" if each.wants_key else ""
        model = f" --model {shlex.quote(each.models[0])}" if each.models else ""
        adds = f"it is the backend {each.backend}" if each.backend else f"clew backends add {each.preset}{key}{model}"
        rows.append((each.title, each.url, "wants a key" if each.wants_key else models, adds))
    table = printable_table(("server", "url", "models", "to add it"), rows)
    return [TextLine(""), TextLine("On this machine:", "head"), table]


def local_presets() -> list[Preset]:
    """The presets of servers for local models."""
    return [row for row in presets().values() if row.port]


async def find_local_servers(backends: Mapping[str, Backend], rows: Iterable[Preset]) -> list[LocalServer]:
    """The servers of these presets that answer, in their order."""
    taken = {_address(backend.url): name for name, backend in backends.items()}
    with closing(_hasty_pool()) as pool:
        found = await asyncio.gather(*(_find_server(pool, row, taken) for row in rows))
    return [server for server in found if server is not None]


async def list_models(backends: Mapping[str, Backend]) -> dict[str, tuple[str, ...]]:
    """The models that each of these backends lists, without a key; none for one that does not answer in time."""
    from clew.admin.trial.capabilities import listed_models

    with closing(_hasty_pool()) as pool:
        found = await asyncio.gather(*(listed_models(pool, backend, ()) for backend in backends.values()))
    return {name: models or () for name, models in zip(backends, found, strict=True)}


def _hasty_pool() -> Pool:
    from clew.model.http import Timeouts  # late: most pages are made without a connection
    from clew.upstream.pool import Pool, PoolSettings

    return Pool(PoolSettings(timeouts=Timeouts(connect=_SECONDS, first_byte=_SECONDS, gap=_SECONDS, total=_SECONDS)))


async def _find_server(pool: Pool, row: Preset, taken: Mapping[tuple[str, int | None], str]) -> LocalServer | None:
    from clew.admin.trial.capabilities import ask_models

    backend = Backend(name=row.name, url=row.url, realm=row.realm, dialect=row.dialect, auth="none")
    try:
        heard = await ask_models(pool, backend, ())
    except BackendError:
        return None
    wants_key = heard.status in _NO_KEY
    if heard.models is None and not wants_key:
        return None
    return LocalServer(
        preset=row.name,
        title=row.title,
        url=row.url,
        models=heard.models or (),
        wants_key=wants_key,
        backend=taken.get(_address(row.url), ""),
    )


def _address(url: str) -> tuple[str, int | None]:
    parts = urlsplit(url)
    return "127.0.0.1" if parts.hostname == "localhost" else parts.hostname or "", parts.port

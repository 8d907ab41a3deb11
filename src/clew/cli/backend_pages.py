"""What `clew backends` shows to people: the backends, what answers nearby, what a trial taught."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from clew.backends.about import deviations_of, hidden_of, models_of
from clew.backends.presets import Preset
from clew.backends.row import Auth, Backend
from clew.cli.pages import Line, Page, Table, printable
from clew.settings.load import Loaded

if TYPE_CHECKING:
    from clew.admin.trial import Learned, Trial
    from clew.cli.nearby import Server

__all__ = ["backends_page", "hidden_of", "nearby_page", "presets_page", "trials_page"]

_AUTHS: Final[dict[Auth, str]] = {
    "passthrough": "the client's own",
    "key": "x-api-key",
    "bearer": "Bearer",
    "api-key": "api-key",
    "none": "none",
}
_MOST_MODELS: Final = 3


def backends_page(loaded: Loaded) -> Page:
    backends = loaded.settings.backends.values()
    rows = [
        (row.name, row.dialect, row.realm, row.url, _AUTHS[row.auth], models_of(row), _deviations(row)) for row in backends
    ]
    rows += [(name, "disabled", "", "", "", "", "") for name in loaded.settings.disabled]
    columns = ("backend", "dialect", "realm", "url", "auth", "models", "deviates")
    where = f"from {loaded.file}" if loaded.file else "found without a config; `clew config init` writes one"
    warnings = [Line(printable(f"warning: {warning}")) for warning in loaded.warnings]
    notes = [Line(printable(f"{row.name}: {note}")) for row in backends for note in _notes(row)]
    count = Line(printable(f"{len(rows)} backend{'s' if len(rows) > 1 else ''}, {where}"), "quiet")
    return [_table(columns, rows), count, *notes, *warnings]


def _notes(row: Backend) -> Iterator[str]:
    if hidden := hidden_of(row):
        yield hidden
    if row.dialect != "anthropic" and not (row.model or row.models):
        yield "clients ask for Claude's names, which it does not know: set `model`, or `models`"


def _deviations(row: Backend) -> str:
    return ", ".join(f"{name}={value}" for name, value in deviations_of(row).items())


def nearby_page(servers: Sequence[Server]) -> Page:
    """Each with the line that adds it; those that the config has already are only named."""
    if not servers:
        return []
    rows = [(each.title, each.url, _some(each), _adding(each)) for each in servers]
    return [Line(""), Line("On this machine:", "head"), _table(("server", "url", "models", "to add it"), rows)]


def _some(server: Server) -> str:
    if server.wants_key:
        return "wants a key"
    more = len(server.models) - _MOST_MODELS
    return ", ".join([*server.models[:_MOST_MODELS], *([f"{more} more"] if more > 0 else [])]) or "none loaded"


def _adding(server: Server) -> str:
    if server.backend:
        return f"it is the backend {server.backend}"
    key = f" --key '${{{server.preset.upper()}_API_KEY}}'" if server.wants_key else ""
    model = f" --model {shlex.quote(server.models[0])}" if server.models else ""
    return f"clew backends add {server.preset}{key}{model}"


def presets_page(rows: Sequence[Preset]) -> Page:
    cells = [
        (row.name, row.title, each.dialect, each.url or "your own", ", ".join(name.name for name in row.variables))
        for row in rows
        for each in (row, *row.others.values())
    ]
    return [_table(("preset", "vendor", "dialect", "url", "variables"), cells)]


def trials_page(found: Sequence[Trial]) -> Page:
    rows = [
        (
            trial.backend,
            trial.model,
            {True: "ok", False: "failed", None: "not asked"}[trial.ok],
            f"{trial.seconds:.2f} s" if trial.status else "",
            *_lessons(trial.learned),
            ", ".join(name for name in ("count_tokens", "models") if getattr(trial, name)),
            trial.says,
        )
        for trial in found
    ]
    columns = ("backend", "model", "", "took", "reasoning in", "passed back", "tool ids", "tokens", "also has", "says")
    return [_table(columns, rows)]


def _lessons(learned: Learned | None) -> tuple[str, str, str, str]:
    if learned is None:
        return "", "", "", ""
    back = f"{learned.passed_back} in {', '.join(learned.back_in)}" if learned.back_in else learned.passed_back
    usage = learned.usage
    reasoning = "reasoning not told" if usage.reasoning is None else f"{usage.reasoning} reasoning"
    tokens = f"{usage.input} in, {usage.output} out, {reasoning}"
    return ", ".join(learned.reasoning) or "nowhere", back, learned.tool_ids, tokens


def _table(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Table:
    return Table(columns, tuple(tuple(map(printable, row)) for row in rows))

"""cc-switch's providers, from its database or from the config.json of older versions: for Claude Code and for Codex."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from clew.errors import SettingsInvalid
from clew.settings.imports.codex import read_provider
from clew.settings.imports.found import FoundBackend, FoundSettings, Tree, endpoint, name_from, text, tree, usual_variable

_FAMILIES: Final = ("opus", "sonnet", "haiku")


class Provider(Struct, frozen=True):
    """A row: settings for one application, as cc-switch writes them into that application's files."""

    app: str
    name: str
    settings: Tree
    is_current: bool = False
    in_failover: bool = False


def providers_in_rows(rows: Sequence[Mapping[str, object]]) -> list[Provider]:
    """Of the table `providers`, in the order in which cc-switch shows them."""
    ordered = sorted(rows, key=lambda row: (str(row.get("app_type")), row.get("sort_index") or 0, str(row.get("name"))))
    return [
        Provider(
            app=str(row.get("app_type")),
            name=str(row.get("name")),
            settings=_json(row.get("settings_config")),
            is_current=bool(row.get("is_current")),
            in_failover=bool(row.get("in_failover_queue")),
        )
        for row in ordered
    ]


def providers_in_json(source: Tree) -> Iterator[Provider]:
    """Of the older config.json: one part for each application, or providers of Claude Code alone."""
    parts = {"claude": source} if "providers" in source else {app: tree(source.get(app)) for app in ("claude", "codex")}
    for app, part in parts.items():
        for id_, each in tree(part.get("providers")).items():
            row = tree(each)
            yield Provider(app, text(row.get("name")) or id_, tree(row.get("settingsConfig")), part.get("current") == id_)


def read_cc_switch(providers: list[Provider]) -> FoundSettings:
    found = FoundSettings()
    queue: list[str] = []
    for each in providers:
        before = len(found.backends)
        if each.app == "claude":
            _read_claude(found, each)
        elif each.app == "codex":
            _read_codex(found, each)
        else:
            found.leave(f"{each.name} of {each.app}", "clew has no such client")
        if len(found.backends) > before:
            name = found.backends[-1].name
            found.active = name if each.is_current and each.app == "claude" else found.active
            queue += [name] if each.in_failover else []
    found.failover = queue if len(queue) > 1 else []
    return found


def _read_claude(found: FoundSettings, each: Provider) -> None:
    variables = tree(each.settings.get("env"))
    address = text(variables.get("ANTHROPIC_BASE_URL"))
    bearer, key = (text(variables.get(f"ANTHROPIC_{name}")) for name in ("AUTH_TOKEN", "API_KEY"))
    if not address and not bearer and not key:
        found.add(FoundBackend(name_from(each.name), {"preset": "anthropic", "auth": "passthrough"}))
        return
    try:
        values = endpoint(address or "https://api.anthropic.com", "anthropic")
    except SettingsInvalid as error:
        found.leave(f"provider {each.name}", str(error))
        return
    if "preset" not in values:
        values["auth"] = "bearer" if bearer else "key"
    values["key"] = found.key_for(each.name, bearer or key, usual_variable(str(values.get("preset", ""))))
    models = {name: text(variables.get(f"ANTHROPIC_DEFAULT_{name.upper()}_MODEL")) for name in _FAMILIES}
    values["model"] = text(variables.get("ANTHROPIC_MODEL"))
    values["models"] = {name: model for name, model in models.items() if model}
    found.add(FoundBackend(name_from(each.name), values))
    if others := sorted(name for name in variables if not name.startswith("ANTHROPIC_")):
        found.leave(
            f"{', '.join(others)} of {each.name}", "a setting of Claude Code: it stays in Claude Code's own settings"
        )


def _read_codex(found: FoundSettings, each: Provider) -> None:
    try:
        source = tomllib.loads(text(each.settings.get("config")))
    except tomllib.TOMLDecodeError as error:
        found.leave(f"{each.name} of codex", f"its config cannot be read: {error}")
        return
    providers = tree(source.get("model_providers"))
    chosen = tree(providers.get(text(source.get("model_provider"))))
    if not chosen:
        found.add(FoundBackend(name_from(each.name), {"preset": "openai", "key": "${OPENAI_API_KEY}"}))
        return
    read_provider(found, each.name, chosen, tree(each.settings.get("auth")).get("OPENAI_API_KEY", ""))


def _json(value: object) -> Tree:
    try:
        return tree(msgspec.json.decode(str(value)))
    except msgspec.DecodeError:
        return {}

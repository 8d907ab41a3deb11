"""Codex' config.toml: a provider is a backend, and a profile is a choice of provider and model."""

from __future__ import annotations

from clew.errors import SettingsInvalid
from clew.settings.imports.found import FoundBackend, FoundSettings, Tree, endpoint, name_from, text, tree, usual_variable

_WIRES = {"responses": "openai-responses", "chat": "openai-chat"}
_OWN = "clew"
_CARRIED = frozenset({"name", "base_url", "env_key", "wire_api"})


def read_codex(source: Tree) -> FoundSettings:
    found = FoundSettings()
    providers = tree(source.get("model_providers"))
    for name, provider in providers.items():
        read_provider(found, name, tree(provider))
    known = {backend.name for backend in found.backends}
    active = text(source.get("model_provider"))
    found.active = name_from(active) if name_from(active) in known else ""
    if (not active or active == "openai") and "openai" not in providers:
        found.add(FoundBackend("openai", {"preset": "openai", "key": "${OPENAI_API_KEY}"}))
        found.leave("a login with ChatGPT", "clew asks OpenAI with an API key, which is paid for apart")
    for name, profile in tree(source.get("profiles")).items():
        backend, model = text(tree(profile).get("model_provider")), text(tree(profile).get("model"))
        options = f"{f' --backend {name_from(backend)}' if backend else ''}{f' --model {model}' if model else ''}"
        found.leave(f"profile {name}", f"`clew run{options} -- codex` is the same")
    return found


def read_provider(found: FoundSettings, name: str, provider: Tree, key: object = "") -> None:
    if name == _OWN:
        found.leave(f"provider {name}", "it is clew itself")
        return
    wire = text(provider.get("wire_api")) or "responses"
    try:
        values = endpoint(text(provider.get("base_url")), _WIRES.get(wire, wire))
    except SettingsInvalid as error:
        found.leave(f"provider {name}", str(error))
        return
    variable = text(provider.get("env_key"))
    given = f"${{{variable}}}" if variable else key
    values["key"] = found.key_for(name, given, usual_variable(str(values.get("preset", ""))))
    found.add(FoundBackend(name_from(name), values))
    if others := sorted(set(provider) - _CARRIED):
        found.leave(f"{', '.join(others)} of provider {name}", "there is nothing like it in clew")

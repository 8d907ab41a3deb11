"""LiteLLM's config.yaml: each deployment of `model_list` belongs to a backend, and its name to that backend's models."""

from __future__ import annotations

from typing import Final

from clew.backends.presets import presets
from clew.errors import SettingsInvalid
from clew.model.json import JsonValue
from clew.settings.imports.found import (
    FoundBackend,
    FoundSettings,
    Tree,
    endpoint,
    is_keyless,
    items,
    text,
    tree,
    usual_variable,
)

_PRESETS: Final = {
    **dict.fromkeys(("anthropic", "azure", "cerebras", "deepseek", "gemini", "groq", "minimax", "mistral", "ollama"), ""),
    **dict.fromkeys(("openai", "openrouter", "xai", "zai"), ""),
    "ollama_chat": "ollama",
    "together_ai": "together",
    "fireworks_ai": "fireworks",
    "hosted_vllm": "vllm",
    "lm_studio": "lmstudio",
    "moonshot": "kimi",
    "dashscope": "qwen",
    "litellm_proxy": "litellm",
}
"""The preset for a provider's prefix; "": of the same name."""
_SETTINGS: Final = {
    "master_key": "clew makes keys of its own: `clew keys add NAME`",
    "database_url": "clew keeps a store of its own: `[store] url`",
    "num_retries": "clew retries by itself: `[retry]`",
    "request_timeout": "clew has timeouts of its own: `[timeouts]`",
    "drop_params": "clew leaves out what a backend does not take, and says so in the log",
    "routing_strategy": "clew asks the active backend, and the others only if it fails",
}
_USED: Final = frozenset(
    {"model", "api_key", "api_base", "api_version", "litellm_credential_name"},
)


def read_litellm(source: Tree) -> FoundSettings:
    found = FoundSettings()
    backends: dict[tuple[str, ...], FoundBackend] = {}
    groups: dict[str, str] = {}
    for each in items(source.get("model_list")):
        _read_deployment(found, backends, groups, tree(each))
    # LiteLLM has a list for each model, clew one list for all.
    lists = [tree(source.get(part)).get("fallbacks") for part in ("litellm_settings", "router_settings")]
    wanted: dict[str, None] = {}
    for each in [item for fallbacks in lists for item in items(fallbacks)]:
        for model, others in tree(each).items():
            for name in (model, *items(others)):
                wanted |= {groups[str(name)]: None} if str(name) in groups else {}
    found.failover = list(wanted) if len(wanted) > 1 else []
    for part in ("litellm_settings", "general_settings", "router_settings", "environment_variables"):
        for name in tree(source.get(part)):
            if name not in {"fallbacks", "context_window_fallbacks", "default_fallbacks"}:
                found.leave(f"{part}.{name}", _SETTINGS.get(name, "there is nothing like it in clew"))
    if len(backends) > 1:
        found.leave(
            "the choice by model name",
            "in clew the active backend answers: `clew use NAME`; a client can also ask for the model anthropic/NAME",
        )
    return found


def _read_deployment(
    found: FoundSettings, backends: dict[tuple[str, ...], FoundBackend], groups: dict[str, str], each: Tree
) -> None:
    asked, parameters = text(each.get("model_name")), tree(each.get("litellm_params"))
    provider, _, model = text(parameters.get("model")).partition("/")
    if not model:
        provider, model = "openai", provider
    address = text(parameters.get("api_base"))
    if provider not in _PRESETS or not model:
        found.leave(f"model {asked or model}", f"clew has no backend for {provider or 'it'}")
        return
    try:
        values = _endpoint(provider, address)
    except SettingsInvalid as error:
        found.leave(f"model {asked}", str(error))
        return
    preset, given = str(values.get("preset", "")), text(parameters.get("api_key"))
    if given or (preset and not is_keyless(preset)):
        values["key"] = found.key_for(asked, given, usual_variable(preset))
    elif not preset:
        values["auth"] = "none"
    identity = (preset, str(values.get("url", "")), str(values.get("key", "")))
    if identity not in backends:
        name = presets()[preset].backend if preset else "openai-compatible"
        backends[identity] = found.add(FoundBackend(name, {**values, "models": {}}))
    backend = backends[identity]
    if asked in groups and groups[asked] != backend.name:
        found.leave(
            f"a second deployment of {asked}", f"clew asks one backend at a time; put {backend.name} into `failover`"
        )
    groups.setdefault(asked, backend.name)
    models = backend.values["models"]
    if isinstance(models, dict) and asked and asked != "*":
        models.setdefault(asked, model)
    if others := sorted(set(parameters) - _USED):
        found.leave(f"{', '.join(others)} of {asked}", "clew sends what the client asks for")


def _endpoint(provider: str, address: str) -> dict[str, JsonValue]:
    preset = _PRESETS[provider] or provider
    if address.startswith("os.environ/"):
        address = f"${{{address.removeprefix('os.environ/')}}}"
        return {"preset": preset, "url": address}
    if not address:
        return {"preset": preset}
    if provider == "openai":  # LiteLLM's word for every server that speaks Chat Completions
        return endpoint(address, "openai-chat")
    return {"preset": preset, "url": address}

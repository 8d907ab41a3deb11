"""claude-code-router's config.json: a provider is a backend; `Router` says which model is asked for what."""

from __future__ import annotations

from typing import Final

from clew.errors import SettingsInvalid
from clew.settings.imports.found import (
    FoundBackend,
    FoundSettings,
    Tree,
    endpoint,
    is_keyless,
    items,
    name_from,
    text,
    tree,
    usual_variable,
)

_ROUTES: Final = {
    "think": "clew does not choose by thinking; each model thinks as it is asked to",
    "longContext": "clew does not choose by length; it skips a backend in `failover` whose window is too small",
    "longContextThreshold": "clew does not choose by length",
    "webSearch": 'the nearest is a rule with request_class = "search"',
    "image": "clew does not choose by images",
}
_OTHERS: Final = {
    "APIKEY": "clew makes a key of its own: `clew serve` shows where it is",
    "HOST": "`[gateway] host`",
    "PORT": "`[gateway] port`; clients find the gateway by `clew run` or `clew env`",
    "PROXY_URL": "set HTTPS_PROXY, and `proxy = true`",
    "API_TIMEOUT_MS": "`[timeouts]`",
    "NON_INTERACTIVE_MODE": "clew needs nothing for this",
    "LOG": "`[log]`",
    "LOG_LEVEL": "`[log]`",
    "CUSTOM_ROUTER_PATH": "clew runs no code of others; `[[rules]]` is what there is",
    "transformers": "clew runs no code of others; presets know what each vendor wants",
}


def read_claude_code_router(source: Tree) -> FoundSettings:
    found = FoundSettings()
    router = tree(source.get("Router"))
    default = text(router.get("default")).partition(",")
    for each in map(tree, items(source.get("Providers") or source.get("providers"))):
        _read_provider(found, each, default[2] if default[0] == text(each.get("name")) else "")
    known = {backend.name for backend in found.backends}
    found.active = name_from(default[0]) if name_from(default[0]) in known else ""
    background, _, model = text(router.get("background")).partition(",")
    if background and name_from(background) in known:
        found.rules.append({"family": "haiku", "backend": name_from(background), "model": model})
    for name, value in router.items():
        if value and name not in {"default", "background"}:
            found.leave(f"Router.{name}", _ROUTES.get(name, "there is nothing like it in clew"))
    for name in source:
        if name not in {"Providers", "providers", "Router"}:
            found.leave(name, _OTHERS.get(name, "there is nothing like it in clew"))
    return found


def _read_provider(found: FoundSettings, each: Tree, default: str) -> None:
    title = text(each.get("name"))
    try:
        values = endpoint(text(each.get("api_base_url")), "openai-chat")
    except SettingsInvalid as error:
        found.leave(f"provider {title}", str(error))
        return
    preset = str(values.get("preset", ""))
    local = "127.0.0.1" in str(values.get("url")) or "localhost" in str(values.get("url"))
    if local or is_keyless(preset):
        values["auth"] = "none"
    else:
        values["key"] = found.key_for(title, each.get("api_key"), usual_variable(preset))
    models = [text(model) for model in items(each.get("models"))]
    model = default or (models[0] if models else "")
    found.add(FoundBackend(name_from(title), {**values, "model": model}))
    if others := [name for name in models if name != model]:
        found.leave(
            f"models {', '.join(others)} of {title}", f"{model} is asked for; `models` of the backend can name others"
        )
    if each.get("transformer"):
        found.leave(
            f"transformer of {title}", "the preset knows what the vendor wants; `clew backends test` shows if it holds"
        )

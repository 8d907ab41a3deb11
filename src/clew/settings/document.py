"""What `clew.toml` may say, as types, and the backends that need no config. Every key is optional.

Most tables are the settings themselves (`values`). A backend's table is what a person writes about it: a preset or a URL,
and where its key is. The loader makes a row of it (`clew.backends.row.Backend`), in which the preset is filled in, the keys
are looked up and everything is checked. The order and the texts here are those of the reference.

Backends that need no config are found by the vendors' usual environment variables, and Claude in any case.
`ANTHROPIC_BASE_URL` says whose the Anthropic variables are: many people point it at another vendor, and that vendor's key
must not go to Anthropic. If it names this machine it may well be this gateway, which must not call itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from msgspec import Struct

from clew.backends.address import is_local, url_fault
from clew.backends.credential import Auth
from clew.backends.presets import preset_of_host, presets
from clew.backends.row import BackendTimeouts, Dialect, Manner, Quirks
from clew.dialects.openai_chat.options import ChatAnswerOptions, ChatRequestOptions
from clew.dialects.openai_responses.options import ResponsesOptions
from clew.settings.login import LoginSettings
from clew.settings.values import (
    BuildSettings,
    ChatSettings,
    Count,
    GatewaySettings,
    LogSettings,
    Retry,
    RoutingRule,
    RunSettings,
    Seconds,
    StoreSettings,
    ThinkingSettings,
    Timeouts,
)

BASE_URL: Final = "ANTHROPIC_BASE_URL"
_ANTHROPIC: Final = "anthropic"


class BackendTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A backend: an endpoint that clew can call. `preset` or `url` is needed."""

    preset: str = ""
    """The name of a known endpoint (`clew backends presets`). Every other key here overrides a value of it."""
    dialect: Dialect | Literal[""] = ""
    """The API of the endpoint. Default: the preset's, or `anthropic` without a preset. Some vendors have several
    endpoints."""
    url: str = ""
    """The base URL. clew appends `/v1/messages`, or for OpenAI's dialects `/chat/completions` or `/responses`."""
    path: str = ""
    """The path to append instead, in OpenAI's dialects. It may have a query."""
    realm: str = ""
    """Backends with the same realm can read each other's signatures. Default: `anthropic` for Anthropic's own hosts, else
    the name of the backend."""
    auth: Auth | None = None
    """How requests are authenticated: `key` (x-api-key), `bearer` (Authorization), `api-key` (Azure's header), `passthrough`
    (the client's own credential), `none`."""
    key: str = ""
    """The vendor's key: `${VARIABLE}`, `file:/path`, `keyring:service/name`, or the key itself."""
    keys: tuple[str, ...] = ()
    """Several keys. The next one is tried when one is refused or has reached its limit."""
    account: str = ""
    """A name for the account of the keys, if all are of one account. Default: a fingerprint of the key in use."""
    model: str = ""
    """The model for every name that `models` does not map."""
    models: Mapping[str, str] = {}
    """Names that clients ask for, and the backend's model for each. A family (opus, sonnet, haiku, fable, mythos) stands for
    all its names."""
    quirks: Quirks = Quirks()
    """How it differs from Anthropic's API."""
    wire: ChatRequestOptions = ChatRequestOptions()
    """In dialect `openai-chat`: how its requests differ from its preset."""
    speech: ChatAnswerOptions = ChatAnswerOptions()
    """In dialect `openai-chat`: how its answers differ from its preset."""
    responses: ResponsesOptions = ResponsesOptions()
    """In dialect `openai-responses`: how its requests and answers differ from its preset."""
    by_model: Mapping[str, Manner] = {}
    """These tables for some of its models, by a pattern of their names (`"deepseek/*"`). The first pattern that matches is
    used."""
    timeouts: BackendTimeouts = BackendTimeouts()
    """Timeouts of this backend, in seconds, where they differ from `[timeouts]`."""
    allow_private: bool = False
    """Allow link-local, shared and metadata addresses."""
    max_parallel: Count = 0
    """The most requests at the same time from each process of a gateway. Others wait up to a minute; the callers take turns.
    0: no limit."""


class Document(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings file."""

    active: str = ""
    """The backend for all requests that no rule and no pin sends elsewhere. `clew use` overrides it."""
    failover: tuple[str, ...] = ()
    """Backends to try, in this order, if the chosen one cannot answer."""
    proxy: bool = False
    """Use the proxies in HTTPS_PROXY and HTTP_PROXY. By default they are ignored."""
    ca_file: str = ""
    """A file with certificate authorities to trust, in addition to the system's. A change applies from the next connection
    on."""
    first_content_seconds: Seconds = 300
    """The longest time until a backend sends the first content of a streamed answer, or the whole of any other answer."""
    backends: Mapping[str, BackendTable] = {}
    """The backends by name. Without any, clew uses those whose keys are in the environment, and always `claude`."""
    rules: tuple[RoutingRule, ...] = ()
    """Send some requests to certain backends, whatever is active. The first rule that matches is used."""
    thinking: ThinkingSettings = ThinkingSettings()
    store: StoreSettings = StoreSettings()
    gateway: GatewaySettings = GatewaySettings()
    retry: Retry = Retry()
    timeouts: Timeouts = Timeouts()
    log: LogSettings = LogSettings()
    models: Mapping[str, Mapping[str, object]] = {}
    """Facts about models. A table changes the facts of a known model, or adds a model (`as` names a known model for all
    other facts)."""
    build: BuildSettings = BuildSettings()
    chat: ChatSettings = ChatSettings()
    login: LoginSettings = LoginSettings()
    run: RunSettings = RunSettings()


class DiscoveredBackends(NamedTuple):
    """Tables as a person could have written them, where each came from, and warnings."""

    tables: dict[str, BackendTable]
    origins: dict[str, str]
    warnings: tuple[str, ...]


def discover_backends(environ: Mapping[str, str]) -> DiscoveredBackends:
    """The backends for which the environment has all that they need."""
    tables: dict[str, BackendTable] = {}
    origins: dict[str, str] = {}
    url, warnings = _base_url(environ)
    for preset in presets().values():
        variable = next((each for each in preset.variables if environ.get(each.name, "").strip()), None)
        if variable is None or not preset.url:  # a preset without a URL needs more than a key
            continue
        key = f"${{{variable.name}}}"
        if preset.name == _ANTHROPIC and warnings:
            continue
        if preset.name == _ANTHROPIC and url:  # the variables are another vendor's
            other = preset_of_host(url)
            name = other.backend if other else "default"
            table = BackendTable(preset=other.name if other else "", url=url, auth=variable.auth or "key", key=key)
        else:
            name = preset.backend
            table = BackendTable(preset=preset.name, auth=variable.auth or preset.auth, key=key)
        if name not in tables:
            tables[name] = table
            origins[name] = f"environment: {variable.name}"
    if "claude" not in tables:
        tables["claude"] = BackendTable(preset=_ANTHROPIC, auth="passthrough")
        origins["claude"] = "default"
    return DiscoveredBackends(dict(sorted(tables.items(), key=lambda item: item[0] != "claude")), origins, warnings)


def _base_url(environ: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """Another vendor's URL that the Anthropic variables are for; or why they are not used."""
    url = environ.get(BASE_URL, "").strip().rstrip("/")
    if not url:
        return "", ()
    if fault := url_fault(url):
        return "", (f"{BASE_URL} is not used, nor the key beside it: {fault}",)
    if is_local(url):
        return "", (f"{BASE_URL} names this machine and may be this gateway: neither it nor the key beside it is used",)
    preset = preset_of_host(url)
    return ("" if preset and preset.name == _ANTHROPIC else url), ()

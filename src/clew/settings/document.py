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
    """An endpoint that can be called. `preset` or `url` is needed."""

    preset: str = ""
    """A row of the table of known endpoints; every other key here overrides it."""
    dialect: Dialect | Literal[""] = ""
    """The wire protocol; the preset's if left out, `anthropic` without one. Some vendors have an endpoint in each."""
    url: str = ""
    """The vendor's documented base; `/v1/messages`, or in OpenAI's dialects `/chat/completions` or `/responses`, is
    appended."""
    path: str = ""
    """What is appended instead, in OpenAI's dialects; it may have a query."""
    realm: str = ""
    """Who can read its signatures; first-party Claude hosts: `anthropic`; else the backend's own name."""
    auth: Auth | None = None
    """Who asks: `key` (x-api-key), `bearer` (Authorization), `api-key` (Azure's header), `passthrough` (the client with
    its own credential), `none`."""
    key: str = ""
    """`${VARIABLE}`, `file:/path`, `keyring:service/name`, or the key itself."""
    keys: tuple[str, ...] = ()
    """Several, tried in order when one is refused or has had enough."""
    account: str = ""
    """A name for the account behind the keys, if they are of one; a fingerprint of the key in use otherwise."""
    model: str = ""
    """For every name that `models` does not map."""
    models: Mapping[str, str] = {}
    """The backend's own name by the name that a client asks for, or by its family: opus, sonnet, haiku, fable, mythos."""
    quirks: Quirks = Quirks()
    """Where it deviates from Anthropic's API."""
    wire: ChatRequestOptions = ChatRequestOptions()
    """What it wants to be sent, in dialect `openai-chat`, where it deviates from its preset."""
    speech: ChatAnswerOptions = ChatAnswerOptions()
    """How it answers, in dialect `openai-chat`, where it deviates from its preset."""
    responses: ResponsesOptions = ResponsesOptions()
    """What it wants to be sent and how it answers, in dialect `openai-responses`, where it deviates from its preset."""
    by_model: Mapping[str, Manner] = {}
    """These tables for some of its models, by a pattern of their names (`"deepseek/*"`); the first that fits is
    taken."""
    timeouts: BackendTimeouts = BackendTimeouts()
    """Seconds for the phases of a call, where they differ from the general ones."""
    allow_private: bool = False
    """Allow a link-local, shared or metadata address."""
    max_parallel: Count = 0
    """Requests that it gets at the same time from each process of a gateway. Others wait, callers taking turns, for a
    minute at most. 0: any number."""


class Document(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings file as it is written."""

    active: str = ""
    """The backend that takes what no rule and no pin sends elsewhere; `clew use` overrides it."""
    failover: tuple[str, ...] = ()
    """Backends to try, in order, when the one that was chosen cannot answer."""
    proxy: bool = False
    """Go through HTTPS_PROXY and HTTP_PROXY; they are ignored otherwise."""
    ca_file: str = ""
    """Certificate authorities to trust beside the system's. Another file of that name holds from the next connection on."""
    first_content_seconds: Seconds = 300
    """How long a backend may take until the first content of an answer; all of one that is not streamed."""
    backends: Mapping[str, BackendTable] = {}
    """By name. Without any, those whose keys are found in the environment, and `claude` in any case."""
    rules: tuple[RoutingRule, ...] = ()
    """Where some requests go, whatever is active; the first that fits decides."""
    thinking: ThinkingSettings = ThinkingSettings()
    store: StoreSettings = StoreSettings()
    gateway: GatewaySettings = GatewaySettings()
    retry: Retry = Retry()
    timeouts: Timeouts = Timeouts()
    log: LogSettings = LogSettings()
    models: Mapping[str, Mapping[str, object]] = {}
    """Facts about models: a table changes the row of its name, or adds one (`as` names what the rest is like)."""
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

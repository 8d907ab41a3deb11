"""What `clew.toml` may say, as types. Every key is optional.

The tables that need no work are the settings themselves. A backend's table is what a person writes about it: a preset or a
URL, and where its key is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from clew.backends.credential import Auth
from clew.backends.manner import Dialect, Manner, Quirks
from clew.backends.row import Patience
from clew.dialects.openai_chat.options import ChatAnswerOptions, ChatRequestOptions
from clew.settings.values import (
    BuildSettings,
    ChatSettings,
    GatewaySettings,
    LogSettings,
    Retry,
    Rule,
    Seconds,
    StoreSettings,
    ThinkingSettings,
    Timeouts,
)

__all__ = ["BackendTable", "Document"]


class BackendTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An endpoint that can be called. `preset` or `url` is needed."""

    preset: str = ""
    """A row of the table of known endpoints; every other key here outranks it."""
    dialect: Dialect | Literal[""] = ""
    """The wire protocol; the preset's if left out, `anthropic` without one. Some vendors have an endpoint in each."""
    url: str = ""
    """The vendor's documented base; `/v1/messages` or, in dialect `openai-chat`, `/chat/completions` is appended."""
    path: str = ""
    """What is appended instead, in dialect `openai-chat`; it may have a query."""
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
    by_model: Mapping[str, Manner] = {}
    """These three tables for some of its models, by a pattern of their names (`"deepseek/*"`); the first that fits is
    taken."""
    timeouts: Patience = Patience()
    """Seconds for the phases of a call, where they differ from the general ones."""
    allow_private: bool = False
    """Allow a link-local, shared or metadata address."""


class Document(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file."""

    active: str = ""
    """The backend that takes what no rule and no pin sends elsewhere; `clew use` outranks it."""
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
    rules: tuple[Rule, ...] = ()
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

"""Backends as rows: an endpoint that can be called, with the facts about it.

A row is a value. Where it deviates from its dialect, its manner says so (`manner`), so that no code ever asks for a
backend's name. Everything about thinking that depends on the *model* is in its profile; `target_of` puts the two together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeAlias

from msgspec import Meta, Struct, structs

from clew.backends import credential as _credential
from clew.backends.credential import Auth, Credential, Secret, credential_account
from clew.backends.manner import Manner, Quirks, fitting
from clew.backends.names import family_of, model_in
from clew.dialects.openai_chat.options import ChatAnswerOptions, ChatRequestOptions
from clew.model.facts import ModelFacts
from clew.model.facts.models import profile_for
from clew.model.origin import ANTHROPIC, Foreign, Target

__all__ = [
    "Auth",
    "Backend",
    "BackendTimeouts",
    "Credential",
    "Manner",
    "Quirks",
    "Secret",
    "account_of",
    "auth_headers",
    "family_of",
    "manner_of",
    "model_for",
    "target_of",
]

Seconds: TypeAlias = Annotated[float, Meta(gt=0)]


class BackendTimeouts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Seconds for the phases of a call to this backend, where they differ from those of `[timeouts]`."""

    connect: Seconds | None = None
    tls: Seconds | None = None
    send: Seconds | None = None
    first_byte: Seconds | None = None
    gap: Seconds | None = None
    total: Seconds | None = None

    def given(self) -> dict[str, float]:
        """Those that are set, by name."""
        return {name: value for name, value in structs.asdict(self).items() if value is not None}


class Backend(Struct, frozen=True, kw_only=True):
    """An endpoint that can be called: dialect, address, auth, quirks, realm."""

    name: str
    dialect: str = "anthropic"
    url: str
    """The vendor's documented base, without a slash at its end; `/v1/messages` or `/chat/completions` is appended."""
    path: str = ""
    """What is appended instead, in dialect `openai-chat`."""
    realm: str
    """Who can read its signatures."""
    auth: Auth = "passthrough"
    keys: tuple[Secret, ...] = ()
    keys_from: tuple[str, ...] = ()
    """Where each of them was found, in words: a variable, a file, a line of the settings. Never the key."""
    account: str = ""
    """As configured; `account_of` says which one a call belongs to."""
    model: str = ""
    """For every name that `models` does not map; "" leaves it as it was asked for."""
    models: Mapping[str, str] = {}
    """The backend's own name by the name that is asked for, or by its family."""
    quirks: Quirks = Quirks()
    wire: ChatRequestOptions = ChatRequestOptions()
    """What it wants to be sent, in dialect `openai-chat`."""
    speech: ChatAnswerOptions = ChatAnswerOptions()
    """How it answers, in dialect `openai-chat`."""
    by_model: Mapping[str, Manner] = {}
    """All three of these for some of its models, by a pattern of their names; the first that fits counts."""
    timeouts: BackendTimeouts = BackendTimeouts()
    preset: str = ""
    allow_private: bool = False


def auth_headers(backend: Backend, key: Secret | None, credential: Credential) -> tuple[tuple[bytes, bytes], ...]:
    """The headers that tell this backend who asks (S1-48)."""
    return _credential.auth_headers(backend.auth, key, credential)


def account_of(backend: Backend, key: Secret | None, credential: Credential = ()) -> str:
    """Whose account a call is made with: as configured, else a fingerprint of what is shown to the backend."""
    if backend.account:
        return backend.account
    if backend.auth == "passthrough":
        return credential_account(credential)
    return key.fingerprint if key else ""


def model_for(backend: Backend, asked: str) -> str:
    """The backend's own name for the model that a client asks for (S1-49)."""
    return model_in(backend.models, backend.model, asked)


def manner_of(backend: Backend, model: str) -> Manner:
    """How it deviates when it uses this model of its own."""
    whole = Manner(quirks=backend.quirks, wire=backend.wire, speech=backend.speech)
    return fitting(backend.by_model, model) or whole


def target_of(
    backend: Backend,
    asked: str,
    *,
    overrides: Mapping[str, ModelFacts] | None = None,
    foreign: Foreign = "drop",
    account: str = "",
) -> Target:
    """This backend with the model that it will use for `asked`, as the reader of a request.

    `overrides` is `Settings.models`, `foreign` the general setting, `account` what `account_of` says.
    """
    model = model_for(backend, asked)
    quirks = manner_of(backend, model).quirks
    per_account = backend.quirks.realm_per_account and backend.realm != ANTHROPIC
    return Target(
        backend=backend.name,
        model=model,
        profile=_limited(profile_for(model, overrides), quirks),
        realm=f"{backend.realm}/{account}" if per_account else backend.realm,
        account=account,
        dialect=backend.dialect,
        foreign=quirks.foreign or foreign,
        missing=quirks.missing,
        signed=quirks.signed,
        adaptive_budget=quirks.adaptive_budget,
    )


def _limited(profile: ModelFacts, quirks: Quirks) -> ModelFacts:
    """The profile without what the endpoint does not take: then no model behind it takes it."""
    modes = profile.thinking if quirks.adaptive else tuple(mode for mode in profile.thinking if mode != "adaptive")
    system = profile.system_messages and quirks.system_messages
    effort, default = (profile.effort, profile.effort_default) if quirks.effort else ((), "")
    if (modes, system, effort) == (profile.thinking, profile.system_messages, profile.effort):
        return profile
    return structs.replace(profile, thinking=modes, system_messages=system, effort=effort, effort_default=default)

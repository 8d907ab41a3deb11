"""Backends as rows: an endpoint that we can call, with what is known of it.

A row is a value. Where it deviates from Anthropic's own API, a quirk says so: one field each, with a default, so that no
code ever asks for a backend's name. Everything about thinking that depends on the *model* is in its profile; `target_of`
puts the two together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct, structs

from clew.backends import credential as _credential
from clew.backends.credential import Auth, Credential, Secret, credential_account
from clew.backends.names import family_of, model_in
from clew.model.facts import ModelFacts
from clew.model.origin import ANTHROPIC
from clew.model.target import Foreign, Missing, Target
from clew.thinking.profiles import profile_for

__all__ = [
    "Auth",
    "Backend",
    "Credential",
    "HandedOver",
    "Patience",
    "Quirks",
    "Secret",
    "account_of",
    "auth_headers",
    "family_of",
    "model_for",
    "target_of",
]

HandedOver: TypeAlias = Literal["drop", "text"]
"""What becomes of other makers' reasoning, of all that a target may be told, in this dialect."""
Seconds: TypeAlias = Annotated[float, Meta(gt=0)]
Count: TypeAlias = Annotated[int, Meta(ge=0)]


class Quirks(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a backend deviates from Anthropic's API. The defaults are those of a backend that nobody knows."""

    unique_tool_ids: bool = False
    """Its tool ids never repeat, so they may reach a client as they are."""
    missing: Missing = "nothing"
    """What it wants in place of thinking that is not there: nothing, an empty text, a space, or thinking off."""
    foreign: HandedOver | None = None
    """What becomes of other makers' reasoning; as `thinking.foreign` if left out."""
    adaptive: bool = True
    """It takes adaptive thinking; if not, that becomes a budget."""
    adaptive_budget: Count = 0
    """That budget in tokens; 0: by the effort level that is asked for."""
    signed: bool = True
    """It wants its signatures back; if not, seals need not carry them."""
    system_messages: bool = True
    """It takes messages of role system inside the conversation."""
    effort: bool = True
    """It takes `output_config.effort`."""
    betas: bool = True
    """It takes the header `anthropic-beta`; if not, that is left out."""
    realm_per_account: bool = False
    """Only the account that made a block can read it."""


class Patience(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Seconds for the phases of a call to this backend, where they differ from everybody's."""

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
    """An endpoint that we can call: dialect, address, auth, quirks, realm."""

    name: str
    dialect: str = "anthropic"
    url: str
    """The vendor's documented base, without a slash at its end: `/v1/messages` is appended."""
    realm: str
    """Who can read its signatures."""
    auth: Auth = "passthrough"
    keys: tuple[Secret, ...] = ()
    account: str = ""
    """As configured; `account_of` says which one a call belongs to."""
    model: str = ""
    """For every name that `models` does not map; "" leaves it as it was asked for."""
    models: Mapping[str, str] = {}
    """The backend's own name by the name that is asked for, or by its family."""
    quirks: Quirks = Quirks()
    timeouts: Patience = Patience()
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
    return Target(
        backend=backend.name,
        model=model,
        profile=_fitted(profile_for(model, overrides), backend.quirks),
        realm=_realm(backend, account),
        account=account,
        dialect=backend.dialect,
        foreign=backend.quirks.foreign or foreign,
        missing=backend.quirks.missing,
        adaptive_budget=backend.quirks.adaptive_budget,
    )


def _realm(backend: Backend, account: str) -> str:
    per_account = backend.quirks.realm_per_account and backend.realm != ANTHROPIC
    return f"{backend.realm}/{account}" if per_account else backend.realm


def _fitted(profile: ModelFacts, quirks: Quirks) -> ModelFacts:
    """What the endpoint does not take, no model behind it takes."""
    modes = profile.thinking if quirks.adaptive else tuple(mode for mode in profile.thinking if mode != "adaptive")
    system = profile.system_messages and quirks.system_messages
    effort, default = (profile.effort, profile.effort_default) if quirks.effort else ((), "")
    if (modes, system, effort) == (profile.thinking, profile.system_messages, profile.effort):
        return profile
    return structs.replace(profile, thinking=modes, system_messages=system, effort=effort, effort_default=default)

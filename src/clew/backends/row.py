"""Backends as rows: an endpoint that can be called, with the facts about it.

A row is a value. Where a backend, or one of its models, deviates from what its dialect says, its `Manner` says so: no code
ever asks for a backend's name. Quirks hold in every dialect: they say what of a projected request it can take. `wire` and
`speech` are of `openai-chat` and `responses` of `openai-responses`, where every backend has its own words: what it wants to
be asked, and how it answers. Everything about thinking that depends on the *model* is in its profile; `target_of` puts the
two together.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Meta, Struct, structs

from clew.backends.credential import Auth, Credential, Secret, as_anthropic_takes_it, credential_account
from clew.backends.names import model_in
from clew.dialects.openai_chat.options import ChatAnswerOptions, ChatOptions, ChatRequestOptions, options_of
from clew.dialects.openai_responses.options import ResponsesOptions
from clew.dialects.shape import BackendFacts
from clew.model.facts import ModelFacts
from clew.model.facts.chat_backends import BY_MODEL, text_call_family
from clew.model.facts.models import profile_for
from clew.model.origin import ANTHROPIC, Foreign, Missing, Target

Dialect: TypeAlias = Literal["anthropic", "openai-chat", "openai-responses"]

DIALECTS: tuple[Dialect, ...] = ("anthropic", "openai-chat", "openai-responses")
"""The wire protocols of backends."""

Count: TypeAlias = Annotated[int, Meta(ge=0)]
Seconds: TypeAlias = Annotated[float, Meta(gt=0)]

_KEY_HEADERS: Final = {"key": (b"x-api-key", b""), "bearer": (b"authorization", b"Bearer "), "api-key": (b"api-key", b"")}
"""The header that shows a key, and what stands in front of the key there."""


class Quirks(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a backend differs from Anthropic's API. The defaults fit an unknown backend."""

    unique_tool_ids: bool = False
    """Whether it never uses a tool id twice, so clients can get its ids unchanged."""
    missing: Missing = "nothing"
    """What to send where reasoning is missing: nothing, an empty text, a space, or the request with thinking off."""
    foreign: Foreign | None = None
    """What to do with reasoning of other backends. Default: `thinking.foreign`."""
    adaptive: bool = True
    """Whether it accepts adaptive thinking. If not, a budget is sent instead."""
    adaptive_budget: Count = 0
    """That budget, in tokens. 0: by the effort level that the client asks for."""
    signed: bool = True
    """Whether it needs its signatures back. If not, seals do not carry them."""
    system_messages: bool = True
    """Whether it accepts messages with the role system inside the conversation."""
    effort: bool = True
    """Whether it accepts `output_config.effort`."""
    betas: bool = True
    """Whether it accepts the header `anthropic-beta`. If not, the header is left out."""
    overlaps: bool = False
    """Whether it leaves blocks open until its answer ends. clew sends them one after the other."""
    realm_per_account: bool = False
    """Whether only the account that made a block can read it."""


class Manner(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a backend, or some of its models, differs from the default."""

    quirks: Quirks = Quirks()
    """How it differs from Anthropic's API."""
    wire: ChatRequestOptions = ChatRequestOptions()
    """How its requests differ, in dialect `openai-chat`."""
    speech: ChatAnswerOptions = ChatAnswerOptions()
    """How its answers differ, in dialect `openai-chat`."""
    responses: ResponsesOptions = ResponsesOptions()
    """How its requests and answers differ, in dialect `openai-responses`."""


class BackendTimeouts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Timeouts of this backend, in seconds, where they differ from those in `[timeouts]`."""

    connect: Seconds | None = None
    """Looking up the name and opening a connection."""
    tls: Seconds | None = None
    """The TLS handshake."""
    send: Seconds | None = None
    """Sending the request, without the backend taking a single byte."""
    first_byte: Seconds | None = None
    """From the last byte of the request to the end of the answer's head."""
    gap: Seconds | None = None
    """Between two pieces of the answer."""
    total: Seconds | None = None
    """The whole call."""

    def given(self) -> dict[str, float]:
        """Those that are set, by name."""
        return {name: value for name, value in structs.asdict(self).items() if value is not None}


class Backend(Struct, frozen=True, kw_only=True):
    """An endpoint that can be called: dialect, address, auth, quirks, realm."""

    name: str
    dialect: str = "anthropic"
    url: str
    """The vendor's documented base, without a slash at its end; `/v1/messages`, `/chat/completions` or `/responses` is
    appended."""
    path: str = ""
    """What is appended instead, in OpenAI's dialects."""
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
    own_models: tuple[str, ...] = ()
    """Patterns of names that are its own: a client that asks for one gets it."""
    quirks: Quirks = Quirks()
    wire: ChatRequestOptions = ChatRequestOptions()
    """What it wants to be sent, in dialect `openai-chat`."""
    speech: ChatAnswerOptions = ChatAnswerOptions()
    """How it answers, in dialect `openai-chat`."""
    responses: ResponsesOptions = ResponsesOptions()
    """What it wants to be sent, and how it answers, in dialect `openai-responses`."""
    by_model: Mapping[str, Manner] = {}
    """All of these for some of its models, by a pattern of their names; the first that fits counts."""
    timeouts: BackendTimeouts = BackendTimeouts()
    preset: str = ""
    allow_private: bool = False
    max_parallel: int = 0
    """So many requests at the same time; others wait. 0: any number."""


def auth_headers(backend: Backend, key: Secret | None, credential: Credential) -> tuple[tuple[bytes, bytes], ...]:
    """The headers that tell this backend who asks. With a configured key, the client's own credential is not sent."""
    if backend.auth == "passthrough":
        shown = as_anthropic_takes_it(credential) if backend.realm == ANTHROPIC else credential
        return tuple((name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in shown)
    if backend.auth == "none" or key is None:
        return ()
    header, before = _KEY_HEADERS[backend.auth]
    return ((header, before + key.reveal().encode("latin-1")),)


def account_of(backend: Backend, key: Secret | None, credential: Credential = ()) -> str:
    """Whose account a call is made with: as configured, else a fingerprint of what is shown to the backend."""
    if backend.account:
        return backend.account
    if backend.auth == "passthrough":
        return credential_account(credential)
    return key.fingerprint if key else ""


def model_for(backend: Backend, asked: str) -> str:
    """The backend's own name for the model that a client asks for."""
    name = asked.lower()
    if asked not in backend.models and any(fnmatchcase(name, pattern) for pattern in backend.own_models):
        return asked
    return model_in(backend.models, backend.model, asked)


def manner_of(backend: Backend, model: str) -> Manner:
    """How it deviates when it uses this model of its own, however that is spelt: hosts differ in capitals."""
    name = model.lower()
    for pattern, manner in backend.by_model.items():
        if fnmatchcase(name, pattern):
            return manner
    return Manner(quirks=backend.quirks, wire=backend.wire, speech=backend.speech, responses=backend.responses)


def facts_of(backend: Backend, model: str) -> BackendFacts:
    """For the backend's own name of the model. What it wants in place of missing reasoning is a quirk, and only there. In
    which forms it may write calls as text is found by that name, unless the row says it."""
    manner, quirks = manner_of(backend, model), backend.quirks
    missing, wire, speech, responses = manner.quirks.missing, manner.wire, manner.speech, manner.responses
    if speech.text_calls == BY_MODEL and (family := text_call_family(model)):
        speech = structs.replace(speech, text_calls=family)
    return BackendFacts(
        is_first_party=backend.realm == ANTHROPIC,
        betas=quirks.betas,
        overlaps=quirks.overlaps,
        tables={
            "wire": wire if wire.missing == missing else structs.replace(wire, missing=missing),
            "speech": speech,
            "responses": structs.replace(responses, missing=missing) if responses.missing != missing else responses,
        },
    )


def chat_options_of(backend: Backend, model: str) -> ChatOptions:
    """The options of a backend that speaks `openai-chat`."""
    return options_of(facts_of(backend, model))


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
    # The profile without what the endpoint does not take: then no model behind it takes it
    profile = profile_for(model, overrides)
    modes = profile.thinking if quirks.adaptive else tuple(mode for mode in profile.thinking if mode != "adaptive")
    system = profile.system_messages and quirks.system_messages
    effort, default = (profile.effort, profile.effort_default) if quirks.effort else ((), "")
    if (modes, system, effort) != (profile.thinking, profile.system_messages, profile.effort):
        profile = structs.replace(profile, thinking=modes, system_messages=system, effort=effort, effort_default=default)
    return Target(
        backend=backend.name,
        model=model,
        profile=profile,
        realm=f"{backend.realm}/{account}" if per_account else backend.realm,
        account=account,
        dialect=backend.dialect,
        foreign=quirks.foreign or foreign,
        missing=quirks.missing,
        signed=quirks.signed,
        adaptive_budget=quirks.adaptive_budget,
    )

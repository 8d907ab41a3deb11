"""How a failure is told to the client: with the vendor's own words where there are any, in the shape that clients read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import ceil
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct, structs

from clew.backends.credential import Credential, Secret
from clew.dialects.anthropic.answers import write_error
from clew.dialects.failures.bodies import error_of
from clew.dialects.shape import Dialect
from clew.errors import (
    BackendError,
    BackendOverloaded,
    BackendRejected,
    ClewError,
    CredentialsExhausted,
    RequestInvalid,
    Unrepresentable,
    UsageLimitReached,
)
from clew.exchange.backend_dialect import Refused
from clew.exchange.heads import JSON_TYPE
from clew.exchange.inputs import BackendRoute
from clew.exchange.redact import SHORTEST
from clew.model.failure import Failure, error_type_of
from clew.model.http import NO_WAIT, Wait
from clew.model.json import JsonValue, text_of
from clew.model.request import NativeRequest
from clew.pipeline.attempts import AttemptOutcome
from clew.pipeline.stream.client_view import HIDDEN, hidden, hidden_in

DRAINING = "clew is shutting down, and this answer is not complete: ask again"

_SECRET = re.compile(rb"(?i)(sk-[\w-]{6,}|clew_\w+|bearer\s+\S+)")
_SHOWN = 200
_NO_MONEY: Final = 402
_KIND = 60
_PLACE = re.compile(
    r"((?:max_tokens|messages|metadata|model|output_config|stop_sequences|stream|system|temperature|thinking|tool_choice|tools"
    r"|top_k|top_p)(?:\.\w+)*): "
)
"""How the Messages API, and clew where it writes a request, begin what they say about a field."""


RETRY_SECONDS: Final = 60.0
"""A client may wait so long for a limit of its own, and then try again by itself."""
NO_RETRY = ("x-should-retry", "false")
"""Claude Code would ask ten times otherwise."""


def no_credential(backend: str, front: Dialect[Any]) -> bytes:
    """What a client reads that comes without a credential to a backend that takes the client's own."""
    variable = "ANTHROPIC_API_KEY" if front.is_canonical else "OPENAI_API_KEY"
    message = (
        f"{backend} takes the client's own credential, and this request has none: set {variable} or log in, or give "
        "the backend a key in clew.toml. If the gateway asks for a key of its own, send that in the header x-clew-key"
    )
    return write_error(Failure(401, "authentication_error", message), None)


def name_unknown_model(refused: Refused, route: BackendRoute, front: Dialect[Any]) -> Refused:
    """The refusal with what to do about it, where a backend without model names in its row does not know the model that was
    asked for. Clients of other dialects ask for models of their own vendor, and show no more than these words."""
    backend, model = route.backend, route.target.model
    own = _error_in(refused.body) if refused.status == 404 and not front.is_canonical else None
    if own is None or model not in own.message or backend.model or backend.models:
        return refused
    message = (
        f"{backend.name} does not know the model {model} ({own.message}). Name one that it has in clew.toml: "
        f'[backends.{backend.name}] model = "…"'
    )
    return structs.replace(refused, body=write_error(Failure(404, own.type, message), None))


def with_place(
    explained: Refused, said: bytes, native: NativeRequest | None, front: Dialect[Any], back: Dialect[Any]
) -> Refused:
    """The refusal with the field that it is about, for a client of OpenAI's dialects, which have a member for that. A vendor
    that speaks the client's dialect names it itself, and often a code (`said` is its body)."""
    own = None if front.is_canonical else _error_in(explained.body)
    if own is None:
        return explained
    if front is back:
        theirs = error_of(said)
        param, code = text_of(theirs.get("param")), text_of(theirs.get("code"))
    else:
        place = _PLACE.match(own.message) if native is not None and back.is_canonical else None
        param, code = (front.client_path(native, place[1]) if native is not None and place else ""), ""
    if not param and not code:
        return explained
    error = {"type": own.type, "message": own.message, "param": param, "code": code}
    return structs.replace(explained, body=msgspec.json.encode({"type": "error", "error": error}))


def put_in_clients_words(error: RequestInvalid | Unrepresentable, native: NativeRequest, front: Dialect[Any]) -> None:
    """Let what was met while the request was written name the place in the client's own request."""
    words = str(error)
    if place := _PLACE.match(words):
        path = front.client_path(native, place[1])
        error.args = (f"{path}{words[place.end(1) :]}",)
        error.path = path


def named(error: BackendError, route: BackendRoute) -> BackendError:
    """The same failure, with the backend's name in place of its address: that is nobody's business but the operator's."""
    if address := route.address.endpoint:
        error.args = (str(error).replace(address, route.backend.name),)
    return error


class _Error(Struct):
    type: str
    message: str = ""
    param: JsonValue = None
    code: JsonValue = None


class _Shape(Struct):
    error: _Error


def _error_in(body: bytes) -> _Error | None:
    """The vendor's error, if the body is one."""
    try:
        return msgspec.json.decode(body, type=_Shape).error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def kind_in(body: bytes) -> str:
    """What sort of error a vendor calls it; "" if it does not say. Its message may quote the conversation, this does not."""
    error = _error_in(body)
    return error.type[:_KIND] if error is not None and error.type.isprintable() else ""


def shown(body: bytes) -> str:
    """The beginning of a body that is not what it should be, for people to read; without secrets."""
    text = _SECRET.sub(HIDDEN.encode(), body[: 2 * _SHOWN])[:_SHOWN].decode("utf-8", "replace")
    return " ".join(text.split())


def secret_of(key: Secret | None) -> str:
    """What may not be repeated to a client; "" for a key that is none: servers on one's own machine take "x" as well."""
    secret = key.reveal() if key is not None else ""
    return secret if len(secret) >= SHORTEST else ""


def without_key(outcome: AttemptOutcome, key: Secret | None) -> AttemptOutcome:
    """The same, where a backend repeats the key that it was asked with: that is the operator's, and for nobody else."""
    secret = secret_of(key)
    if not secret:
        return outcome
    if outcome.error is not None:
        outcome.error.args = (hidden(str(outcome.error), secret),)
    return structs.replace(outcome, body=hidden_in(outcome.body, secret))


def without_credential(words: str, credential: Credential) -> str:
    """The same, where a backend repeats what the client showed it: that is the client's own, and for nobody else."""
    for _, value in credential:
        secret = value.rpartition(" ")[2]  # behind `Bearer`
        words = hidden(words, secret) if len(secret) >= SHORTEST else words
    return words


class RefusalReply(NamedTuple):
    """A failure as a whole response."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


def refusal_reply(
    failure: ClewError, headers: Sequence[tuple[str, str]], exchange: str, front: Dialect[Any]
) -> RefusalReply:
    """A backend's own error as it came, if the client's dialect reads it so."""
    body = _own_body(failure)
    is_own = _error_in(body) is not None
    is_final = not is_own and isinstance(failure, Unrepresentable | CredentialsExhausted)
    # A status that stands for another one may be one after which clients try again.
    final = [NO_RETRY] if is_final or (failure.status == _NO_MONEY and _NO_MONEY in front.statuses) else []
    if isinstance(failure, UsageLimitReached):
        final = limit_headers(failure)
    told = body if is_own and front.is_canonical else front.write_error(told_failure(failure), exchange)
    return RefusalReply(front.statuses.get(failure.status, failure.status), [JSON_TYPE, *final, *headers], told)


def limit_headers(failure: UsageLimitReached) -> list[tuple[str, str]]:
    """When there is room again. Clients that retry by themselves are told not to where that takes long."""
    wait = failure.retry_after
    is_short = wait is not None and wait <= RETRY_SECONDS
    return [*([("retry-after", str(ceil(wait)))] if wait is not None else []), *([] if is_short else [NO_RETRY])]


def told_failure(failure: ClewError) -> Failure:
    """The failure in canonical words: the backend's own, if it said any."""
    body = _own_body(failure)
    own = _error_in(body)
    kind, message = (own.type, own.message) if own else _words(failure, body)
    wait = Wait(seconds=failure.retry_after) if isinstance(failure, BackendOverloaded | UsageLimitReached) else NO_WAIT
    place = text_of(own.param) if own else failure.path if isinstance(failure, RequestInvalid | Unrepresentable) else ""
    code = text_of(own.code) if own else failure.code if isinstance(failure, RequestInvalid) else ""
    return Failure(failure.status, kind, message, wait, param=place, code=code)


def _own_body(failure: ClewError) -> bytes:
    return failure.body if isinstance(failure, BackendRejected | BackendOverloaded) else b""


def _words(failure: ClewError, body: bytes) -> tuple[str, str]:
    kind = error_type_of(failure.status) if isinstance(failure, BackendRejected) else failure.error_type
    return kind, f"{failure}: {shown(body)}" if body else str(failure)

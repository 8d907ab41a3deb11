"""The vendors' error objects: one shape each, around the same words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import msgspec

from clew.model.json import JsonObject, JsonValue
from clew.simulator.chat.rules import ChatRule, chat_rules, worded
from clew.simulator.chat.upstream import provider_error
from clew.simulator.chat.vendors import Envelope, Vendor
from clew.simulator.interfaces import Violation

__all__ = ["ChatErrors", "Told"]

_SAID: Final = ("chat.status-402", "chat.status-429", "chat.status-500", "chat.status-503")


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One error, before it has a shape."""

    rule: str
    status: int
    type: str
    code: str
    message: str
    path: str = ""
    names: Mapping[str, object] | None = None
    maker: str = ""
    """Whose model it is about, where an aggregator stands in between."""

    def name(self, key: str) -> object:
        return (self.names or {}).get(key)


class ChatErrors:
    """How one vendor tells errors."""

    def __init__(self, vendor: Vendor) -> None:
        self._vendor = vendor

    @property
    def ping(self) -> bytes:
        return f": {self._vendor.chunks.comment or 'keep-alive'}\n\n".encode()

    def of(self, violation: Violation, names: Mapping[str, object] | None = None, maker: str = "") -> bytes:
        """A refusal as the whole body."""
        code = worded(self._vendor, violation.rule).code if violation.rule in chat_rules() else ""
        told = Told(
            rule=violation.rule,
            status=violation.status,
            type=violation.error_type,
            code=code,
            message=violation.message,
            path=violation.path,
            names=names,
            maker=maker,
        )
        return msgspec.json.encode(self._shaped(told))

    def body(self, fault: str, message: str, status: int, request_id: str) -> bytes:
        """A fault on demand, as the whole body."""
        return msgspec.json.encode(self._shaped(self._fault(fault, message, status)))

    def event(self, fault: str, message: str) -> bytes:
        """A fault on demand, inside a stream that began with 200."""
        told = self._fault(fault, message, self.status(fault))
        shape = _IN_STREAM.get(self._vendor.envelope, _SHAPES[self._vendor.envelope])
        return b"data: " + msgspec.json.encode(shape(told)) + b"\n\n"

    def status(self, fault: str) -> int:
        return next((row.status for row in map(self._row, _SAID) if row.type == fault), 503 if not fault else 500)

    def _fault(self, fault: str, message: str, status: int) -> Told:
        near = next((rule for rule in _SAID if chat_rules()[rule].status == status), "")
        row = self._row(near or ("chat.status-500" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else ""))
        return Told(
            rule=near, status=status, type=fault or row.type, code=row.code, message=message or row.text or str(status)
        )

    def _row(self, rule: str) -> ChatRule:
        if not rule:
            return ChatRule(means="", text="", source="")
        return worded(self._vendor, rule)

    def _shaped(self, told: Told) -> JsonValue:
        return _SHAPES[self._vendor.envelope](told)


def _openai(told: Told) -> JsonObject:
    return {"error": {"message": told.message, "type": told.type, "param": None, "code": told.code or None}}


def _short(told: Told) -> JsonObject:
    return {"error": {"message": told.message, "type": told.type}}


def _openrouter(told: Told) -> JsonObject:
    raw = provider_error(told.rule, told.message, told.type, told.code, told.maker)
    error: JsonObject = {"message": told.message, "code": told.status}
    if raw is not None:
        error = {"message": "Provider returned error", "code": told.status, "metadata": raw}
    return {"error": error, "user_id": "user_sim"}


def _openrouter_in_stream(told: Told) -> JsonObject:
    choice: JsonObject = {"index": 0, "delta": {"content": ""}, "finish_reason": "error", "native_finish_reason": "error"}
    head: JsonObject = {"id": "gen-sim", "object": "chat.completion.chunk", "created": 0, "model": "", "provider": ""}
    return {**head, "error": {"code": told.status, "message": told.message}, "choices": [choice]}


_XAI_CODES: Final = {
    400: "Client specified an invalid argument",
    404: "Some requested entity was not found",
    429: "Some resource has been exhausted",
    503: "The service is currently unavailable",
}


def _xai(told: Told) -> JsonObject:
    return {"code": _XAI_CODES.get(told.status, HTTPStatus(told.status).phrase), "error": told.message}


def _mistral(told: Told) -> JsonObject:
    if told.status == HTTPStatus.UNAUTHORIZED:
        return {"detail": told.message}
    message: JsonValue = {"detail": [_mistral_detail(told)]} if told.type in _PYDANTIC else told.message
    kind = "invalid_request_error" if told.type in _PYDANTIC else told.type
    return {"object": "error", "message": message, "type": kind, "param": None, "code": told.code or None}


_PYDANTIC: Final = ("extra_forbidden", "missing", "string_type", "union_tag_invalid")


def _mistral_detail(told: Told) -> JsonObject:
    place: list[JsonValue] = [int(part) if part.isdecimal() else part for part in told.path.split(".")]
    if isinstance(told.name("role"), str) and place[0] == "messages":
        place.insert(2, str(told.name("role")))
    return {"type": told.type, "loc": ["body", *place], "msg": told.message}


def _minimax(told: Told) -> JsonObject:
    error: JsonObject = {"type": told.type, "message": told.message, "http_code": str(told.status)}
    return {"type": "error", "error": error, "request_id": "sim"}


def _flat(told: Told) -> JsonObject:
    return {"message": told.message, "type": told.type, "param": told.path and "validation_error", "code": told.code}


def _object(told: Told) -> JsonObject:
    return {"object": "error", "message": told.message, "type": told.type, "param": None, "code": told.status}


def _zai(told: Told) -> JsonObject:
    return {"error": {"code": told.code or str(told.status), "message": told.message}}


def _vllm(told: Told) -> JsonObject:
    return {"error": {"message": told.message, "type": told.type, "param": told.path or None, "code": told.status}}


def _llamacpp(told: Told) -> JsonObject:
    error: JsonObject = {"code": told.status, "message": told.message, "type": told.type}
    if told.rule == "chat.too-long":
        error |= {"n_prompt_tokens": _count(told.name("tokens")), "n_ctx": _count(told.name("limit"))}
    return {"error": error}


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def _google(told: Told) -> list[JsonValue]:
    """A list with one error in it, as this wire has it."""
    return [{"error": {"code": told.status, "message": told.message, "status": _GOOGLE.get(told.status, "UNKNOWN")}}]


_GOOGLE: Final = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}


_SHAPES: Final[dict[Envelope, Callable[[Told], JsonValue]]] = {
    "openai": _openai,
    "short": _short,
    "openrouter": _openrouter,
    "xai": _xai,
    "mistral": _mistral,
    "minimax": _minimax,
    "vllm": _vllm,
    "llamacpp": _llamacpp,
    "google": _google,
    "flat": _flat,
    "object": _object,
    "zai": _zai,
}

_IN_STREAM: Final[dict[Envelope, Callable[[Told], JsonValue]]] = {"openrouter": _openrouter_in_stream}
"""Who tells it otherwise once a stream has begun."""

"""The vendors' error objects: one shape each, around the same words.

An aggregator wraps an error of the vendor behind it: that vendor's own body, as a text inside the error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from http import HTTPStatus
from typing import Final

import msgspec

from clew.model.json import JsonObject, JsonValue
from clew.simulator.interfaces import VendorRefusal
from clew.simulator.rule_book import Envelope, OpenaiVendor, RuleBook, VendorRule

_STATUSES: Final = ("status-402", "status-429", "status-500", "status-503")
_NO_RULE: Final = VendorRule(means="", text="", source="")
_PROVIDER_RULES: Final = ("reasoning-*", "details-*", "signature-*", "blob-*", "tool-choice-thinking")
"""What the vendor behind an aggregator refuses, but for `details-shape`."""
_ADVICE: Final = (
    "Gemini models require OpenRouter reasoning details to be preserved in each request. Please refer to our docs: "
    "https://openrouter.ai/docs/guides/best-practices/reasoning-tokens#preserving-reasoning-blocks. Upstream error: "
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorToWrite:
    """One error, before it has a vendor's shape. `rule` is its name in the book."""

    rule: str
    status: int
    type: str
    code: str
    message: str
    path: str = ""
    param: str = ""
    names: Mapping[str, object] = field(default_factory=dict[str, object])
    maker: str = ""
    """The vendor of the model, where an aggregator is asked."""


class ShapedErrors:
    """Writes errors as whole bodies in the shape of one vendor."""

    def __init__(self, book: RuleBook, vendor: OpenaiVendor) -> None:
        self._book = book
        self._row = vendor
        self._shape = _SHAPES[vendor.envelope]

    def refusal_body(self, refusal: VendorRefusal, names: Mapping[str, object], maker: str) -> bytes:
        """A refusal as the whole body."""
        error = ErrorToWrite(
            rule=refusal.rule.partition(".")[2],
            status=refusal.status,
            type=refusal.error_type,
            code=refusal.code,
            message=refusal.message,
            path=refusal.path,
            param=refusal.param,
            names=names,
            maker=maker,
        )
        return msgspec.json.encode(self._shape(error))

    def body(self, fault: str, message: str, status: int, request_id: str) -> bytes:
        """A fault on demand, as the whole body."""
        return msgspec.json.encode(self._shape(self.fault(fault, message, status)))

    def status(self, fault: str) -> int:
        rows = (self._book.rule_of(self._row, f"{self._book.dialect}.{rule}") for rule in _STATUSES)
        return next((row.status for row in rows if row.type == fault), 503 if not fault else 500)

    def fault(self, fault: str, message: str, status: int) -> ErrorToWrite:
        """A fault on demand in the vendor's words for this status, if it has any."""
        book = self._book
        known = (rule for rule in _STATUSES if book.rules[f"{book.dialect}.{rule}"].status == status)
        rule = next(known, "")
        worded = rule or ("status-500" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "")
        row = book.rule_of(self._row, f"{book.dialect}.{worded}") if worded else _NO_RULE
        text = message or row.text or str(status)
        return ErrorToWrite(rule=rule, status=status, type=fault or row.type, code=row.code, message=text)


def _openai(error: ErrorToWrite) -> JsonObject:
    return {
        "error": {"message": error.message, "type": error.type, "param": error.param or None, "code": error.code or None}
    }


def _openrouter(error: ErrorToWrite) -> JsonObject:
    """An error of the vendor behind the aggregator is a text inside the aggregator's own."""
    if error.rule == "details-shape" or not any(fnmatchcase(error.rule, pattern) for pattern in _PROVIDER_RULES):
        return {"error": {"message": error.message, "code": error.status}, "user_id": "user_sim"}
    body = _openai(error)
    if error.maker == "Anthropic":
        body = {"type": "error", "error": {"type": "invalid_request_error", "message": error.message}}
    elif error.maker == "Google AI Studio":
        body = {"error": {"code": 400, "message": error.message, "status": "INVALID_ARGUMENT"}}
    advice = _ADVICE if error.rule == "signature-missing" else ""
    raw = advice + msgspec.json.encode(body).decode()
    metadata: JsonObject = {"raw": raw, "provider_name": error.maker, "is_byok": False}
    shown: JsonObject = {"message": "Provider returned error", "code": error.status, "metadata": metadata}
    return {"error": shown, "user_id": "user_sim"}


_XAI_CODES: Final = {
    400: "Client specified an invalid argument",
    404: "Some requested entity was not found",
    429: "Some resource has been exhausted",
    503: "The service is currently unavailable",
}


_PYDANTIC: Final = ("extra_forbidden", "missing", "string_type", "union_tag_invalid")


def _mistral(error: ErrorToWrite) -> JsonObject:
    if error.status == HTTPStatus.UNAUTHORIZED:
        return {"detail": error.message}
    message: JsonValue = error.message
    kind = error.type
    if error.type in _PYDANTIC:
        place: list[JsonValue] = [int(part) if part.isdecimal() else part for part in error.path.split(".")]
        role = error.names.get("role")
        if isinstance(role, str) and place[0] == "messages":
            place.insert(2, role)
        message = {"detail": [{"type": error.type, "loc": ["body", *place], "msg": error.message}]}
        kind = "invalid_request_error"
    return {"object": "error", "message": message, "type": kind, "param": None, "code": error.code or None}


def _llamacpp(error: ErrorToWrite) -> JsonObject:
    shown: JsonObject = {"code": error.status, "message": error.message, "type": error.type}
    if error.rule == "too-long":
        tokens, limit = error.names.get("tokens"), error.names.get("limit")
        shown["n_prompt_tokens"] = tokens if isinstance(tokens, int) else 0
        shown["n_ctx"] = limit if isinstance(limit, int) else 0
    return {"error": shown}


_GOOGLE_STATUSES: Final = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}


_SHAPES: Final[dict[Envelope, Callable[[ErrorToWrite], JsonValue]]] = {
    "openai": _openai,
    "openrouter": _openrouter,
    "mistral": _mistral,
    "llamacpp": _llamacpp,
    "short": lambda error: {"error": {"message": error.message, "type": error.type}},
    "xai": lambda error: {"code": _XAI_CODES.get(error.status, HTTPStatus(error.status).phrase), "error": error.message},
    "minimax": lambda error: {
        "type": "error",
        "error": {"type": error.type, "message": error.message, "http_code": str(error.status)},
        "request_id": "sim",
    },
    "vllm": lambda error: {
        "error": {"message": error.message, "type": error.type, "param": error.path or None, "code": error.status}
    },
    "google": lambda error: [
        {"error": {"code": error.status, "message": error.message, "status": _GOOGLE_STATUSES.get(error.status, "UNKNOWN")}}
    ],
    "flat": lambda error: {
        "message": error.message,
        "type": error.type,
        "param": error.path and "validation_error",
        "code": error.code,
    },
    "object": lambda error: {
        "object": "error",
        "message": error.message,
        "type": error.type,
        "param": None,
        "code": error.status,
    },
    "zai": lambda error: {"error": {"code": error.code or str(error.status), "message": error.message}},
}

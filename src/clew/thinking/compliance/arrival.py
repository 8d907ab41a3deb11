"""What is wrong before a request is one: headers (R2, R3), size (R62), JSON (R4), Unicode (R63)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite

import msgspec

from clew.errors import BodyTooLarge, RequestInvalid
from clew.model.facts import betas
from clew.model.json import JsonObject, JsonValue
from clew.thinking.compliance.findings import Finding
from clew.thinking.compliance.reading import MOST_MESSAGES
from clew.wire.strict_json import MAX_DEPTH, decode_json, find_fault

__all__ = ["OLDEST", "Headers", "Parsed", "oversize", "parse", "read_headers"]

MOST_BYTES = 32 * 1024 * 1024
OLDEST = "2023-06-01"
VERSIONS = frozenset({OLDEST, "2026-10-21"})

_raw_object = msgspec.json.Decoder(dict[str, msgspec.Raw])
_raw_array = msgspec.json.Decoder(list[msgspec.Raw])


# ── headers


@dataclass(frozen=True, slots=True)
class Headers:
    """What the headers say that decides about the body."""

    version: str
    betas: frozenset[str]
    findings: tuple[Finding, ...] = ()


def read_headers(headers: Mapping[str, str] | None) -> Headers:
    """Without headers nothing is known of them: the older version, and every gate open, so that only the body is judged."""
    if headers is None:
        return Headers(OLDEST, frozenset(betas()))
    lower = {name.lower(): value for name, value in headers.items()}
    version = lower.get("anthropic-version", "")
    sent = [value for value in map(str.strip, lower.get("anthropic-beta", "").split(",")) if value]
    findings = (*_version_findings(version), *_beta_findings(sent))
    return Headers(version if version in VERSIONS else OLDEST, frozenset(sent), findings)


def _version_findings(version: str) -> Iterator[Finding]:
    if not version:
        yield Finding("R2.version-missing", "", {})
    elif version not in VERSIONS:
        yield Finding("R2.version-unknown", "", {"version": version})


def _beta_findings(sent: list[str]) -> Iterator[Finding]:
    unknown = [f"`{value}`" for value in sent if value not in betas()]
    if unknown:
        yield Finding("R3.beta-unknown", "", {"values": ", ".join(unknown)})


# ── the body


def oversize(request: object) -> Iterator[Finding]:
    if isinstance(request, bytes) and len(request) > MOST_BYTES:
        yield Finding("R62.too-large", "", {})


@dataclass(frozen=True, slots=True)
class Parsed:
    """The body's value, and what was wrong with the bytes. Without a value there is nothing to go on with."""

    value: JsonValue = None
    unreadable: Finding | None = None
    lone_surrogate: bool = False


def parse(request: bytes | JsonValue) -> Parsed:
    return _of_bytes(request) if isinstance(request, bytes) else _of_value(request)


def _of_bytes(raw: bytes) -> Parsed:
    if not raw:
        return Parsed(unreadable=Finding("R4.body-empty", "", {}))
    try:
        return Parsed(_outline(raw) or decode_json(raw))
    except BodyTooLarge:
        return Parsed(unreadable=_too_deep())
    except RequestInvalid:
        return _with_surrogates(raw)


def _outline(raw: bytes) -> JsonObject | None:
    """A body with too many messages, without them: nobody looks at them (R17), and a million take a second to read."""
    if len(raw) <= MOST_MESSAGES:
        return None
    try:
        whole = _raw_object.decode(raw)
        count = len(_raw_array.decode(whole.get("messages", b"")))
    except (msgspec.MsgspecError, RecursionError):
        return None
    if count <= MOST_MESSAGES:
        return None
    value: JsonObject = {key: decode_json(bytes(each)) for key, each in whole.items() if key != "messages"}
    value["messages"] = list[JsonValue]([None] * count)
    return value


def _with_surrogates(raw: bytes) -> Parsed:
    """The strict reader refused. If lone surrogates are all that is wrong, it is JSON still, and a rule of its own."""
    try:
        return Parsed(json.loads(raw.decode(), parse_constant=_finite, parse_float=_finite), lone_surrogate=True)
    except (ValueError, RecursionError):
        fault = find_fault(raw)
        said = {"reason": fault.reason, "line": fault.line, "column": fault.column, "char": fault.char}
        return Parsed(unreadable=Finding("R4.body-not-json", "", said))


def _finite(digits: str) -> float:
    value = float(digits)
    if not isfinite(value):
        raise ValueError(digits)
    return value


def _too_deep() -> Finding:
    reason = f"nested more than {MAX_DEPTH} levels deep"
    return Finding("R4.body-not-json", "", {"reason": reason, "line": 1, "column": 1, "char": 0})


def _of_value(value: JsonValue) -> Parsed:
    """An object that someone built: it can hold what no JSON text can."""
    lone = False
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        if not level:
            return Parsed(value, lone_surrogate=lone)
        if any(isinstance(each, float) and not isfinite(each) for each in level):
            return Parsed(unreadable=_no_number())
        lone = lone or any(map(_is_broken, level))
        level = [child for parent in level for child in _inside(parent)]
    return Parsed(unreadable=_too_deep())


def _inside(value: JsonValue) -> list[JsonValue]:
    if isinstance(value, dict):
        return [*value, *value.values()]
    return value if isinstance(value, list) else []


def _is_broken(value: JsonValue) -> bool:
    return isinstance(value, str) and not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value)


def _no_number() -> Finding:
    return Finding("R4.body-not-json", "", {"reason": "NaN is not a JSON value", "line": 1, "column": 1, "char": 0})

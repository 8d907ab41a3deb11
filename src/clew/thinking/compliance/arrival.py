"""Defects before a body is read: headers (R2, R3), size (R62), JSON (R4), Unicode (R63)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

import msgspec

from clew.errors import BodyTooLarge, RequestInvalid
from clew.model.facts import betas
from clew.model.json import JsonObject, JsonValue
from clew.thinking.compliance.request_view import MOST_MESSAGES, RuleFinding
from clew.wire.strict_json import MAX_DEPTH, decode_json, find_fault

MOST_BYTES = 32 * 1024 * 1024
OLDEST = "2023-06-01"
VERSIONS = frozenset({OLDEST, "2026-10-21"})
_SURROGATE = re.compile("[\ud800-\udfff]")
_TOO_DEEP = f"nested more than {MAX_DEPTH} levels deep"

_raw_object = msgspec.json.Decoder(dict[str, msgspec.Raw])
_raw_array = msgspec.json.Decoder(list[msgspec.Raw])


# ── headers


@dataclass(frozen=True, slots=True)
class Headers:
    """The headers that decide about the body: API version and betas, and the findings in them."""

    version: str
    betas: frozenset[str]
    findings: tuple[RuleFinding, ...] = ()


def read_headers(headers: Mapping[str, str] | None) -> Headers:
    """Without headers: the older version and every beta, so that only the body is judged."""
    if headers is None:
        return Headers(OLDEST, frozenset(betas()))
    lower = {name.lower(): value for name, value in headers.items()}
    version = lower.get("anthropic-version", "")
    sent = [value for value in map(str.strip, lower.get("anthropic-beta", "").split(",")) if value]
    findings: list[RuleFinding] = []
    if not version:
        findings.append(RuleFinding("R2.version-missing", "", {}))
    elif version not in VERSIONS:
        findings.append(RuleFinding("R2.version-unknown", "", {"version": version}))
    if unknown := [f"`{value}`" for value in sent if value not in betas()]:
        findings.append(RuleFinding("R3.beta-unknown", "", {"values": ", ".join(unknown)}))
    return Headers(version if version in VERSIONS else OLDEST, frozenset(sent), tuple(findings))


# ── the body


@dataclass(frozen=True, slots=True)
class ParsedBody:
    """The body's value, and the faults of its bytes. An unreadable body is not checked further."""

    value: JsonValue = None
    unreadable: RuleFinding | None = None
    lone_surrogate: bool = False


def parse(request: bytes | JsonValue) -> ParsedBody:
    if not isinstance(request, bytes):
        return _read_value(request)
    if not request:
        return ParsedBody(unreadable=RuleFinding("R4.body-empty", "", {}))
    try:
        return ParsedBody(_outline(request) or decode_json(request))
    except BodyTooLarge:
        return ParsedBody(unreadable=_not_json(_TOO_DEEP))
    except RequestInvalid:
        try:  # if lone surrogates are its only fault, it is JSON, and they are a rule of their own
            return ParsedBody(json.loads(request.decode(), parse_constant=_finite, parse_float=_finite), lone_surrogate=True)
        except (ValueError, RecursionError):
            fault = find_fault(request)
            return ParsedBody(unreadable=_not_json(fault.reason, fault.line, fault.column, fault.char))


def _outline(raw: bytes) -> JsonObject | None:
    """A body with too many messages, without them: no check reads them (R17), and a million take a second to read."""
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


def _finite(digits: str) -> float:
    value = float(digits)
    if not isfinite(value):
        raise ValueError(digits)
    return value


def _not_json(reason: str, line: int = 1, column: int = 1, char: int = 0) -> RuleFinding:
    return RuleFinding("R4.body-not-json", "", {"reason": reason, "line": line, "column": column, "char": char})


def _read_value(value: JsonValue) -> ParsedBody:
    """An object that a caller built: it can hold values that no JSON text can."""
    lone = False
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        if not level:
            return ParsedBody(value, lone_surrogate=lone)
        children: list[JsonValue] = []
        for each in level:
            if isinstance(each, float) and not isfinite(each):
                return ParsedBody(unreadable=_not_json("NaN is not a JSON value"))
            if isinstance(each, str):
                lone = lone or _SURROGATE.search(each) is not None
            elif isinstance(each, dict):
                children += (*each, *each.values())
            elif isinstance(each, list):
                children += each
        level = children
    return ParsedBody(unreadable=_not_json(_TOO_DEEP))

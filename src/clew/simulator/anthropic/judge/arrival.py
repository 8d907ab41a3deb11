"""What frames a request: its headers, its size, its JSON, whether the model exists, and whether all fits the model's window.

R2, R3, R4, R5, R8, R62 and R63.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clew.errors import BodyTooLarge, RequestInvalid
from clew.model.facts import betas
from clew.model.json import JsonValue
from clew.simulator.anthropic.judge.case import BrokenRule, Case, betas_of
from clew.simulator.values import as_number
from clew.wire.strict_json import JsonFault, decode_json, find_fault

MAX_BODY = 32 * 1024 * 1024
VERSIONS = ("2023-06-01", "2026-10-21")
_SURROGATE = "lone surrogate in string"


def check_transport(body: bytes, headers: Mapping[str, str]) -> Iterator[BrokenRule]:
    """What is wrong before the body is read."""
    if len(body) > MAX_BODY:
        yield BrokenRule("R62.too-large")
    version = headers.get("anthropic-version", "")
    if not version:
        yield BrokenRule("R2.version-missing")
    elif version not in VERSIONS:
        yield BrokenRule("R2.version-unknown", names={"version": version})
    unknown = [name for name in betas_of(headers) if name not in betas()]
    if unknown:
        yield BrokenRule("R3.beta-unknown", names={"values": ", ".join(f"`{name}`" for name in unknown)})


def read_document(raw: bytes) -> JsonValue | BrokenRule:
    """The body's value, or why it cannot be read."""
    if not raw:
        return BrokenRule("R4.body-empty")
    try:
        return decode_json(raw)
    except BodyTooLarge:
        fault = JsonFault("recursion limit exceeded", 0, 1, 1)
    except RequestInvalid:
        fault = find_fault(raw)
        if fault.reason == _SURROGATE:  # legal JSON for the vendor's parser; its schema refuses it (R63)
            return BrokenRule("R63.lone-surrogate")
    return BrokenRule("R4.body-not-json", names=fault._asdict())


def check_model(case: Case) -> Iterator[BrokenRule]:
    """Whether the vendor serves the model. A vendor with models of its own takes any name."""
    if case.vendor.models:
        return
    if not case.model.known:
        yield BrokenRule("R5.model-unknown", "model", {"model": case.body.get("model")})
    elif case.model.retired:
        yield BrokenRule("R5.model-retired", "model", {"model": case.body.get("model")})


def check_length(case: Case, tokens: int) -> Iterator[BrokenRule]:
    """Whether the prompt and the answer fit the model's window."""
    window, answer = case.model.context, as_number(case.body.get("max_tokens")) or 0
    if not window:
        return
    if tokens > window:
        yield BrokenRule("R8.prompt-too-long", "", {"tokens": tokens, "limit": window})
    elif case.model.overflow == "reject" and tokens + answer > window:
        names = {"tokens": tokens, "max_tokens": answer, "limit": window}
        yield BrokenRule("R8.prompt-and-output-too-long", "", names)

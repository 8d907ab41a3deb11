"""A permissive judge for tests of the shell: it takes any JSON object, and signs with a plain hash.

What the shell does must not depend on the rules, so its tests do not either.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from clew.simulator.interfaces import Account, BlockFate, JudgeVerdict, Kind, Prompt, Stance, VendorRefusal
from clew.simulator.values import segments


class Hashing:
    """Signs with a hash of the text and of what came before it."""

    def sign(self, text: str, *, answer: Sequence[Any]) -> str:
        return "sig-" + hashlib.sha256(msgspec.json.encode([text, list(answer)])).hexdigest()[:12]

    def redact(self, text: str, *, answer: Sequence[Any]) -> str:
        return "data-" + hashlib.sha256(msgspec.json.encode([text, list(answer)])).hexdigest()[:12]


def judge(
    body: bytes, headers: Mapping[str, str], *, kind: Kind, account: Account, stance: Stance, path: str, **_: Any
) -> JudgeVerdict:
    """Legal is whatever is a JSON object; `illegal: true` in it is not."""
    try:
        request = msgspec.json.decode(body)
    except msgspec.DecodeError as error:
        return JudgeVerdict(violation=_violation(f"The request body is not valid JSON: {error}"))
    if request.get("illegal"):
        return JudgeVerdict(violation=_violation("illegal: Extra inputs are not permitted"), request=request)
    return JudgeVerdict(request=request, prompt=_prompt(request, headers), signer=Hashing())


def _violation(message: str) -> VendorRefusal:
    return VendorRefusal(rule="R4.test", grade="B", status=400, error_type="invalid_request_error", message=message)


def _prompt(request: dict[str, Any], headers: Mapping[str, str]) -> Prompt:
    thinking = request.get("thinking") or {"type": "disabled"}
    mode = thinking["type"]
    binding = "thinking-binding-controls-2026-08-01" in headers.get("anthropic-beta", "")
    managed = "context_management" in request
    return Prompt(
        thinking="off" if mode == "disabled" else mode,
        display=thinking.get("display", "summarized"),
        interleaved=mode == "adaptive",
        blocks=tuple(_blocks(request)),
        transformations=() if binding else None,
        applied_edits=() if managed else None,
        input_tokens=sum(segment.tokens for segment in segments(request)),
        cache_minimum=8,
    )


def _blocks(request: dict[str, Any]) -> list[BlockFate]:
    return [
        BlockFate(path=f"messages.{i}.content.{j}", maker="somebody", fate="kept")
        for i, message in enumerate(request.get("messages", []))
        for j, block in enumerate(message["content"] if isinstance(message["content"], list) else [])
        if block["type"] in ("thinking", "redacted_thinking")
    ]

"""What a simulated chat vendor remembers between requests (its answers, and the prompts that it has seen), and its proofs.

Plain text proves nothing, so an answer is known by the ids of its tool calls, or by what it says and calls. Some vendors use
the same call ids in every conversation; of several answers under one id, the best match is taken.

Signatures and sealed data prove that reasoning is the simulator's own. They are made with the realm's secret, so simulators
of one realm accept each other's proofs, and no others.

Tokens are counted as in the other dialect: four bytes of compact JSON are a token, an image costs a constant. A prompt is
its tools and then its messages.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import msgspec

from clew.model.json import JsonObject, JsonValue
from clew.simulator.thought_index import ThoughtIndex
from clew.simulator.values import as_dict, as_list, as_str, tokens_of_json

_TOKENS_PER_IMAGE: Final = 1500
_HEAD: Final = b"\x12chat"
_NONCE: Final = 8
_MAC: Final = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenAnswer:
    """An answer that the simulator gave."""

    model: str
    reasoning: str
    """All shown thoughts."""
    message: JsonObject
    """The whole message, as the client is to send it back."""
    field: str
    """Where its reasoning is: `reasoning_content`, `reasoning_details`, `content`, …; "" if it has none."""

    @property
    def details(self) -> list[JsonValue]:
        return as_list(self.message.get("reasoning_details"))


@dataclass(frozen=True, slots=True)
class AnswerMemory:
    """The answers of one simulator, and the secret that its proofs are made with."""

    secret: bytes
    _by_key: dict[str, list[GivenAnswer]] = field(default_factory=dict[str, list[GivenAnswer]])
    """By call id and by fingerprint, the oldest first."""
    thoughts: ThoughtIndex = field(default_factory=ThoughtIndex)

    def record(self, answer: GivenAnswer, text: str) -> None:
        """Remember an answer; `text` is its visible text."""
        for key in (*_call_ids(answer.message), _fingerprint(answer.message, text)):
            self._by_key.setdefault(key, []).append(answer)
        self.thoughts.add(answer.reasoning)

    def find(self, message: JsonObject, text: str, reasoning: str) -> GivenAnswer | None:
        """The answer that this message was, if it is one of this simulator's; of several, the one with this reasoning.

        Calls with unknown ids are from another vendor, unless the reasoning proves otherwise.
        """
        ids = [*_call_ids(message)]
        by_id = [answer for key in ids for answer in reversed(self._by_key.get(key, []))]
        by_print = self._by_key.get(_fingerprint(message, text), [])[::-1]
        printed = {id(answer) for answer in by_print}
        both = [answer for answer in by_id if id(answer) in printed]
        for likely in (both, by_id, by_print):
            if found := next((answer for answer in likely if answer.reasoning == reasoning), None):
                return found
        known = [*both, *by_id, *([] if ids else by_print)]
        return known[0] if known else None

    def reset(self) -> None:
        self._by_key.clear()
        self.thoughts.clear()


def _fingerprint(message: JsonObject, text: str) -> str:
    """What a message says and calls, without its ids and white space."""
    calls: list[JsonValue] = []
    for call in as_list(message.get("tool_calls")):
        function = as_dict(as_dict(call).get("function"))
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            with suppress(msgspec.DecodeError):
                arguments = msgspec.json.decode(arguments)
        calls.append([function.get("name"), arguments])
    return msgspec.json.encode([text.strip(), calls], order="sorted").decode()


def _call_ids(message: JsonObject) -> Iterator[str]:
    for call in as_list(message.get("tool_calls")):
        if id_ := as_str(as_dict(call).get("id")):
            yield f"id {id_}"


def prompt_tokens(body: JsonObject) -> int:
    """The number of tokens in the whole prompt."""
    return sum(tokens for _, tokens in prompt_segments(body))


def prompt_segments(body: JsonObject) -> Iterator[tuple[JsonValue, int]]:
    """The prompt piece by piece, with the tokens of each: its tools, then its messages."""
    for segment in (*as_list(body.get("tools")), *as_list(body.get("messages"))):
        parts = as_list(as_dict(segment).get("content"))
        others = [part for part in parts if as_dict(part).get("type") != "image_url"]
        if len(others) == len(parts):
            tokens = tokens_of_json(segment)
        else:
            light: JsonObject = {**as_dict(segment), "content": others}
            tokens = tokens_of_json(light) + (len(parts) - len(others)) * _TOKENS_PER_IMAGE
        yield segment, tokens


# Proofs.


def sign(secret: bytes, model: str, text: str, *, salt: str = "") -> str:
    """The signature of a thought. `salt` makes equal thoughts differ."""
    nonce = hashlib.sha256(salt.encode()).digest()[:_NONCE]
    return base64.b64encode(_HEAD + nonce + _mac(secret, "signature", model, nonce.hex() + text)).decode()


def is_signed(secret: bytes, model: str, text: str, signature: str) -> bool:
    try:
        raw = base64.b64decode(signature, validate=True)
    except (binascii.Error, ValueError):
        return False
    nonce, mac = raw[len(_HEAD) : len(_HEAD) + _NONCE], raw[len(_HEAD) + _NONCE :]
    return raw.startswith(_HEAD) and hmac.compare_digest(mac, _mac(secret, "signature", model, nonce.hex() + text))


def seal(secret: bytes, text: str, *, salt: str = "") -> str:
    """Reasoning that only its maker can read: here its hash, with a proof. `salt` makes equal thoughts differ."""
    body = hashlib.sha256(f"{salt}\n{text}".encode("utf-8", "surrogatepass")).digest()
    return base64.b64encode(_mac(secret, "seal", "", body.hex()) + body).decode()


def is_sealed(secret: bytes, data: str) -> bool:
    """Whether the data was sealed with this secret."""
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return False
    return hmac.compare_digest(raw[:_MAC], _mac(secret, "seal", "", raw[_MAC:].hex()))


def _mac(secret: bytes, what: str, model: str, text: str) -> bytes:
    content = f"{what}\n{model}\n{text}".encode("utf-8", "surrogatepass")
    return hmac.new(secret, content, hashlib.sha256).digest()[:_MAC]

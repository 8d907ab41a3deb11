"""What came to a backend beside the body, and the shortest request that brings it there."""

from __future__ import annotations

from hashlib import sha256

from clew.testing import Simulator
from tests.build import user
from tests.engine.gate import Answer, Gate
from tests.engine.talk import MODEL

__all__ = ["fingerprint", "headers_at", "key_at", "simple"]


def headers_at(simulator: Simulator) -> dict[str, str]:
    return dict(simulator.journal()[-1]["headers"])


def key_at(simulator: Simulator) -> str:
    return simulator.journal()[-1]["credential"]


def fingerprint(key: str) -> str:
    return sha256(key.encode()).hexdigest()[:8]


def simple(gate: Gate, model: str = MODEL, **headers: str) -> Answer:
    body = {"model": model, "max_tokens": 100, "messages": [user("[[scenario:text]]")], "stream": True}
    return gate.ask(body, headers={name.replace("_", "-"): value for name, value in headers.items()})

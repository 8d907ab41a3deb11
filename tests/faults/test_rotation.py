"""The secret of the seals is rotated while conversations go on, over two gateways with two workers each: no block is lost."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from clew.testing import Simulator
from clew.testing.plugin import StartSimulator
from tests.build import assistant, user
from tests.engine.gate import post
from tests.engine.talk import MODEL, SHOWN, content_of, refusals
from tests.gateway.served import KEY, Served, backend

pytestmark = pytest.mark.slow

CLIENTS, ROUNDS = 4, 6


class Beside(Served):
    """Another gateway in the same home."""

    def __init__(self, other: Served) -> None:
        super().__init__("")
        self.home, self.config = other.home, other.config
        self._options = ("--port", "0", "--admin-port", "0", "--workers", "2")


def talked(urls: list[str], number: int) -> list[str]:
    """One conversation, each question to another gateway. What each answer says of the thinking before it."""
    messages: list[Any] = []
    told: list[str] = []
    for round in range(ROUNDS):
        messages.append(user(f"Client {number}, question {round}?"))
        body = {"model": MODEL, "max_tokens": 4000, "stream": round % 2 == 0, "thinking": SHOWN, "messages": messages}
        answer = post(urls[(number + round) % len(urls)], body, path="/v1/messages", headers={"x-api-key": KEY})
        assert answer.status == 200, answer.raw
        content = content_of(answer) if round % 2 == 0 else answer.json["content"]
        assert any(block.get("signature", "").startswith("clew1.") for block in content), "there is a seal"
        messages.append(assistant(*content))
        told.append(answer.headers["x-clew-thinking"])
    return told


def test_a_secret_that_is_rotated_under_load_costs_no_seal_and_no_block(simulators: StartSimulator) -> None:
    glm: Simulator = simulators(realm="glm")
    config = f'active = "glm"\n[gateway]\nadmin_port = 0\n{backend("glm", glm.url)}realm = "glm"\n'
    with Served(config, "--workers", "2") as first, Beside(first) as second, ThreadPoolExecutor(CLIENTS) as clients:
        talks = [clients.submit(talked, [first.url, second.url], number) for number in range(CLIENTS)]
        rotated = 0
        while not all(talk.done() for talk in talks) or rotated < 2:
            done = first.clew("keys", "rotate-secret")
            assert done.returncode == 0 or "has not applied it" in done.stderr, done.stderr  # within 2 s, on a busy machine
            rotated += 1
        told = [talk.result() for talk in talks]
        ring = json.loads((first.home / "secret").read_text())
    assert len(ring["keys"]) == rotated + 1, "nobody lost a key"
    assert refusals(glm) == []
    for headers in told:
        kept = [int(found[1]) for header in headers if (found := re.search(r"kept=(\d+)", header))]
        assert all("left-out=0" in header and "healed=0" in header for header in headers), headers
        assert kept == sorted(kept)
        assert kept[-1] >= ROUNDS - 1, headers

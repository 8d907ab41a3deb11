"""A conversation by a client of another front, over the gateway's socket: it sends back what its kind keeps."""

from __future__ import annotations

import json
from itertools import chain

from tests.build import Json
from tests.engine.gate import KEY, Answer, Gate
from tests.identity.front_clients import FRONT_CLIENTS

MODEL = "claude-opus-5-5"
ANTHROPIC_ONLY = {"x-api-key": "", "anthropic-version": ""}


class FrontTalk:
    def __init__(self, gate: Gate, client: str) -> None:
        self.gate = gate
        self.client = FRONT_CLIENTS[client]
        self.kept: list[list[Json]] = []
        """What it sends of each question, answer and result."""
        self.answers: list[Json] = []

    def asks(self, words: str) -> None:
        self.kept.append(self.client.asked(words))

    def runs(self) -> None:
        self.kept.append(self.client.results(self.kept[-1]))

    def step(self) -> Answer:
        """Send the history as it is, and keep what this client keeps of the answer."""
        body = {**self.client.body(list(chain.from_iterable(self.kept)), ""), "model": MODEL, "stream": True}
        given = {"authorization": f"Bearer {KEY}", **ANTHROPIC_ONLY}
        answer = self.gate.ask(body, path=self.client.path, headers=given)
        assert answer.status == 200, answer.raw
        said = self.client.accumulated(events_in(answer.raw))
        self.answers.append(said)
        self.kept.append(self.client.returned(said))
        return answer


def events_in(raw: bytes) -> list[Json]:
    """The data of a stream's events, but for the word at its end."""
    lines = [line for line in raw.decode().splitlines() if line.startswith("data: ") and line != "data: [DONE]"]
    return [json.loads(line.removeprefix("data: ")) for line in lines]

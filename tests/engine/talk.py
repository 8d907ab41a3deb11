"""A plain client in a conversation: it keeps all that it was told, runs the tools that it is asked to, and sends it all back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from clew.testing import Simulator
from tests.build import Json, assistant, tool_result, user
from tests.engine.gate import Answer, Gate, post
from tests.pipeline.stream.wearing import accumulated

__all__ = [
    "MODEL",
    "OTHER_MODEL",
    "TOOLS",
    "Direct",
    "Talk",
    "asked_of",
    "body_bytes",
    "content_of",
    "last_asked",
    "raw_of",
    "refusals",
    "thoughts",
    "thoughts_in",
    "whose",
]

MODEL = "claude-opus-5-5"
OTHER_MODEL = "claude-sonnet-5-5"
TOOLS = [{"name": "Read", "input_schema": {"type": "object", "properties": {"file_path": {"type": "string"}}}}]
SHOWN = {"type": "adaptive", "display": "summarized"}
MOST_TURNS = 8


class Talk:
    """One conversation. `headers` go with each request: session, agent, key. With `hides` it shows each model only its own."""

    def __init__(
        self,
        gate: Gate | Direct,
        model: str = MODEL,
        *,
        headers: Mapping[str, str] | None = None,
        hides: bool = False,
        **fields: Any,
    ) -> None:
        self.gate = gate
        self.model = model
        self.headers = dict(headers or {})
        self.fields: Json = {"max_tokens": 4000, "stream": True, "tools": TOOLS, "thinking": SHOWN, **fields}
        self.messages: list[Json] = []
        self._hides = hides
        self._asked: dict[int, str] = {}

    def says(self, words: str) -> Answer:
        """A question, and whatever tools it takes; the last answer."""
        self.messages.append(user(words))
        answer = self.step()
        for _ in range(MOST_TURNS):
            if not self.calls:
                return answer
            self.runs()
            answer = self.step()
        raise AssertionError("the loop has no end")

    def asks(self, words: str) -> Answer:
        """A question and the next answer alone."""
        self.messages.append(user(words))
        return self.step()

    def step(self) -> Answer:
        """Send the history as it is, and keep the answer."""
        answer = self.send()
        assert answer.status == 200, answer.raw
        self._asked[len(self.messages)] = self.model
        self.messages.append(assistant(*content_of(answer)))
        return answer

    def send(self, **changes: Any) -> Answer:
        """Send the history as it is, and keep nothing."""
        return self.gate.ask({**self.body, **changes}, headers=self.headers)

    @property
    def body(self) -> Json:
        return {"model": self.model, **self.fields, "messages": [*map(self._shown, range(len(self.messages)))]}

    def _shown(self, place: int) -> Json:
        message = self.messages[place]
        return without_thinking(message) if self._hides and self._asked.get(place, self.model) != self.model else message

    @property
    def calls(self) -> list[str]:
        last = self.messages[-1]
        return (
            [block["id"] for block in last["content"] if block["type"] == "tool_use"] if last["role"] == "assistant" else []
        )

    def runs(self) -> None:
        """What the tools of the last answer gave."""
        self.messages.append(user(*(tool_result(id, f"the contents of {id}") for id in self.calls)))

    def fork(self) -> Talk:
        """The same history, from here on by itself."""
        other = Talk(self.gate, self.model, headers=self.headers)
        other.fields, other.messages = dict(self.fields), [*self.messages]
        return other

    def forgets_thinking(self) -> None:
        """As a client that shows each model only its own."""
        self.messages = [without_thinking(message) for message in self.messages]


def without_thinking(message: Json) -> Json:
    if message["role"] != "assistant":
        return message
    rest = [block for block in message["content"] if block["type"] not in ("thinking", "redacted_thinking")]
    return {**message, "content": rest}


def content_of(answer: Answer) -> list[Json]:
    """The blocks that a client holds of an answer, streamed or not."""
    if answer.headers["content-type"].startswith("application/json"):
        return answer.json["content"]
    message: Any = accumulated(answer.raw).message()
    return message["content"]


def thoughts(messages: Iterable[Json]) -> list[Json]:
    """Every thinking block of a history, in order."""
    blocks = (block for message in messages if isinstance(message["content"], list) for block in message["content"])
    return [block for block in blocks if block["type"] in ("thinking", "redacted_thinking")]


def asked_of(simulator: Simulator) -> list[Json]:
    """The bodies that came to a backend, whatever became of them."""
    return [entry["body"] for entry in simulator.journal() if entry["path"].startswith("/v1/messages")]


def last_asked(simulator: Simulator) -> Json:
    return asked_of(simulator)[-1]


def thoughts_in(body: Json) -> list[Json]:
    return thoughts(body["messages"])


def refusals(simulator: Simulator) -> list[str]:
    """What a backend refused, in its own words."""
    verdicts = (entry["verdict"] for entry in simulator.journal())
    return [verdict["message"] for verdict in verdicts if verdict and not verdict["ok"]]


def whose(simulator: Simulator) -> set[str]:
    """Whose the thinking was that ever came to a backend."""
    return {block["whose"] for entry in simulator.journal() for block in entry["thinking"]}


def body_bytes(simulator: Simulator) -> bytes:
    """The last body that came, byte for byte."""
    return simulator.body(simulator.journal()[-1]["n"])


def raw_of(block: Json) -> bytes:
    """A block as `Talk` sends it."""
    return json.dumps(block).encode()


class Direct:
    """A backend asked without any gateway: what a history was before there was one."""

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator

    def ask(self, body: Any, *, path: str = "/v1/messages", headers: Mapping[str, str] | None = None) -> Answer:
        return post(self._simulator.url, body, path=path, headers={"x-api-key": self._simulator.key, **(headers or {})})

"""A client of the Responses kinds over plain HTTP: it asks, adds events up, and plays a tool loop as an agent would."""

import copy
import json
from dataclasses import dataclass, field
from typing import Any

from clew.simulator.openai_responses.vendors import responses_vendors
from clew.testing import Simulator
from tests.simulator.wire import Reply, call

KEY = "sim-test-1"
TOOL = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather in a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
ASKED = {"include": ["reasoning.encrypted_content"], "reasoning": {"effort": "low", "summary": "auto"}}
"""How to make a model think, show it, and give it under seal."""


def model_of(kind: str) -> str:
    """The model that a kind lists first."""
    return responses_vendors()[kind].listed[0]


def post(sim: Simulator, body: Any, *, path: str = "/v1/responses", key: str = KEY, **headers: str) -> Reply:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    keys = {"authorization": f"Bearer {key}"} if key else {}
    return call(sim.url, "POST", path, raw, {"content-type": "application/json", **keys, **headers})


def events(body: bytes) -> list[Any]:
    """The data of each event; `[DONE]` as it stands."""
    found = [part for part in body.decode().split("\n\n") if part]
    data = [part.partition("data: ")[2] for part in found]
    return [each if each == "[DONE]" else json.loads(each) for each in data]


def user(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}


def called(identity: str = "call_1", name: str = "get_weather", arguments: str = "{}", **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": identity, "name": name, "arguments": arguments, **more}


def result(identity: str = "call_1", text: Any = "Sunny.", kind: str = "function_call") -> dict[str, Any]:
    return {"type": f"{kind}_output", "call_id": identity, "output": text}


@dataclass
class Talk:
    """A conversation. Tests edit `items` as a client would."""

    sim: Simulator
    kind: str
    model: str = ""
    key: str = KEY
    items: list[dict[str, Any]] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=lambda: {**ASKED, "store": False})

    def body(self, **changes: Any) -> dict[str, Any]:
        body = {"model": self.model or model_of(self.kind), "input": copy.deepcopy(self.items), "tools": [TOOL]}
        return {key: value for key, value in {**body, **self.more, **changes}.items() if value is not None}

    def send(self, **changes: Any) -> Reply:
        return post(self.sim, self.body(**changes), key=self.key)

    def turn(self, **changes: Any) -> list[dict[str, Any]]:
        """Ask, add the answer, answer its calls. Gives the items of the answer."""
        reply = self.send(**changes)
        assert reply.status == 200, reply.body
        output = reply.json["output"]
        self.items += output
        self.items += [result(each["call_id"], kind=each["type"]) for each in output if "call_id" in each]
        return output

    def ask(self, text: str) -> "Talk":
        self.items.append(user(text))
        return self

    @property
    def journal(self) -> list[dict[str, Any]]:
        return self.sim.journal()


def verdict_of(reply: Reply) -> str:
    """The rule that a refusal names; "" for an answer."""
    return reply.headers.get("x-sim-rule", "")

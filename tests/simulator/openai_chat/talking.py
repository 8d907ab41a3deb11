"""A client of the chat kinds over plain HTTP: it asks, adds chunks up, and plays a tool loop as an agent would."""

import copy
import json
from dataclasses import dataclass, field
from typing import Any

from clew.simulator.openai_chat.vendors import chat_vendors
from clew.testing import Simulator
from tests.simulator.wire import Reply, call

KEY = "sim-test-1"
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def model_of(kind: str) -> str:
    """The model that a kind lists first."""
    return chat_vendors()[kind].listed[0]


def post(sim: Simulator, body: Any, *, path: str = "/v1/chat/completions", key: str = KEY, **headers: str) -> Reply:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    keys = {"authorization": f"Bearer {key}", "api-key": key} if key else {}
    sent = {"content-type": "application/json", **keys, **headers}
    return call(sim.url, "POST", path, raw, sent)


def chunks(body: bytes) -> list[Any]:
    """The data of each event; `[DONE]` as it stands. Comments are left out."""
    events = [part for part in body.decode().split("\n\n") if part and not part.startswith(":")]
    assert all(event.startswith("data: ") for event in events)
    return [event[6:] if event == "data: [DONE]" else json.loads(event[6:]) for event in events]


def user(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}


def result(identity: str, text: str = "Sunny.") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identity, "content": text}


def called(identity: str = "call_1", name: str = "get_weather", arguments: str = "{}", **more: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": identity, "type": "function", "function": function}],
        **more,
    }


@dataclass
class Talk:
    """A conversation. Tests edit `messages` as a client would."""

    sim: Simulator
    kind: str
    model: str = ""
    messages: list[dict[str, Any]] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)

    def body(self, **changes: Any) -> dict[str, Any]:
        body = {"model": self.model or model_of(self.kind), "messages": copy.deepcopy(self.messages), "tools": [TOOL]}
        return {key: value for key, value in {**body, **self.more, **changes}.items() if value is not None}

    def send(self, **changes: Any) -> Reply:
        return post(self.sim, self.body(**changes))

    def turn(self, **changes: Any) -> dict[str, Any]:
        """Ask, add the answer, answer its calls. Gives the message."""
        reply = self.send(**changes)
        assert reply.status == 200, reply.body
        message = reply.json["choices"][0]["message"]
        self.messages.append(message)
        self.messages += [result(each["id"]) for each in message.get("tool_calls", [])]
        return message

    def ask(self, text: str) -> "Talk":
        self.messages.append(user(text))
        return self

    @property
    def journal(self) -> list[dict[str, Any]]:
        return self.sim.journal()


def verdict_of(reply: Reply) -> str:
    """The rule that a refusal names; "" for an answer."""
    return reply.headers.get("x-sim-rule", "")

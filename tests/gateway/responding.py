"""A client of the Responses API in a test: what it sends, and what it got."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from clew.backends.row import Backend
from clew.settings.load import load
from clew.testing import Simulator
from tests.engine.gate import KEY, Answer, Gate

Json = dict[str, Any]

MODEL = "claude-opus-5-5"
TOOL: Json = {
    "type": "function",
    "name": "Read",
    "strict": False,
    "parameters": {"type": "object", "properties": {"file_path": {"type": "string"}}},
}
THINKS: Json = {"effort": "high", "summary": "auto"}


def openai(simulator: Simulator, *lines: str) -> Backend:
    """A backend that speaks the Responses API, as a user would configure it, with these lines in its table `responses`."""
    table = ["[backends.openai]", 'dialect = "openai-responses"', f'url = "{simulator.url}/v1"', 'model = "gpt-5.5"']
    table += [f'key = "{simulator.key}"', "[backends.openai.responses]", *lines]
    with TemporaryDirectory() as home:
        file = Path(home) / "clew.toml"
        file.write_text("\n".join(table))
        return load(file, {"CLEW_HOME": home}).settings.backends["openai"]


def create(gate: Gate, input: Any, *, key: str = KEY, path: str = "/v1/responses", **fields: Any) -> Answer:
    """POST a request with this input."""
    body = {"model": MODEL, "tools": [TOOL], "reasoning": THINKS, "input": input, **fields}
    return gate.ask(body, path=path, headers=_headers(key))


def response(answer: Answer) -> Json:
    """The response object of an answer, streamed or not."""
    assert answer.status == 200, answer.raw
    if answer.headers["content-type"].startswith("text/event-stream"):
        [end] = [event for event in answer.events if event["type"] == "response.completed"]
        return end["response"]
    assert answer.json["status"] == "completed", answer.raw
    return answer.json


def about(gate: Gate, path: str, *, method: str = "GET", key: str = KEY) -> Answer:
    """A request without a body."""
    connection = http.client.HTTPConnection(urlsplit(gate.url).netloc, timeout=60)
    try:
        connection.request(method, path, headers={name: value for name, value in _headers(key).items() if value})
        reply = connection.getresponse()
        return Answer(reply.status, {name.lower(): value for name, value in reply.getheaders()}, reply.read())
    finally:
        connection.close()


def _headers(key: str) -> Mapping[str, str]:
    return {"authorization": f"Bearer {key}", "x-api-key": "", "anthropic-version": ""}


def asked_of(simulator: Simulator) -> list[Json]:
    """The bodies of all requests that a backend got."""
    return [json.loads(simulator.body(entry["n"])) for entry in simulator.journal()]


def call_in(said: Json) -> Json:
    [call] = [item for item in said["output"] if item["type"] == "function_call"]
    return call


def result_of(call: Json) -> Json:
    return {"type": "function_call_output", "call_id": call["call_id"], "output": "print('hello')"}


def error_of(answer: Answer) -> Json:
    return {"status": answer.status, **answer.json["error"]}

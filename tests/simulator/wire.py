"""Plain HTTP to a simulator, and plain reading of its events, for tests that must not lean on an SDK."""

import http.client
import json
from typing import Any
from urllib.parse import urlsplit

HEADERS = {"x-api-key": "sim-test-1", "anthropic-version": "2023-06-01", "content-type": "application/json"}
TOOL = {
    "name": "get_weather",
    "description": "The weather in a city.",
    "input_schema": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 2}},
        "required": ["city", "days"],
    },
}


class Reply:
    """Status, headers, body."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read()

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def events(self) -> list[dict[str, Any]]:
        return read_events(self.body)


def call(url: str, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> Reply:
    """One request on a connection of its own. Raises what http.client raises when the answer breaks off."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=120)
    try:
        connection.request(method, path, body=body, headers=HEADERS if headers is None else headers)
        return Reply(connection.getresponse())
    finally:
        connection.close()


def ask(url: str, prompt: str = "hi", *, headers: dict[str, str] | None = None, **fields: Any) -> Reply:
    """POST /v1/messages with one user message."""
    request = {"model": "claude-opus-4-6", "max_tokens": 1000, "messages": [{"role": "user", "content": prompt}], **fields}
    body = json.dumps({name: value for name, value in request.items() if value is not None}).encode()
    return call(url, "POST", "/v1/messages", body, {**HEADERS, **(headers or {})})


def read_events(body: bytes) -> list[dict[str, Any]]:
    """The events of a body: each `event:` line names the type that its data has."""
    events: list[dict[str, Any]] = []
    for part in body.decode().split("\n\n"):
        if part:
            name, data = part.split("\n")
            events.append(json.loads(data.removeprefix("data: ")))
            assert name == f"event: {events[-1]['type']}"
    return events

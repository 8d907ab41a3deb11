"""One request over HTTP, with nothing but the standard library, as far as its last event."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from tests.build import Json

HEADERS = {"anthropic-version": "2023-06-01", "content-type": "application/json"}


@dataclass(frozen=True)
class Heard:
    """What came back: the events of a stream, or the words of a refusal."""

    status: int
    headers: Mapping[str, str]
    events: tuple[Json, ...]
    words: str = ""

    @property
    def whole(self) -> bool:
        return self.status == 200 and bool(self.events) and self.events[-1]["type"] == "message_stop"

    @property
    def message(self) -> Json:
        """As its start event tells it."""
        return next(event["message"] for event in self.events if event["type"] == "message_start")


def post(url: str, headers: Mapping[str, str], body: Json, leave_after: int = 0) -> Heard:
    """Ask, and hear the answer out; or hang up when so many bytes of it have come."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=120)
    try:
        connection.request("POST", "/v1/messages", json.dumps(body).encode(), {**HEADERS, **headers})
        response = connection.getresponse()
        text = (response.read(leave_after) if leave_after else response.read()).decode(errors="ignore")
        told = {name.lower(): value for name, value in response.getheaders()}
        if response.status != 200:
            return Heard(response.status, told, (), text)
        return Heard(200, told, tuple(_events(text)))
    finally:
        connection.close()


def _events(text: str) -> list[Json]:
    """Of those that came whole."""
    whole = text.split("\n\n")[:-1]
    lines = [line for event in whole for line in event.split("\n") if line.startswith("data:")]
    return [json.loads(line.removeprefix("data:")) for line in lines]

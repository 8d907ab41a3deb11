"""A dialect that exists to show what one takes: the canonical values in an envelope, one line of JSON each."""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec

from clew.dialects.failures.reading import CUT, UNREADABLE, failure_of
from clew.dialects.shape import (
    AnswerContext,
    BackendFacts,
    BackendHeaders,
    BackendRefusal,
    ClientHeaders,
    ClientSession,
    Dialect,
    Operation,
    WrittenRequest,
)
from clew.errors import RequestInvalid
from clew.model.events import EVENTS, Event, MessageStop, StreamFailed, data_of, read_event
from clew.model.failure import Failure
from clew.model.json import JsonObject, object_of, read_object
from clew.model.lifecycle import STRICT, Lifecycle
from clew.model.request import Request, Wanted
from clew.wire.requests import encode, parse

__all__ = ["DIALECT"]


def read_request(raw: bytes, headers: ClientHeaders, wanted: Wanted) -> Request:
    document = (read_object(raw) or {}).get("toy")
    if not isinstance(document, dict):
        raise RequestInvalid("toy: Field required", path="toy")
    return parse(msgspec.json.encode(document), wanted=wanted)


def write_request(request: Request, options: None) -> WrittenRequest:
    return WrittenRequest(b'{"toy":' + encode(request) + b"}")


class ToyStreamWriter:
    def __init__(self, context: AnswerContext) -> None:
        self._lifecycle = Lifecycle(STRICT)

    def write(self, event: Event) -> bytes:
        self._lifecycle.accept(event)
        return data_of(event) + b"\n"

    def keep_alive(self) -> bytes:
        return b"\n"


class ToyStreamReader:
    late: JsonObject | None = None

    def __init__(self, context: AnswerContext, options: None) -> None:
        self._held: list[bytes] = []
        self._is_over = False

    def begin(self) -> list[Event]:
        return []

    def feed(self, data: bytes) -> list[Event]:
        *lines, rest = data.split(b"\n")
        if lines:
            lines[0] = b"".join([*self._held, lines[0]])
            self._held = []
        self._held += [rest] if rest else []
        return [event for line in lines if not self._is_over for event in self._read(line)]

    def flush(self) -> list[Event]:
        return [] if self._is_over else [CUT.event()]

    def _read(self, line: bytes) -> list[Event]:
        value = read_object(line)
        known = value is not None and value.get("type") in EVENTS
        event = read_event(value) if value is not None and known else UNREADABLE.event()
        self._is_over = isinstance(event, MessageStop | StreamFailed)
        return [event]


def read_answer(raw: bytes, operation: Operation, context: AnswerContext, options: None) -> JsonObject | StreamFailed | None:
    return object_of((read_object(raw) or {}).get("toy")) or None


def read_error(status: int, headers: BackendHeaders, body: bytes, options: None) -> BackendRefusal:
    failure = failure_of(status, body)
    return BackendRefusal(failure.status, write_error(failure, None), failure.wait, is_canonical=True)


def write_error(failure: Failure, request_id: str | None) -> bytes:
    return json.dumps({"error": failure.error()}).encode()


def _no_options(facts: BackendFacts) -> None:
    return None


DIALECT: Final[Dialect[Any]] = Dialect[Any](
    name="toy",
    routes={"/toy": "messages"},
    session_of=lambda headers: ClientSession(headers.get("x-toy", "")),
    read_request=read_request,
    stream_writer=ToyStreamWriter,
    write_answer=lambda message, context: msgspec.json.encode({"toy": message}),
    write_error=write_error,
    paths={"messages": "/toy"},
    request_headers=lambda headers, request, options: (),
    write_request=write_request,
    stream_reader=ToyStreamReader,
    read_answer=read_answer,
    read_error=read_error,
    response_headers=lambda headers, wall: [],
    options_of=_no_options,
    passthrough=lambda options: None,
)

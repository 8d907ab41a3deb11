"""Texts, transcripts and HTTP messages of n and 4n parts, through all that reads or shows them."""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from clew.chat.formats.claude_code import read_transcript
from clew.chat.formats.documents import document_reader
from clew.chat.formats.format import ImportContext, NumberedLine
from clew.chat.markdown import render_finished, render_markdown
from clew.cli.transcripts import excerpts
from clew.cli.transcripts import read_transcript as read_lines
from clew.dialects.failures.reading import failure_of
from clew.errors import SettingsInvalid
from clew.http.client.message import ResponseBroken, ResponseLimits
from clew.http.client.reader import ResponseReader
from clew.http.message import ServerLimits
from clew.http.reader import RequestReader
from clew.model.json import read_partial
from clew.model.recording import Shelf
from clew.settings.load import load
from clew.simulator.script import parse
from clew.wire.sse import Frames, SseLimits
from clew.wire.strict_json import find_fault
from tests.build import assistant, thinking, tool_result, tool_use, user
from tests.growth.work import check_growth, each_with

N = 32

pytestmark = pytest.mark.slow


# HTTP.

GET = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"

HTTP_REQUESTS: dict[str, Callable[[int], bytes]] = {
    "requests in a row": lambda n: GET * n,
    "headers": lambda n: b"GET / HTTP/1.1\r\nhost: x\r\n" + b"".join(b"x-%d: 1\r\n" % i for i in range(n // 2)) + b"\r\n",
    "headers with one name": lambda n: b"GET / HTTP/1.1\r\nhost: x\r\n" + b"x-a: 1\r\n" * (n // 2) + b"\r\n",
    "chunks of one byte": lambda n: POST + b"1\r\nx\r\n" * n + b"0\r\n\r\n",
    "a long target": lambda n: b"GET /%b HTTP/1.1\r\nhost: x\r\n\r\n" % (b"a=1&" * n),
}
HTTP_RESPONSES: dict[str, Callable[[int], bytes]] = {
    "interim answers": lambda n: b"HTTP/1.1 100 Continue\r\n\r\n" * n + OK + b"0\r\n\r\n",
    "headers": lambda n: b"HTTP/1.1 200 OK\r\n" + b"x-a: 1\r\n" * n + b"content-length: 0\r\n\r\n",
    "chunks of one byte": lambda n: OK + b"1\r\nx\r\n" * n + b"0\r\n\r\n",
}


def _all_and_byte_by_byte(raw: bytes) -> list[list[bytes]]:
    return [[raw], [raw[at : at + 1] for at in range(len(raw))]]


def _read_requests(raw: bytes) -> None:
    for pieces in _all_and_byte_by_byte(raw):
        reader = RequestReader(ServerLimits())
        for piece in pieces:
            reader.feed(piece)


def _read_response(raw: bytes) -> None:
    for pieces in _all_and_byte_by_byte(raw):
        reader = ResponseReader(ResponseLimits())
        try:
            for piece in pieces:
                reader.feed(piece)
        except ResponseBroken:
            continue
        reader.taken()


# Texts.

MARKDOWN = {
    **{
        f"{mark!r}": (lambda n, mark=mark: mark * n)
        for mark in ("*", "_", "`", "[", "![", "<", "> ", "- ", "# ", "|", "~~", "\\")
    },
    **{
        f"lines of {line!r}": (lambda n, line=line: f"{line}\n" * n)
        for line in ("a", "- a", "> a", "1. a", "```", "| a | b |", "[a](http://b)", "**a", "[a]: http://b", "")
    },
    "links": lambda n: "[a](http://b) " * n,
    "images": lambda n: "![a](http://b) " * n,
}
TEXT_READERS: dict[str, Callable[[str], object]] = {
    "page": render_markdown,
    "page of an answer under way": render_finished,
    "half of a tool's input": lambda text: read_partial(json.dumps({"text": text})[:-2]),
    "error body": lambda text: failure_of(400, json.dumps({"error": {"message": text}}).encode()),
    "error body that is no JSON": lambda text: failure_of(500, text.encode()),
    "fault finder": lambda text: find_fault(json.dumps([text])[:-1].encode()),
    "frames": lambda text: [Frames(SseLimits()).feed(text.encode()), _bytewise(text.encode())],
}


def _bytewise(raw: bytes) -> None:
    frames = Frames(SseLimits())
    for at in range(len(raw)):
        frames.feed(raw[at : at + 1])
    frames.flush()


# Transcripts.


def _line(i: int, message: Any, kind: str, **more: Any) -> bytes:
    entry = {"type": kind, "uuid": f"u{i}", "parentUuid": f"u{i - 1}" if i else None, "sessionId": "s", "message": message}
    return json.dumps({**entry, "timestamp": "2026-11-17T00:00:00Z", **more}).encode()


def _answer(i: int, *blocks: Any) -> bytes:
    said = {**assistant(*blocks), "id": f"m{i}", "model": "claude-opus-5-5", "type": "message"}
    return _line(i, said, "assistant")


def _talk(*pair: Callable[[int], bytes]) -> Callable[[int], list[bytes]]:
    return lambda n: [pair[i % len(pair)](i) for i in range(n)]


TRANSCRIPTS: dict[str, Callable[[int], list[bytes]]] = {
    "rounds": _talk(lambda i: _line(i, user("Hm?"), "user"), lambda i: _answer(i, thinking("Hm."), "Yes.")),
    "calls": _talk(
        lambda i: _line(i, user(tool_result(f"t{i - 1}")), "user"), lambda i: _answer(i, tool_use(f"t{i}", path="a"))
    ),
    "questions": _talk(lambda i: _line(i, user("Hm?"), "user")),
    "blocks of one answer": lambda n: [
        _line(0, user("Hm?"), "user"),
        *(_line(i, {**assistant(thinking("Hm.")), "id": "m", "model": "claude-opus-5-5"}, "assistant") for i in range(1, n)),
    ],
    "broken lines": _talk(lambda i: b"{"),
    "empty lines": _talk(lambda i: b""),
    "lines of another kind": _talk(lambda i: b'{"type":"summary"}'),
}


def _imported(lines: Sequence[bytes]) -> None:
    reading = ImportContext(principal="local", known=Shelf(), thread_of=lambda *_: None, at=0.0)
    list(read_transcript([NumberedLine(i, line) for i, line in enumerate(lines)], reading))
    list(document_reader("x", lambda document: [])([NumberedLine(i, line) for i, line in enumerate(lines)], reading))


def _checked(lines: Sequence[bytes]) -> None:
    transcript = read_lines(b"\n".join(lines))
    for talk in transcript.threads.values():
        list(excerpts(talk, "claude-opus-5-5"))


TRANSCRIPT_READERS: dict[str, Callable[[Sequence[bytes]], object]] = {"import": _imported, "check": _checked}


@pytest.mark.parametrize("repeated", HTTP_REQUESTS)
def test_an_http_request_costs_work_in_proportion(repeated: str) -> None:
    check_growth(HTTP_REQUESTS[repeated], _read_requests, N)


@pytest.mark.parametrize("repeated", HTTP_RESPONSES)
def test_an_http_response_costs_work_in_proportion(repeated: str) -> None:
    check_growth(HTTP_RESPONSES[repeated], _read_response, N)


@pytest.mark.parametrize(("repeated", "reader"), each_with(MARKDOWN, TEXT_READERS))
def test_a_text_costs_work_in_proportion(repeated: str, reader: str) -> None:
    check_growth(MARKDOWN[repeated], TEXT_READERS[reader], N)


@pytest.mark.parametrize(("repeated", "reader"), each_with(TRANSCRIPTS, TRANSCRIPT_READERS))
def test_a_transcript_costs_work_in_proportion(repeated: str, reader: str) -> None:
    check_growth(TRANSCRIPTS[repeated], TRANSCRIPT_READERS[reader], N)


# Settings and scripts.

CONFIGS: dict[str, Callable[[int], str]] = {
    "backends": lambda n: "".join(f'[backends.b{i}]\npreset = "zai"\nkey = "k{i}"\n' for i in range(n)),
    "disabled backends": lambda n: "".join(f'[backends.b{i}]\npreset = "zai"\nkey = "${{NONE_{i}}}"\n' for i in range(n)),
    "rules": lambda n: '[backends.b0]\npreset = "zai"\nkey = "k"\n' + '[[rules]]\nagent = "a"\nbackend = "b0"\n' * n,
    "keys of a backend": lambda n: f'[backends.b0]\npreset = "zai"\nkeys = {[f"k{i}" for i in range(n)]}\n',
    "unknown keys": lambda n: "".join(f"key_{i} = 1\n" for i in range(n)),
    "comments": lambda n: "# a\n" * n,
}
SCENARIOS: dict[str, Callable[[int], str]] = {
    "turns": lambda n: "turn:\ntext: Hello\n" * n,
    "directions": lambda n: "turn:\n" + "text: Hello\n" * n,
    "lines of a text": lambda n: "turn:\ntext: Hello\n" + "| and on\n" * n,
    "comments": lambda n: "# a\n" * n + "turn:\ntext: Hello\n",
    "wrong lines": lambda n: "turn:\n" + "odd\n" * n,
}


@pytest.mark.parametrize("repeated", CONFIGS)
def test_a_config_costs_work_in_proportion(repeated: str, tmp_path: Path) -> None:
    def make(n: int) -> Path:
        file = tmp_path / f"{n}.toml"
        file.write_text(CONFIGS[repeated](n))
        file.chmod(0o600)
        return file

    def read(file: Path) -> None:
        with suppress(SettingsInvalid):
            load(file, {})

    check_growth(make, read, N)


@pytest.mark.parametrize("repeated", SCENARIOS)
def test_a_scenario_costs_work_in_proportion(repeated: str) -> None:
    def read(text: str) -> None:
        with suppress(SettingsInvalid):
            parse(text, "x")

    check_growth(SCENARIOS[repeated], read, N)

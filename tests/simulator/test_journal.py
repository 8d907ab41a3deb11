"""The journal: what came, what was found, which blocks came back, how it ended."""

import json
import socket
import threading
import time
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from clew.http.message import request_of
from clew.simulator.journal import Journal, entries_json
from clew.testing import Simulator
from tests.simulator.standin import judge
from tests.simulator.wire import HEADERS, ask, call
from tests.waiting import until

BODY = b'{ "model":"claude-opus-4-6", "max_tokens":50,\n"messages":[{"role":"user","content":"hi"}] }'


def test_an_entry_tells_the_whole_story() -> None:
    thought = {"type": "thinking", "thinking": "", "signature": "s"}
    messages = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [thought, {"type": "text", "text": "a"}]},
        {"role": "user", "content": "[[scenario:thinking]]"},
    ]
    began = time.time()
    with Simulator(judge=judge) as sim:
        reply = ask(sim.url, messages=messages, stream=True, thinking={"type": "adaptive"})
        (entry,) = sim.journal()
    assert began <= entry.pop("came") <= entry.pop("ended_at") <= time.time()
    body = entry.pop("body")
    headers = dict(entry.pop("headers"))
    assert body["messages"] == messages
    assert headers["x-api-key"] == "***"
    assert headers["anthropic-version"] == "2023-06-01"
    assert entry == {
        "n": 1,
        "request_id": reply.headers["request-id"],
        "account": "test",
        "credential": sha256(b"sim-test-1").hexdigest()[:8],
        "method": "POST",
        "path": "/v1/messages",
        "query": "",
        "size": int(headers["content-length"]),
        "verdict": {"ok": True},
        "thinking": [
            {"path": "messages.1.content.0", "maker": "somebody", "whose": "unknown", "fate": "kept", "reason": ""}
        ],
        "scenario": "thinking",
        "turn": 0,
        "faults": [],
        "response": {
            "status": 200,
            "stream": True,
            "message_id": reply.events[0]["message"]["id"],
            "model": "claude-opus-4-6",
            "content": ["thinking", "text"],
            "stop_reason": "end_turn",
            "output_tokens": reply.events[-2]["usage"]["output_tokens"],
        },
        "ended": "whole",
    }


def test_refusals_are_entries_with_their_rule() -> None:
    with Simulator(judge=judge) as sim:
        ask(sim.url, illegal=True)
        ask(sim.url, headers={"x-api-key": "sim-invalid"})
        call(sim.url, "GET", "/nowhere")
        found = [(entry["account"], entry["verdict"]["rule"], entry["response"]) for entry in sim.journal()]
    assert found == [
        ("test", "R4.test", {"status": 400}),
        ("", "R1.credential-invalid", {"status": 401}),
        ("test", "R62.not-found", {"status": 404}),
    ]


def test_a_body_is_kept_byte_for_byte() -> None:
    with Simulator(judge=judge) as sim:
        call(sim.url, "POST", "/v1/messages", BODY)
        assert sim.body(1) == BODY
        assert call(sim.url, "GET", "/_sim/journal/1/body", headers={}).body == BODY
        assert call(sim.url, "GET", "/_sim/journal/2/body", headers={}).status == 404
        with pytest.raises(LookupError):
            sim.body(2)


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (b"", {"body": None, "size": 0}),
        (b"{not json", {"body": None, "size": 9, "body_text": "{not json"}),
        (b'{"a":"\xff"}', {"body": None, "size": 9, "body_base64": "eyJhIjoi/yJ9"}),
        (b'{"n":123456789012345678901234567890}', {"body": {"n": 123456789012345678901234567890}, "size": 36}),
        (b"[" * 100_000, {"body": None, "size": 100_000, "body_text": "[" * 100_000}),
    ],
    ids=["empty", "no-json", "no-utf8", "big-integer", "too-deep"],
)
def test_a_body_of_any_kind_is_shown(body: bytes, shown: dict[str, Any]) -> None:
    journal = Journal()
    entry = journal.open(request_of(method="POST", target="/", headers=(), body=body), "req", "a")
    (told,) = json.loads(entries_json([entry]))
    assert {name: told[name] for name in told if name.startswith(("body", "size"))} == shown


def test_since_gives_what_came_after_and_numbers_are_never_used_twice() -> None:
    with Simulator(judge=judge) as sim:
        for _ in range(3):
            ask(sim.url)
        assert [entry["n"] for entry in sim.journal(since=1)] == [2, 3]
        told = call(sim.url, "GET", "/_sim/journal?since=2", headers={}).json
        assert [entry["n"] for entry in told] == [3]
        sim.reset()
        assert sim.journal() == []
        ask(sim.url)
        assert [entry["n"] for entry in sim.journal()] == [4]


def test_a_file_gets_one_line_for_each_request(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text('{"earlier": true}\n')
    with Simulator(judge=judge, journal=path) as sim:
        call(sim.url, "POST", "/v1/messages", BODY)
        ask(sim.url, illegal=True)
        entries = sim.journal()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines == [{"earlier": True}, *entries]
    assert "sim-test-1" not in path.read_text()


def test_the_oldest_bodies_are_forgotten_when_they_are_too_many() -> None:
    journal = Journal(body_budget=10)
    for size in (6, 4, 5, 20):
        journal.open(request_of(method="POST", target="/", headers=(), body=b"x" * size), "req", "a")
    assert [entry.body and len(entry.body) for entry in journal.since()] == [None, None, None, 20]


@pytest.mark.parametrize("phase", ["slow-start 20", "stall 20 after=3"])
def test_a_client_that_leaves_is_seen_to_have_left(phase: str) -> None:
    """C1: the oracle for a gateway's cancellation."""
    with Simulator(judge=judge) as sim:
        head = b"".join(f"{name}: {value}\r\n".encode() for name, value in HEADERS.items())
        body = BODY.replace(b'"max_tokens"', b'"stream":true, "max_tokens"')
        peer = socket.create_connection(("127.0.0.1", urlsplit(sim.url).port or 0), timeout=120)
        peer.sendall(b"POST /v1/messages HTTP/1.1\r\nHost: x\r\n" + head + b"x-sim-fault: " + phase.encode() + b"\r\n")
        peer.sendall(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        until(lambda: bool(sim.journal()))
        assert (sim.journal()[0]["ended"], sim.journal()[0]["ended_at"]) == ("no", None)
        left = time.time()
        peer.close()
        until(lambda: sim.journal()[0]["ended"] == "client left")
        assert left <= sim.journal()[0]["ended_at"] < left + 3


def test_parallel_requests_each_have_their_entry() -> None:
    with Simulator(judge=judge) as sim:
        threads = [threading.Thread(target=ask, args=(sim.url, f"prompt {n}")) for n in range(26)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        prompts = {entry["body"]["messages"][0]["content"] for entry in sim.journal()}
        assert prompts == {f"prompt {n}" for n in range(26)}
        assert len({entry["request_id"] for entry in sim.journal()}) == 26

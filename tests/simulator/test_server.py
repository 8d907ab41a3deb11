"""The simulator's routes over real sockets: who may ask, what is answered, which headers come along."""

import gzip
import json
import re
import socket
import zlib
from typing import Any
from urllib.parse import urlsplit

import pytest

from clew.model.facts import models
from clew.simulator.anthropic.memory import Quota
from clew.simulator.identity import IdMaker, account_of, organization_of
from clew.simulator.interfaces import Account, VendorRefusal
from clew.simulator.server import stance
from clew.testing import Simulator
from clew.testing.plugin import StartSimulator
from tests.manifest import accepts, proves, refuses
from tests.simulator.standin import judge
from tests.simulator.wire import HEADERS, ask, call

BODY = b'{"model":"claude-opus-4-6","max_tokens":50,"messages":[{"role":"user","content":"hi"}]}'
VERSION = {"anthropic-version": "2023-06-01"}


# Who asks.


@pytest.mark.parametrize(
    ("headers", "account"),
    [
        ({"x-api-key": "sim-alice-1"}, Account(name="alice")),
        ({"x-api-key": "sim-alice-2"}, Account(name="alice")),
        ({"x-api-key": "sim-alice"}, Account(name="alice")),
        ({"authorization": "Bearer sim-bob-1"}, Account(name="bob")),
        ({"authorization": "bearer sim-bob-1"}, Account(name="bob")),
        ({"x-api-key": "sim-old.timer-1"}, Account(name="old.timer", created_after_binding=False)),
        ({"x-api-key": "sim-alice-1", "authorization": "Bearer sim-bob-1"}, Account(name="alice")),
    ],
)
def test_a_key_belongs_to_an_account(headers: dict[str, str], account: Account) -> None:
    """R1; C-1: with both headers, x-api-key is used."""
    assert account_of(headers, stance()) == account
    assert re.fullmatch(r"[0-9a-f-]{36}", organization_of(account))


def test_keys_without_a_name_have_an_account_each() -> None:
    found = [account_of({"x-api-key": key}, stance()) for key in ("sk-1", "sk-2", "sk-1")]
    assert found[0] == found[2] != found[1]


@proves("conflict:C-1")
@refuses("rule:R1.credential-missing", "rule:R1.credential-invalid", "rule:R1.credential-both")
@accepts("rule:R1.credential-missing", "rule:R1.credential-invalid", "rule:R1.credential-both")
@pytest.mark.parametrize(
    ("headers", "settings", "rule", "message"),
    [
        ({}, {}, "R1.credential-missing", "x-api-key header is required"),
        ({"x-api-key": ""}, {}, "R1.credential-missing", "x-api-key header is required"),
        ({"authorization": "Basic abc"}, {}, "R1.credential-missing", "x-api-key header is required"),
        ({"x-api-key": "sim-invalid"}, {}, "R1.credential-invalid", "invalid x-api-key"),
        ({"authorization": "Bearer sim-invalid-1"}, {}, "R1.credential-invalid", "invalid x-api-key"),
        (
            {"x-api-key": "a", "authorization": "Bearer b"},
            {"both_credentials": "reject"},
            "R1.credential-both",
            "Only one of x-api-key and Authorization may be set",
        ),
        ({"x-api-key": "a", "authorization": "Bearer b"}, {}, None, None),
        ({"x-api-key": "a"}, {"both_credentials": "reject"}, None, None),
    ],
)
def test_a_request_without_a_good_key_is_refused(
    headers: dict[str, str], settings: dict[str, object], rule: str | None, message: str | None
) -> None:
    """R1, C-1."""
    found = account_of(headers, stance(settings))
    if rule is None:
        assert isinstance(found, Account)
    else:
        assert isinstance(found, VendorRefusal)
        assert (found.rule, found.status, found.error_type, found.message) == (
            rule,
            401,
            "authentication_error",
            message,
        )


@refuses("rule:R1.credential-invalid")
def test_a_bad_key_is_answered_in_the_vendors_envelope_with_the_rule_in_a_header(sim: Simulator) -> None:
    reply = ask(sim.url, headers={"x-api-key": "sim-invalid"})
    assert reply.status == 401
    assert reply.json == {
        "type": "error",
        "error": {"type": "authentication_error", "message": "invalid x-api-key"},
        "request_id": reply.headers["request-id"],
    }
    assert (reply.headers["x-sim-rule"], reply.headers["x-sim-grade"]) == ("R1.credential-invalid", "B")


# What is asked.


@accepts("rule:R77", "rule:R62.not-found", "rule:R62.too-large")
def test_an_answer_has_the_vendors_headers(sim: Simulator) -> None:
    reply = ask(sim.url, "hi")
    assert reply.status == 200
    assert reply.headers["content-type"] == "application/json"
    assert re.fullmatch(r"req_011[0-9A-Za-z]{22}", reply.headers["request-id"])
    assert re.fullmatch(r"msg_01[0-9A-Za-z]{22}", reply.json["id"])
    assert reply.headers["anthropic-organization-id"] == organization_of(Account(name="test"))
    limits = {name: value for name, value in reply.headers.items() if name.startswith("anthropic-ratelimit-")}
    assert set(limits) == {
        f"anthropic-ratelimit-{what}-{which}"
        for what in ("requests", "input-tokens", "output-tokens")
        for which in ("limit", "remaining", "reset")
    }
    assert limits["anthropic-ratelimit-requests-remaining"] == "3999"
    assert "x-sim-rule" not in reply.headers


def test_what_remains_is_rounded_to_thousands_and_comes_back_after_a_minute() -> None:
    """R77."""
    now = 30.0
    quota = Quota(lambda: now)
    told = dict(quota.headers("a", input_tokens=1700, output_tokens=400))
    assert told["anthropic-ratelimit-input-tokens-remaining"] == "1998000"
    assert told["anthropic-ratelimit-output-tokens-remaining"] == "400000"
    assert told["anthropic-ratelimit-requests-reset"] == "1970-01-01T00:01:00Z"
    assert dict(quota.headers("a"))["anthropic-ratelimit-requests-remaining"] == "3998"
    now = 61.0
    assert dict(quota.headers("a"))["anthropic-ratelimit-requests-remaining"] == "3999"


def test_a_refusal_by_the_judge_is_plain_json_also_for_a_stream(sim: Simulator) -> None:
    """R63: a validation error is JSON even with stream true."""
    reply = ask(sim.url, stream=True, illegal=True)
    assert (reply.status, reply.headers["content-type"]) == (400, "application/json")
    assert (reply.headers["x-sim-rule"], reply.headers["x-sim-grade"]) == ("R4.test", "B")
    assert reply.json["error"] == {
        "type": "invalid_request_error",
        "message": "illegal: Extra inputs are not permitted",
    }
    assert "anthropic-ratelimit-requests-limit" in reply.headers


def test_a_stream_says_what_it_is(sim: Simulator) -> None:
    reply = ask(sim.url, stream=True)
    assert reply.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert reply.headers["cache-control"] == "no-cache"
    assert [reply.events[0]["type"], reply.events[-1]["type"]] == ["message_start", "message_stop"]


def test_the_query_string_of_claude_code_is_accepted(sim: Simulator) -> None:
    """Every model call of Claude Code is POST /v1/messages?beta=true."""
    assert call(sim.url, "POST", "/v1/messages?beta=true", BODY).status == 200


@pytest.mark.parametrize("path", ["/", "/api/hello"])
def test_the_probes_of_claude_code_are_answered_without_a_key(sim: Simulator, path: str) -> None:
    """HEAD /api/hello and HEAD /, to warm the connection."""
    reply = call(sim.url, "HEAD", path, headers={})
    assert (reply.status, reply.body) == (200, b"")


@refuses("rule:R62.not-found")
@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/v1/complete"), ("GET", "/v1/messages"), ("GET", "/v1/models/claude-nobody"), ("POST", "/v1/messages/")],
)
def test_every_other_path_is_not_found_in_the_vendors_shape(sim: Simulator, method: str, path: str) -> None:
    reply = call(sim.url, method, path, b"{}" if method == "POST" else None)
    assert reply.status == 404
    assert reply.json["error"] == {"type": "not_found_error", "message": "The requested resource could not be found."}
    assert reply.headers["x-sim-rule"] == "R62.not-found"


@refuses("rule:R62.too-large")
def test_a_body_over_32_mb_is_refused_by_the_edge(sim: Simulator) -> None:
    head = b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nx-api-key: k\r\nContent-Length: 33554433\r\n\r\n"
    with socket.create_connection(("127.0.0.1", urlsplit(sim.url).port or 0), timeout=120) as peer:
        peer.sendall(head)
        got = b""
        while part := peer.recv(65536):
            got += part
    text = got.decode()
    assert text.startswith("HTTP/1.1 413 ")
    assert "x-sim-rule: R62.too-large\r\n" in text
    assert json.loads(text.split("\r\n\r\n")[1]) == {
        "error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}
    }


@accepts("rule:R62.too-large-decoded")
@pytest.mark.parametrize("coding", ["gzip", "deflate", "identity"])
def test_a_compressed_body_is_read(sim: Simulator, coding: str) -> None:
    pack = {"gzip": gzip.compress, "deflate": zlib.compress, "identity": bytes}[coding]
    reply = call(sim.url, "POST", "/v1/messages", pack(BODY), {**HEADERS, "content-encoding": coding})
    assert (reply.status, reply.json["usage"]["input_tokens"]) == (200, 1)


@refuses("rule:R62.too-large-decoded")
def test_a_body_that_is_too_large_once_decoded_is_refused_with_its_code(sim: Simulator) -> None:
    """R62; U16: a bomb costs no more than the bound."""
    bomb = gzip.compress(b" " * (32 * 1024 * 1024 + 1), compresslevel=1)
    reply = call(sim.url, "POST", "/v1/messages", bomb, {**HEADERS, "content-encoding": "gzip"})
    assert reply.status == 413
    assert reply.json["error"] == {
        "type": "request_too_large",
        "message": "Request exceeds the maximum size",
        "details": {"error_code": "request_body_too_large_after_decoding"},
    }
    assert reply.headers["x-sim-rule"] == "R62.too-large-decoded"


@pytest.mark.parametrize(
    ("coding", "body", "status"),
    [("gzip", BODY, 400), ("gzip", gzip.compress(BODY)[:-9], 400), ("br", BODY, 415)],
    ids=["no-gzip", "half", "brotli"],
)
def test_a_body_that_cannot_be_unpacked_is_refused(sim: Simulator, coding: str, body: bytes, status: int) -> None:
    reply = call(sim.url, "POST", "/v1/messages", body, {**HEADERS, "content-encoding": coding})
    assert (reply.status, reply.headers["x-sim-rule"]) == (status, "sim.encoding")


def test_bad_framing_is_refused_in_the_vendors_shape(sim: Simulator) -> None:
    with socket.create_connection(("127.0.0.1", urlsplit(sim.url).port or 0), timeout=120) as peer:
        peer.sendall(b"POST /v1/messages HTTP/1.1\r\nHost : x\r\n\r\n")
        text = peer.recv(65536).decode()
    assert text.startswith("HTTP/1.1 400 ")
    assert json.loads(text.split("\r\n\r\n")[1])["error"]["type"] == "invalid_request_error"


@accepts("rule:R74")
def test_count_tokens_counts_what_messages_would_read(sim: Simulator) -> None:
    counted = call(sim.url, "POST", "/v1/messages/count_tokens", BODY)
    said = call(sim.url, "POST", "/v1/messages", BODY)
    assert counted.json == {"input_tokens": said.json["usage"]["input_tokens"]} == {"input_tokens": 1}
    managed = {**json.loads(BODY), "context_management": {"edits": []}}
    reply = call(sim.url, "POST", "/v1/messages/count_tokens", json.dumps(managed).encode())
    assert reply.json == {"input_tokens": 1, "context_management": {"original_input_tokens": 1}}


@accepts("rule:R73")
def test_usage_adds_up_and_the_cache_is_read_the_second_time(sim: Simulator) -> None:
    """R58, R73: the three parts of the input are its whole."""
    block = {"type": "text", "text": "x" * 100, "cache_control": {"type": "ephemeral"}}
    content = [block, {"type": "text", "text": "y" * 40}]
    usages: list[Any] = [ask(sim.url, messages=[{"role": "user", "content": content}]).json["usage"] for _ in range(2)]
    parts = [
        (u["input_tokens"], u["cache_creation_input_tokens"], u["cache_read_input_tokens"], u["cache_creation"])
        for u in usages
    ]
    assert parts == [
        (10, 25, 0, {"ephemeral_5m_input_tokens": 25, "ephemeral_1h_input_tokens": 0}),
        (10, 0, 25, {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0}),
    ]


# Models.


@accepts("rule:R75")
def test_a_model_has_the_vendors_fields(sim: Simulator) -> None:
    reply = call(sim.url, "GET", "/v1/models/claude-sonnet-5-5")
    facts = models()["claude-sonnet-5-5"]
    row = reply.json
    thinking = row["capabilities"]["thinking"]["types"]
    assert {kind for kind in thinking if thinking[kind]["supported"]} == set(facts.thinking)
    assert (row["id"], row["type"], row["display_name"]) == ("claude-sonnet-5-5", "model", "Claude Sonnet 5.5")
    assert (row["line"], row["lifecycle"], row["max_tokens"]) == ("sonnet", "active", facts.max_tokens)
    assert set(row["capabilities"]) == {
        "batch",
        "citations",
        "code_execution",
        "context_management",
        "effort",
        "image_input",
        "pdf_input",
        "server_tools",
        "structured_outputs",
        "thinking",
    }


@accepts("rule:R75")
def test_models_are_listed_page_by_page(sim: Simulator) -> None:
    everything = call(sim.url, "GET", "/v1/models?limit=1000").json
    names = [row["id"] for row in everything["data"]]
    assert set(names) == set(models()) - {"unknown"}
    assert (everything["has_more"], everything["first_id"], everything["last_id"]) == (False, names[0], names[-1])
    page = call(sim.url, "GET", f"/v1/models?limit=2&after_id={names[0]}").json
    assert ([row["id"] for row in page["data"]], page["has_more"]) == (names[1:3], True)
    before = call(sim.url, "GET", f"/v1/models?before_id={names[2]}").json
    assert [row["id"] for row in before["data"]] == names[:2]
    nearest = call(sim.url, "GET", f"/v1/models?limit=2&before_id={names[5]}").json
    assert ([row["id"] for row in nearest["data"]], nearest["has_more"]) == (names[3:5], True)
    assert call(sim.url, "GET", "/v1/models", headers=VERSION).status == 401


@accepts("rule:R75.limit")
@pytest.mark.parametrize("limit", ["1", "1000", "007"])
def test_a_page_has_up_to_a_thousand_models(sim: Simulator, limit: str) -> None:
    reply = call(sim.url, "GET", f"/v1/models?limit={limit}")
    assert (reply.status, len(reply.json["data"])) == (200, min(int(limit), len(models()) - 1))


@refuses("rule:R75.limit")
@pytest.mark.parametrize(
    ("limit", "allowed"),
    [
        ("0", "greater than or equal to 1"),
        ("-3", "greater than or equal to 1"),
        ("1001", "less than or equal to 1000"),
        ("9" * 5000, "less than or equal to 1000"),
        ("many", "a valid integer, unable to parse string as an integer"),
        ("%C2%B2", "a valid integer, unable to parse string as an integer"),
    ],
)
def test_a_limit_that_no_page_has_is_refused(sim: Simulator, limit: str, allowed: str) -> None:
    reply = call(sim.url, "GET", f"/v1/models?limit={limit}")
    error = {"type": "invalid_request_error", "message": f"limit: Input should be {allowed}"}
    assert (reply.status, reply.json["error"], reply.headers["x-sim-rule"]) == (400, error, "R75.limit")


@accepts("rule:R75")
def test_another_vendor_has_every_model(simulators: StartSimulator) -> None:
    sim = simulators(kind="compat", judge=judge)
    assert [row["id"] for row in call(sim.url, "GET", "/v1/models").json["data"]] == ["compat-model"]
    row = call(sim.url, "GET", "/v1/models/qwen3-32b").json
    assert (row["id"], row["line"]) == ("qwen3-32b", None)


def test_a_dated_name_is_found_and_kept(sim: Simulator) -> None:
    assert call(sim.url, "GET", "/v1/models/claude-sonnet-4-5-20250929").json["id"] == "claude-sonnet-4-5-20250929"


# Ids and what is forgotten.


def test_ids_are_the_same_for_the_same_seed_account_and_bytes() -> None:
    def some(seed: int = 0, account: str = "a", body: bytes = b"b") -> str:
        return IdMaker(seed).ids(account, "/p", body).request

    assert some() == some()
    assert len({some(), some(seed=1), some(account="x"), some(body=b"c")}) == 4
    mint = IdMaker(0)
    first, second = mint.ids("a", "/p", b"b"), mint.ids("a", "/p", b"b")
    assert first.request == some() != second.request
    assert len({first.message, first.request, first.tool(0), first.tool(1)}) == 4
    mint.reset()
    assert mint.ids("a", "/p", b"b") == first


def test_a_simulator_says_the_same_again_after_a_reset(sim: Simulator) -> None:
    first, second = ask(sim.url, "hi"), ask(sim.url, "hi")
    assert first.json["id"] != second.json["id"]
    assert call(sim.url, "POST", "/_sim/reset", b"", {}).json == {"ok": True}
    again = ask(sim.url, "hi")
    assert (again.json, again.headers["request-id"]) == (first.json, first.headers["request-id"])


def test_two_simulators_with_one_seed_speak_alike() -> None:
    replies = []
    for seed in (7, 7, 8):
        with Simulator(judge=judge, seed=seed) as sim:
            replies.append(ask(sim.url, "hi", thinking={"type": "adaptive"}).body)
    assert replies[0] == replies[1] != replies[2]


def test_control_routes_need_no_key_and_know_their_scenarios(sim: Simulator) -> None:
    told = call(sim.url, "GET", "/_sim/scenarios", headers={}).json
    assert told["loop"] == "Three tool calls, one after another, each with its own thought."
    assert call(sim.url, "GET", "/_sim/nothing", headers={}).status == 404


def test_pipelined_requests_are_all_answered(sim: Simulator) -> None:
    head = b"".join(f"{name}: {value}\r\n".encode() for name, value in HEADERS.items())
    one = b"POST /v1/messages HTTP/1.1\r\nHost: x\r\n" + head + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
    with socket.create_connection(("127.0.0.1", urlsplit(sim.url).port or 0), timeout=120) as peer:
        peer.sendall(one * 3)
        peer.shutdown(socket.SHUT_WR)
        got = b""
        while part := peer.recv(65536):
            got += part
    assert got.count(b"HTTP/1.1 200 OK") == 3


@pytest.mark.parametrize(
    ("streams", "kind"), [("always", "text/event-stream; charset=utf-8"), ("never", "application/json")]
)
@pytest.mark.parametrize("asked", [True, False, None])
def test_a_server_may_answer_in_one_way_whatever_is_asked_for(
    simulators: StartSimulator, streams: str, kind: str, asked: bool | None
) -> None:
    """In both dialects; the journal has what was sent."""
    for vendor, path in (("anthropic", "/v1/messages"), ("deepseek-chat", "/v1/chat/completions")):
        sim = simulators(kind=vendor, stance={"streams": streams})
        model = "claude-opus-4-6" if vendor == "anthropic" else "deepseek-v4-pro"
        body = {"model": model, "max_tokens": 50, "stream": asked, "messages": [{"role": "user", "content": "hi"}]}
        raw = json.dumps({name: value for name, value in body.items() if value is not None}).encode()
        reply = call(sim.url, "POST", path, raw, {**HEADERS, "authorization": f"Bearer {sim.key}"})
        assert (reply.status, reply.headers["content-type"]) == (200, kind), reply.body
        assert sim.journal()[0]["response"]["stream"] is (streams == "always")

"""Every rule of the Responses book from both sides, over a real socket: what breaks it, and the nearest thing that does not."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from clew.simulator.openai_responses.judge.case import RESPONSES_RULES
from clew.simulator.openai_responses.vendors import responses_vendors
from clew.testing import Simulator
from tests.manifest import accepts, refuses
from tests.simulator.openai_responses.pairs import CONVERSATIONS, SHAPES, Pair
from tests.simulator.openai_responses.talking import TOOL, Talk, events, model_of, post, user, verdict_of
from tests.simulator.wire import call

SIM = Callable[[str], Simulator]
KIND = "openai-responses"
PAIRS = [*SHAPES, *CONVERSATIONS]

ELSEWHERE = {
    *("not-found", "websocket", "key-missing", "key-invalid", "too-large", "body-not-json"),
    *("response-unknown", "reference-lost", "summary-unverified", "text-missing", "too-long"),
    *("blob-unsupported", "blob-prefix", "blob-invalid", "blob-missing", "reasoning-missing", "reasoning-alone"),
    "signature-invalid",
}
"""Rules that a table of bodies cannot show; tests with marks of their own do."""


def body_of(kind: str, changes: dict[str, Any]) -> dict[str, Any]:
    body = {"model": model_of(kind), "input": [user("Hi.")], **changes}
    return {key: value for key, value in body.items() if value is not None}


def marked(pair: Pair, n: int, mark: Any) -> Any:
    return pytest.param(pair, marks=mark(f"rule:responses.{pair.rule}"), id=f"{pair.rule}-{n}")


@pytest.mark.parametrize("pair", [marked(pair, n, refuses) for n, pair in enumerate(PAIRS)])
def test_what_breaks_the_rule_is_refused_by_it(sim_of: SIM, pair: Pair) -> None:
    reply = post(sim_of(pair.kind), body_of(pair.kind, pair.bad))
    assert (verdict_of(reply), reply.status >= 400) == (f"responses.{pair.rule}", True), reply.body


@pytest.mark.parametrize("pair", [marked(pair, n, accepts) for n, pair in enumerate(PAIRS)])
def test_the_nearest_thing_that_keeps_the_rule_is_taken(sim_of: SIM, pair: Pair) -> None:
    reply = post(sim_of(pair.kind), body_of(pair.kind, pair.good))
    assert (verdict_of(reply), reply.status) == ("", 200), reply.body


def test_every_rule_has_both_sides_and_every_exception_is_a_rule() -> None:
    book = RESPONSES_RULES.rules
    rules = {name.removeprefix("responses.") for name in book if not name.startswith("responses.status-")}
    assert {pair.rule for pair in PAIRS} | ELSEWHERE == rules
    for vendor in responses_vendors().values():
        assert set(vendor.without) <= {name for name in rules if not book[f"responses.{name}"].special}
        assert set(vendor.special) <= {name for name in rules if book[f"responses.{name}"].special}
        assert {name for name in vendor.words if not name.startswith("status-")} <= rules


@pytest.mark.parametrize("kind", list(responses_vendors()))
def test_a_plain_question_with_a_tool_is_taken_by_every_kind(sim_of: SIM, kind: str) -> None:
    assert post(sim_of(kind), body_of(kind, {"tools": [TOOL], "tool_choice": "auto"})).status == 200


def test_the_first_defect_in_the_measured_order_is_named(sim_of: SIM) -> None:
    sim = sim_of(KIND)
    body: dict[str, Any] = {"zzz": 1, "truncation": "x", "stream": "x", "temperature": 0.5, "previous_response_id": "resp_x"}

    def place() -> tuple[str, str]:
        refusal = post(sim, body).json["error"]
        return refusal["param"], refusal["code"]

    assert place() == ("model", "missing_required_parameter")
    body["model"] = "gpt-5.6"
    assert place() == ("zzz", "unknown_parameter")
    del body["zzz"]
    body["input"] = 7
    assert place() == ("input", "invalid_type")
    body["input"] = "Hi."
    assert place() == ("stream", "invalid_type")
    del body["stream"]
    assert place() == ("truncation", "invalid_value")
    del body["truncation"]
    assert place() == ("previous_response_id", "previous_response_not_found")
    del body["previous_response_id"]
    assert place() == ("temperature", None)


# Transport.


@refuses("rule:responses.not-found")
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses/compact/now", "/v1/messages"])
def test_a_path_that_there_is_not(sim_of: SIM, path: str) -> None:
    reply = post(sim_of(KIND), {}, path=path)
    assert (reply.status, reply.json["error"]["message"]) == (404, f"Invalid URL (POST {path})")


@accepts(
    "rule:responses.not-found", "rule:responses.key-missing", "rule:responses.key-invalid", "rule:responses.body-not-json"
)
def test_any_key_works_at_the_right_path(sim_of: SIM) -> None:
    assert post(sim_of(KIND), body_of(KIND, {}), key="anything").status == 200


@refuses("rule:responses.websocket")
def test_a_websocket_is_told_to_use_http(sim_of: SIM) -> None:
    headers = {"authorization": "Bearer sim-a-1", "upgrade": "websocket", "connection": "Upgrade"}
    assert call(sim_of(KIND).url, "GET", "/v1/responses", b"", headers).status == 426


@refuses("rule:responses.key-missing")
@pytest.mark.parametrize("kind", [kind for kind, row in responses_vendors().items() if not row.open])
def test_a_vendor_wants_a_key(sim_of: SIM, kind: str) -> None:
    reply = post(sim_of(kind), body_of(kind, {}), key="")
    assert (reply.status, verdict_of(reply)) == (401, "responses.key-missing")


@pytest.mark.parametrize("kind", [kind for kind, row in responses_vendors().items() if row.open])
def test_a_server_of_ones_own_does_not(sim_of: SIM, kind: str) -> None:
    assert post(sim_of(kind), body_of(kind, {}), key="").status == 200


def test_azure_has_a_header_of_its_own(sim_of: SIM) -> None:
    sim = sim_of("azure-responses")
    assert post(sim, body_of("azure-responses", {}), key="", **{"api-key": "sim-a-1"}).status == 200
    assert (sim.journal()[-1]["account"], ["api-key", "***"] in sim.journal()[-1]["headers"]) == ("a", True)


@refuses("rule:responses.key-invalid")
def test_a_key_that_nobody_has(sim_of: SIM) -> None:
    reply = post(sim_of(KIND), body_of(KIND, {}), key="sim-invalid")
    assert (reply.status, reply.json["error"]["code"]) == (401, "invalid_api_key")


@refuses("rule:responses.body-not-json")
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"model": NaN}', b"\xff"])
def test_a_body_that_is_no_object(sim_of: SIM, body: bytes) -> None:
    assert verdict_of(post(sim_of(KIND), body)) == "responses.body-not-json"


# Accounts, conversations, lengths.


@accepts("rule:responses.summary-unverified")
@refuses("rule:responses.summary-unverified")
def test_an_organization_that_is_not_verified_gets_no_summaries(sim_of: SIM) -> None:
    talk = Talk(sim_of(KIND), KIND, key="sim-unverified-1").ask("Hi.")
    refusal = talk.send().json["error"]
    assert (refusal["param"], refusal["code"]) == ("reasoning.summary", "unsupported_value")
    assert refusal["message"].startswith("Your organization must be verified to generate reasoning summaries. Please go to:")
    assert talk.send(reasoning={"effort": "low"}).status == 200
    talk.key = "sim-verified-1"
    assert talk.send().status == 200


def begun(sim: Simulator, kind: str = KIND, scenario: str = "loop", **more: Any) -> Talk:
    talk = Talk(sim, kind, **more).ask(f"[[scenario:{scenario}]] go")
    talk.turn()
    return talk


@refuses("rule:responses.reasoning-missing")
def test_a_call_under_its_id_needs_its_reasoning(sim_of: SIM) -> None:
    talk = begun(sim_of(KIND))
    reasoning = talk.items.pop(1)
    words = f"was provided without its required 'reasoning' item: '{reasoning['id']}'."
    assert talk.send().json["error"] == {
        "message": f"Item '{talk.items[1]['id']}' of type 'function_call' {words}",
        "type": "invalid_request_error",
        "param": "input",
        "code": None,
    }
    assert [(piece["id"], piece["fate"]) for piece in talk.journal[-1]["thinking"]] == [(reasoning["id"], "missing")]


@accepts("rule:responses.reasoning-missing", "rule:responses.reasoning-alone")
def test_without_its_id_it_needs_none(sim_of: SIM) -> None:
    talk = begun(sim_of(KIND))
    del talk.items[1], talk.items[1]["id"]
    assert talk.send().status == 200
    assert [piece["fate"] for piece in talk.journal[-1]["thinking"]] == ["missing"]


@refuses("rule:responses.reasoning-missing")
def test_a_message_under_its_id_needs_its_reasoning_too(sim_of: SIM) -> None:
    talk = begun(sim_of(KIND), scenario="text")
    talk = begun(talk.sim, scenario="thinking").ask("And?")
    message = talk.items[2]
    assert (talk.items.pop(1)["type"], message["type"]) == ("reasoning", "message")
    assert talk.send().json["error"]["message"].startswith(f"Item '{message['id']}' of type 'message' was provided without")


@refuses("rule:responses.reasoning-alone")
def test_reasoning_that_nothing_follows_is_refused(sim_of: SIM) -> None:
    talk = begun(sim_of(KIND))
    reasoning = talk.items[1]
    del talk.items[2:]
    talk.ask("Go on.")
    words = f"Item '{reasoning['id']}' of type 'reasoning' was provided without its required following item."
    assert talk.send().json["error"]["message"] == words
    del talk.items[2]
    assert talk.send().json["error"]["message"] == words


def test_interleaved_reasoning_comes_back_in_its_order(sim_of: SIM) -> None:
    talk = begun(sim_of(KIND), scenario="interleaved")
    assert [item["type"] for item in talk.items[1:]] == [
        "reasoning",
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
    ]
    assert talk.send().status == 200
    assert [(piece["same"], piece["fate"]) for piece in talk.journal[-1]["thinking"]] == [(True, "kept")] * 2


@accepts("rule:responses.text-missing")
@refuses("rule:responses.text-missing")
def test_deepseek_wants_the_text_of_its_reasoning_back(sim_of: SIM) -> None:
    talk = begun(sim_of("deepseek-responses"), "deepseek-responses")
    assert talk.send().status == 200
    words = "The `reasoning_text` in the thinking mode must be passed back to the API."
    for broken in ({**talk.items[1], "content": None}, {"type": "reasoning", "summary": [], "encrypted_content": "x"}):
        sent = [talk.items[0], broken, *talk.items[2:]]
        assert talk.send(input=sent).json["error"]["message"] == words
    assert talk.send(input=[talk.items[0], *talk.items[2:]]).json["error"]["message"] == words
    assert talk.send(input=[talk.items[0], *talk.items[2:]], reasoning={"effort": "none"}).status == 200


@accepts("rule:responses.signature-invalid")
@refuses("rule:responses.signature-invalid")
def test_openrouter_passes_on_what_claude_says_about_a_signature(sim_of: SIM) -> None:
    talk = begun(sim_of("openrouter-responses"), "openrouter-responses", model="anthropic/claude-opus-5.5")
    assert talk.send().status == 200
    assert [(piece["whose"], piece["same"]) for piece in talk.journal[-1]["thinking"]] == [("own", True)]
    talk.items[1]["content"][0]["text"] += " And more."
    raw = json.loads(talk.send().json["error"]["metadata"]["raw"])
    assert raw["error"]["message"] == "input.1.signature: Invalid `signature` in `thinking` block"
    del talk.items[1]["signature"]
    assert talk.send().status == 200


@accepts("rule:responses.too-long")
@refuses("rule:responses.too-long")
def test_a_prompt_that_is_too_long_is_refused_inside_a_stream(sim_of: SIM) -> None:
    sim = sim_of(KIND)
    body = body_of(KIND, {"model": "gpt-4o", "input": "x" * 520_000})
    whole = post(sim, body)
    assert (whole.status, whole.json["error"]["code"]) == (400, "context_length_exceeded")
    streamed = post(sim, {**body, "stream": True})
    told = events(streamed.body)
    assert (streamed.status, verdict_of(streamed)) == (200, "responses.too-long")
    assert [event["type"] for event in told] == ["response.created", "response.in_progress", "error", "response.failed"]
    words = "Your input exceeds the context window of this model. Please adjust your input and try again."
    assert told[2]["error"]["message"] == words
    assert told[3]["response"]["error"] == {"code": "context_length_exceeded", "message": words}
    assert post(sim, {**body, "truncation": "auto"}).status == 200
    assert sim.journal()[1]["verdict"]["rule"] == "responses.too-long"


def test_grades_that_are_switched_off_refuse_nothing(simulators: Any) -> None:
    sim = simulators(kind=KIND, stance={"without_grades": ["D"]})
    assert post(sim, body_of(KIND, {"max_output_tokens": 128001})).status == 200

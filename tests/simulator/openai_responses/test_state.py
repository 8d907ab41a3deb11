"""The vendor's own memory: answers and items that are kept, by id, for the organization that got them."""

from collections.abc import Callable
from typing import Any

import pytest

from clew.testing import Simulator
from tests.manifest import accepts, refuses
from tests.simulator.openai_responses.talking import TOOL, Talk, post, result, user, verdict_of
from tests.simulator.wire import Reply, call

SIM = Callable[[str], Simulator]
KIND = "openai-responses"


def asked(sim: Simulator, body: dict[str, Any], **more: Any) -> Reply:
    return post(sim, {"model": "gpt-5.6", "tools": [TOOL], **body}, **more)


def visit(sim: Simulator, method: str, id_: str, key: str = "sim-test-1") -> Reply:
    return call(sim.url, method, f"/v1/responses/{id_}", b"", {"authorization": f"Bearer {key}"})


@accepts("rule:responses.previous-unknown", "rule:responses.call-unanswered", "rule:responses.output-orphan")
def test_a_conversation_goes_on_from_a_kept_answer(sim_of: SIM) -> None:
    """Only what is new is sent; the vendor has the rest, with its reasoning."""
    sim = sim_of(KIND)
    previous = asked(sim, {"input": [user("[[scenario:loop]] go")]}).json
    for _ in range(3):
        call_id = previous["output"][-1]["call_id"]
        previous = asked(sim, {"input": [result(call_id)], "previous_response_id": previous["id"]}).json
    assert previous["output"][-1]["content"][0]["text"].startswith("After three steps")
    assert [entry["thinking"] for entry in sim.journal()] == [[]] * 4


@pytest.mark.parametrize("change", [{"store": False}, {}])
@refuses("rule:responses.previous-unknown")
def test_an_answer_that_was_not_kept_or_is_anothers_is_not_found(sim_of: SIM, change: dict[str, Any]) -> None:
    sim = sim_of(KIND)
    id_ = asked(sim, {"input": "Hi.", **change}).json["id"]
    reply = asked(sim, {"input": "And?", "previous_response_id": id_}, key="sim-test-2" if change else "sim-other-1")
    assert reply.status == 400
    assert reply.json["error"] == {
        "message": f"Previous response with id '{id_}' not found.",
        "type": "invalid_request_error",
        "param": "previous_response_id",
        "code": "previous_response_not_found",
    }


@accepts("rule:responses.reference-unknown", "rule:responses.reference-lost")
def test_items_may_be_named_by_their_ids(sim_of: SIM) -> None:
    """As the AI SDK does by default: reasoning and text by reference, calls and outputs in full."""
    sim = sim_of(KIND)
    output = asked(sim, {"input": [user("[[scenario:interleaved]] go")]}).json["output"]
    items = [
        {key: value for key, value in item.items() if key != "id"}
        if item["type"] == "function_call"
        else {"type": "item_reference", "id": item["id"]}
        for item in output
    ]
    sent = [user("[[scenario:interleaved]] go"), *items, result(output[-1]["call_id"])]
    assert asked(sim, {"input": sent}).status == 200
    assert sim.journal()[-1]["thinking"] == []


@refuses("rule:responses.reference-unknown", "rule:responses.reference-lost")
def test_an_item_that_was_not_kept_is_not_found(sim_of: SIM) -> None:
    sim = sim_of(KIND)
    talk = Talk(sim, KIND).ask("[[scenario:loop]] go")
    id_ = talk.turn()[0]["id"]
    sent = [user("Hi."), {"type": "item_reference", "id": id_}]
    reply = asked(sim, {"input": sent})
    assert (reply.status, verdict_of(reply)) == (404, "responses.reference-lost")
    assert reply.json["error"]["message"].startswith(f"Item with id '{id_}' not found. Items are not persisted when")
    other = asked(sim, {"input": sent}, key="sim-other-1")
    assert other.json["error"]["message"] == f"Item with id '{id_}' not found."


@accepts("rule:responses.response-unknown")
@refuses("rule:responses.response-unknown")
def test_a_kept_answer_can_be_read_and_deleted(sim_of: SIM) -> None:
    sim = sim_of(KIND)
    response = asked(sim, {"input": "Hi."}).json
    assert visit(sim, "GET", response["id"]).json == response
    assert visit(sim, "GET", response["id"], "sim-other-1").status == 404
    assert visit(sim, "DELETE", response["id"]).json == {"id": response["id"], "object": "response", "deleted": True}
    gone = visit(sim, "GET", response["id"])
    assert (gone.status, gone.json["error"]["message"]) == (404, f"Response with id '{response['id']}' not found.")
    reply = asked(sim, {"input": [user("Hi."), {"type": "item_reference", "id": response["output"][0]["id"]}]})
    assert reply.status == 404


@pytest.mark.parametrize("kind", ["openrouter-responses", "vllm-responses", "deepseek-responses"])
def test_some_vendors_keep_nothing(sim_of: SIM, kind: str) -> None:
    sim = sim_of(kind)
    talk = Talk(sim, kind, more={}).ask("Hi.")
    response = talk.send().json
    assert visit(sim, "GET", response["id"]).status == 404
    assert verdict_of(talk.send(previous_response_id=response["id"])) == "responses.previous-unknown"


# Counting and compaction.


def test_tokens_are_counted_without_an_answer(sim_of: SIM) -> None:
    sim = sim_of(KIND)
    body = {"model": "gpt-5.6", "input": "Hello", "instructions": "Be brief."}
    counted = post(sim, body, path="/v1/responses/input_tokens").json
    assert counted["object"] == "response.input_tokens"
    assert counted["input_tokens"] == post(sim, body).json["usage"]["input_tokens"]
    assert verdict_of(post(sim, {**body, "model": "x"}, path="/v1/responses/input_tokens")) == "responses.model-unknown"
    assert post(sim_of("xai-responses"), body, path="/v1/responses/input_tokens").status == 404


@accepts("rule:responses.trigger-place")
@pytest.mark.parametrize("stream", [False, True])
def test_a_trigger_gets_exactly_one_compaction_item_that_can_be_sent_back(sim_of: SIM, stream: bool) -> None:
    sim = sim_of(KIND)
    talk = Talk(sim, KIND).ask("[[scenario:loop]] go")
    talk.turn()
    talk.items.append({"type": "compaction_trigger"})
    reply = talk.send(stream=stream)
    if stream:
        from tests.simulator.openai_responses.talking import events

        output = events(reply.body)[-1]["response"]["output"]
    else:
        output = reply.json["output"]
    assert [(item["type"], item["id"][:4]) for item in output] == [("compaction", "cmp_")]
    talk.items = [user("Hi."), *output]
    assert talk.ask("And?").send().status == 200
    talk.key = "sim-other-1"
    assert verdict_of(talk.send()) == "responses.blob-invalid"


def test_a_conversation_can_be_compacted_by_itself(sim_of: SIM) -> None:
    sim = sim_of(KIND)
    talk = Talk(sim, KIND).ask("[[scenario:loop]] go")
    talk.turn()
    body = {"model": "gpt-5.6", "input": talk.items}
    compaction = post(sim, body, path="/v1/responses/compact").json
    assert compaction["object"] == "response.compaction"
    assert [item.get("type", "message") for item in compaction["output"]] == ["message", "compaction"]
    talk.items = compaction["output"]
    assert talk.ask("And?").send().status == 200

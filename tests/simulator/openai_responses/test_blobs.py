"""Encrypted reasoning: who may send it back, under which id, and in which words the rest is refused."""

from collections.abc import Callable
from typing import Any

import pytest

from clew.simulator.openai_responses.blobs import BlobContent, BlobKey
from clew.testing import Simulator
from tests.manifest import accepts, refuses
from tests.simulator.openai_responses.talking import Talk, events, model_of, verdict_of

SIM = Callable[[str], Simulator]
KIND = "openai-responses"
DECRYPT = "Encrypted content could not be decrypted or parsed."


def begun(sim: Simulator, kind: str = KIND, **more: Any) -> Talk:
    """A conversation after one turn with reasoning and a call."""
    talk = Talk(sim, kind, **more).ask("[[scenario:loop]] go")
    talk.turn()
    return talk


@accepts("rule:responses.blob-invalid", "rule:responses.blob-missing", "rule:responses.blob-prefix")
@pytest.mark.parametrize("kind", [KIND, "azure-responses", "bedrock-responses", "xai-responses", "copilot-responses"])
def test_any_key_of_the_organization_may_send_its_reasoning_back(sim_of: SIM, kind: str) -> None:
    talk = begun(sim_of(kind), kind, key="sim-acme-1")
    talk.key = "sim-acme-2"
    assert talk.send().status == 200
    assert [piece["whose"] for piece in talk.journal[-1]["thinking"]] == ["own"]


@refuses("rule:responses.blob-invalid")
@pytest.mark.parametrize("kind", [KIND, "azure-responses", "xai-responses", "copilot-responses"])
def test_another_organization_may_not(sim_of: SIM, kind: str) -> None:
    talk = begun(sim_of(kind), kind, key="sim-acme-1")
    talk.key = "sim-other-1"
    reply = talk.send()
    assert (reply.status, verdict_of(reply)) == (400, "responses.blob-invalid")
    assert [(piece["whose"], piece["fate"]) for piece in talk.journal[-1]["thinking"]] == [("foreign", "refused")]


def test_the_words_name_the_item_or_else_the_content(sim_of: SIM) -> None:
    talk = begun(sim_of(KIND), key="sim-acme-1")
    talk.key = "sim-other-1"
    reasoning = talk.items[1]
    words = f"The encrypted content for item {reasoning['id']} could not be verified. Reason: {DECRYPT}"
    assert talk.send().json["error"] == {
        "message": words,
        "type": "invalid_request_error",
        "param": None,
        "code": "invalid_encrypted_content",
    }
    blob = reasoning["encrypted_content"]
    del reasoning["id"]
    message = talk.send().json["error"]["message"]
    assert message == f"The encrypted content {blob[:4]}...{blob[-4:]} could not be verified. Reason: {DECRYPT}"


def test_another_resource_of_azure_does_not_open_it(simulators: Any) -> None:
    one, other = (simulators(kind="azure-responses", realm=realm) for realm in ("east", "west"))
    talk = begun(one, "azure-responses")
    talk.sim = other
    assert verdict_of(talk.send()) == "responses.blob-invalid"
    talk.sim = simulators(kind="azure-responses", realm="east")
    assert talk.send().status == 200, "another deployment of the same resource"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"id": "rs_other"}, "Encrypted content item_id did not match the target item id."),
        ({"encrypted_content": "thoughts in plain text"}, DECRYPT),
        ({"encrypted_content": "gAAAAABqsTuA"}, DECRYPT),
    ],
)
def test_a_blob_belongs_to_its_item(sim_of: SIM, change: dict[str, str], reason: str) -> None:
    talk = begun(sim_of(KIND))
    talk.items[1] |= change
    assert talk.send().json["error"]["message"].endswith(f"Reason: {reason}")


def test_a_blob_may_come_without_an_id(sim_of: SIM) -> None:
    talk = begun(sim_of(KIND))
    del talk.items[1]["id"], talk.items[2]["id"]
    assert talk.send().status == 200
    assert [piece["whose"] for piece in talk.journal[-1]["thinking"]] == ["own"]


def test_the_blob_at_the_beginning_of_an_item_is_another_and_no_good(sim_of: SIM) -> None:
    sim = sim_of(KIND)
    talk = Talk(sim, KIND).ask("[[scenario:loop]] go")
    told = events(talk.send(stream=True).body)
    added = next(event["item"] for event in told if event["type"] == "response.output_item.added")
    items = [event["item"] for event in told if event["type"] == "response.output_item.done"]
    assert added["encrypted_content"] != items[0]["encrypted_content"]
    talk.items += [{**items[0], "encrypted_content": added["encrypted_content"]}, items[1]]
    talk.items.append({"type": "function_call_output", "call_id": items[1]["call_id"], "output": "Sunny."})
    assert verdict_of(talk.send()) == "responses.blob-invalid"


@refuses("rule:responses.blob-missing")
def test_an_id_without_a_blob_is_not_found_unless_it_was_kept(sim_of: SIM) -> None:
    talk = begun(sim_of(KIND))
    del talk.items[1]["encrypted_content"]
    reply = talk.send()
    assert (reply.status, verdict_of(reply)) == (404, "responses.blob-missing")
    assert reply.json["error"]["message"] == (
        f"Item with id '{talk.items[1]['id']}' not found. Items are not persisted when `store` is set to false. "
        "Try again with `store` set to true, or remove this item from your input."
    )
    kept = Talk(talk.sim, KIND, more={}).ask("[[scenario:loop]] go")
    kept.turn()
    del kept.items[1]["encrypted_content"]
    assert kept.send().status == 200


@refuses("rule:responses.blob-prefix")
def test_bedrock_knows_its_tokens_by_their_prefix(sim_of: SIM) -> None:
    talk = begun(sim_of("bedrock-responses"), "bedrock-responses")
    blob = talk.items[1]["encrypted_content"]
    assert blob.startswith("rsn_")
    talk.items[1]["encrypted_content"] = blob.removeprefix("rsn_")
    assert talk.send().json["error"]["message"] == "encrypted content missing recognized prefix"


@accepts("rule:responses.blob-unsupported")
@refuses("rule:responses.blob-unsupported")
def test_vllm_refuses_any_encrypted_content(sim_of: SIM) -> None:
    talk = begun(sim_of("vllm-responses"), "vllm-responses")
    assert talk.send().status == 200
    talk.items[1]["encrypted_content"] = "gAAAA"
    assert talk.send().json["error"]["message"] == "Encrypted content is not supported."


@pytest.mark.parametrize(
    ("kind", "start"), [(KIND, "gAAAA"), ("azure-responses", "gAAAA"), ("bedrock-responses", "rsn_gAAAA")]
)
def test_a_blob_looks_as_the_vendors_does(sim_of: SIM, kind: str, start: str) -> None:
    assert begun(sim_of(kind), kind).items[1]["encrypted_content"].startswith(start)


def test_ollama_puts_the_plain_thought_there(sim_of: SIM) -> None:
    reasoning = begun(sim_of("ollama-responses"), "ollama-responses").items[1]
    assert reasoning["encrypted_content"] == reasoning["summary"][0]["text"] == "Step one of three."


@pytest.mark.parametrize("shape", ["fernet", "base64", "prefixed"])
def test_no_letter_of_a_blob_can_be_changed(shape: Any) -> None:
    key = BlobKey(b"secret", "acme", shape)
    content = BlobContent(id="rs_1", model="gpt", text="Hm, a thought – with “letters”.")
    blob = key.make(content, salt="1")
    assert key.open(blob) == content
    assert BlobKey(b"secret", "other", shape).open(blob) is None
    assert BlobKey(b"other", "acme", shape).open(blob) is None
    for place in range(0, len(blob), 7):
        other = "A" if blob[place] != "A" else "B"
        assert key.open(blob[:place] + other + blob[place + 1 :]) is None or shape == "base64", place
        assert key.open(blob[:place]) is None


def test_models_of_an_organization_read_each_others_reasoning(sim_of: SIM) -> None:
    """The key is the organization's, not the model's: the journal says who made it."""
    talk = begun(sim_of(KIND))
    talk.model = "gpt-6.1-sol"
    assert talk.send().status == 200
    assert [piece["maker"] for piece in talk.journal[-1]["thinking"]] == [model_of(KIND)]

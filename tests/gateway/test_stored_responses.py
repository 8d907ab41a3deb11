"""Clients of the Responses API that name earlier answers by id: what they name is what they would have sent."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.dialects.openai_responses.stored import native_turn
from clew.settings.values import StoreSettings
from clew.testing import Simulator
from tests.database import connected
from tests.engine.chatting import chat
from tests.engine.gate import Gate, claude
from tests.gateway.responding import Json, about, asked_of, call_in, create, error_of, openai, response, result_of

OTHER_KEY = "the-key-of-another"


@pytest.fixture
def sim() -> Iterator[Simulator]:
    with Simulator(scenario="loop") as simulator:
        yield simulator


@pytest.fixture
def gate(tmp_path: Path, sim: Simulator) -> Iterator[Gate]:
    with Gate(tmp_path, claude(sim), others={OTHER_KEY: "somebody"}) as gate:
        yield gate


def as_ai_sdk(said: Json) -> list[Json]:
    """What the AI SDK sends back of an answer: calls whole, without their id; everything else by its id."""
    return [
        {name: item[name] for name in ("type", "call_id", "name", "arguments")}
        if item["type"] == "function_call"
        else {"type": "item_reference", "id": item["id"]}
        for item in said["output"]
    ]


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_that_is_named_reaches_the_backend_as_if_it_had_been_sent(
    gate: Gate, sim: Simulator, stream: bool
) -> None:
    asked: list[Json] = [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "What is in a.py?"}]
    said = response(create(gate, asked, stream=stream))
    result = result_of(call_in(said))
    response(create(gate, [*asked, *said["output"], result], stream=stream))
    response(create(gate, [result], previous_response_id=said["id"], stream=stream))
    response(create(gate, [*asked, *as_ai_sdk(said), result], stream=stream))
    first, whole, named, items = asked_of(sim)
    assert named == items == whole
    assert whole["messages"][0] == first["messages"][0]
    assert [block["type"] for block in whole["messages"][1]["content"]] == ["thinking", "tool_use"]


def test_it_does_so_where_the_backend_speaks_the_same_dialect(tmp_path: Path) -> None:
    with Simulator(kind="openai-responses", scenario="loop") as sim, Gate(tmp_path, openai(sim)) as gate:
        asked: list[Json] = [{"type": "message", "role": "user", "content": "What is in a.py?"}]
        said = response(create(gate, asked, stream=True))
        result = result_of(call_in(said))
        response(create(gate, [*asked, *said["output"], result]))
        response(create(gate, [result], previous_response_id=said["id"]))
        response(create(gate, [*asked, *as_ai_sdk(said)[:1], *said["output"][1:], result]))
        _, whole, named, items = asked_of(sim)
        assert named == items == whole
        assert whole["input"][1]["encrypted_content"].startswith("gAAAA")
        assert not {"previous_response_id", "item_reference"} & set(whole)


@pytest.mark.parametrize("by", ["previous_response_id", "item_reference"])
def test_three_makers_in_one_loop_each_get_their_own_thoughts_back(tmp_path: Path, by: str) -> None:
    """A client that names everything and sends nothing of what was said; the gateway is started anew before each step."""
    with (
        Simulator(scenario="loop") as first,
        Simulator(kind="openai-responses", scenario="loop") as second,
        Simulator(kind="deepseek-chat", realm="deepseek", scenario="loop") as third,
    ):
        backends = (claude(first), openai(second), chat(third, "deepseek"))
        asked: list[Json] = [{"role": "user", "content": "What is in a.py?"}]
        history, new, previous = asked, asked, {}
        for name in ("claude", "openai", "deepseek", "claude", "openai", "deepseek"):
            with Gate(tmp_path, *backends) as gate:
                gate.use(name)
                said = response(create(gate, history if by == "item_reference" else new, **previous))
            calls = [item for item in said["output"] if item["type"] == "function_call"]
            new = [result_of(calls[0])] if calls else [{"role": "user", "content": "And then?"}]
            history = [*history, *as_ai_sdk(said), *new]
            previous = {"previous_response_id": said["id"]} if by == "previous_response_id" else {}
        for simulator in (first, second, third):
            entries = simulator.journal()
            assert [entry["verdict"]["ok"] for entry in entries] == [True, True]
            got = [
                each for each in entries[1]["thinking"] if each["whose"] != "placeholder"
            ]  # DeepSeek wants one for others
            assert [(each["whose"], each.get("same", True)) for each in got] == [("own", True)]


def test_a_history_is_found_after_a_restart_and_by_another_gateway_on_the_same_store(tmp_path: Path, sim: Simulator) -> None:
    with Gate(tmp_path, claude(sim)) as gate:
        first = response(create(gate, "What is in a.py?"))
        second = response(create(gate, [result_of(call_in(first))], previous_response_id=first["id"]))
    with Gate(tmp_path, claude(sim)) as gate, Gate(tmp_path, claude(sim)) as beside:
        third = response(create(gate, [result_of(call_in(second))], previous_response_id=second["id"]))
        fourth = create(beside, [result_of(call_in(third))], previous_response_id=third["id"])
        assert response(fourth)["output"][-1]["content"][0]["text"].startswith("After three steps")
        assert about(beside, f"/v1/responses/{third['id']}").json == third
    *_, last = asked_of(sim)
    kinds = [[block["type"] for block in message["content"]] for message in last["messages"]]
    assert kinds == [["text"], *[["thinking", "tool_use"], ["tool_result"]] * 3]


def test_instructions_are_not_carried_over(gate: Gate, sim: Simulator) -> None:
    said = response(create(gate, "What is in a.py?", instructions="Speak like a pirate."))
    again = response(create(gate, [result_of(call_in(said))], previous_response_id=said["id"]))
    more = {"previous_response_id": again["id"], "instructions": "Be kind."}
    response(create(gate, [result_of(call_in(again))], **more))
    prompts = [body["system"][0]["text"] if "system" in body else "" for body in asked_of(sim)]
    assert [*dict.fromkeys(prompts)] == [
        "Speak like a pirate.",
        "",
        "Be kind.",
    ]  # Claude refuses thoughts behind another prompt
    assert again["previous_response_id"] == said["id"]


def test_an_unknown_answer_is_refused_in_openais_words(gate: Gate, sim: Simulator) -> None:
    said = response(create(gate, "What is in a.py?"))
    result, asked = result_of(call_in(said)), len(asked_of(sim))
    for id in ("resp_1a2b", "resp_0123456789abcdef012345", "nonsense", said["id"] + "0"):
        assert error_of(create(gate, [result], previous_response_id=id)) == {
            "status": 400,
            "message": f"Previous response with id '{id}' not found.",
            "type": "invalid_request_error",
            "param": "previous_response_id",
            "code": "previous_response_not_found",
        }
        refused = error_of(create(gate, [{"type": "item_reference", "id": id}]))
        assert (refused["status"], refused["message"], refused["param"]) == (400, f"Item with id '{id}' not found.", "input")
    assert len(asked_of(sim)) == asked


def test_nothing_of_another_principal_is_found(gate: Gate) -> None:
    said = response(create(gate, "What is in a.py?"))
    result = result_of(call_in(said))
    named = error_of(create(gate, [result], previous_response_id=said["id"], key=OTHER_KEY))
    assert named["message"] == f"Previous response with id '{said['id']}' not found."
    item = error_of(create(gate, as_ai_sdk(said), key=OTHER_KEY))
    assert item["message"] == f"Item with id '{said['output'][0]['id']}' not found."
    for method in ("GET", "DELETE"):
        assert about(gate, f"/v1/responses/{said['id']}", method=method, key=OTHER_KEY).status == 404
    assert about(gate, f"/v1/responses/{said['id']}").status == 200


def test_what_the_client_does_not_want_stored_is_not_found(gate: Gate) -> None:
    said = response(create(gate, "What is in a.py?", store=False))
    result = result_of(call_in(said))
    assert error_of(create(gate, [result], previous_response_id=said["id"]))["code"] == "previous_response_not_found"
    item = error_of(create(gate, [*as_ai_sdk(said), result]))
    assert item["message"] == (
        f"Item with id '{said['output'][0]['id']}' not found. Items are not persisted when `store` is set to false. Try again "
        "with `store` set to true, or remove this item from your input."
    )
    assert about(gate, f"/v1/responses/{said['id']}").status == 404
    response(create(gate, [{"role": "user", "content": "What is in a.py?"}, *said["output"], result], store=False))


def test_without_content_the_refusal_says_why_and_what_to_do(tmp_path: Path, sim: Simulator) -> None:
    with Gate(tmp_path, claude(sim), store=StoreSettings(content=False)) as gate:
        said = response(create(gate, "What is in a.py?"))
        refused = error_of(create(gate, [result_of(call_in(said))], previous_response_id=said["id"]))
        assert (refused["status"], refused["param"]) == (400, "previous_response_id")
        assert "`content = false`" in refused["message"]
        assert "Send the whole history in `input`" in refused["message"]
        assert "`content = true` in [store]" in refused["message"]
        assert error_of(create(gate, as_ai_sdk(said)))["message"].startswith("This gateway keeps no conversations")
        assert about(gate, f"/v1/responses/{said['id']}").status == 404


def test_without_a_store_the_refusal_says_so(tmp_path: Path, sim: Simulator) -> None:
    with Gate(tmp_path, claude(sim), store=False) as gate:
        said = response(create(gate, "What is in a.py?"))
        refused = error_of(create(gate, [result_of(call_in(said))], previous_response_id=said["id"]))
        assert "it has no store" in refused["message"]
        assert about(gate, f"/v1/responses/{said['id']}").status == 404


def test_an_answer_is_read_by_its_id_with_the_items_it_was_given_to(gate: Gate) -> None:
    asked: Any = [{"role": "user", "content": "What is in a.py?"}]
    first = response(create(gate, asked, metadata={"run": "7"}, stream=True))
    second = response(create(gate, [result_of(call_in(first))], previous_response_id=first["id"]))
    assert about(gate, f"/v1/responses/{first['id']}").json == first
    streamed = error_of(about(gate, f"/v1/responses/{first['id']}?stream=true"))
    assert (streamed["status"], streamed["param"]) == (400, "stream")
    assert first["metadata"] == {"run": "7"}
    listed = about(gate, f"/v1/responses/{second['id']}/input_items?order=asc").json
    assert [item["type"] for item in listed["data"]] == ["message", "reasoning", "function_call", "function_call_output"]
    assert listed["data"][1:3] == first["output"]
    assert [item["type"] for item in about(gate, f"/v1/responses/{first['id']}/input_items").json["data"]] == ["message"]


@pytest.mark.parametrize("path", ["resp_1a2b", "resp_1a2b/input_items", "nonsense", "resp_1a2b/cancel", "%2e%2e"])
def test_an_unknown_answer_is_a_404_in_openais_words(gate: Gate, path: str) -> None:
    id = path.partition("/")[0].replace("%2e%2e", "..")
    for method in ("GET", "DELETE"):
        assert error_of(about(gate, f"/v1/responses/{path}", method=method)) == {
            "status": 404,
            "message": f"Response with id '{id}' not found.",
            "type": "invalid_request_error",
            "param": None,
            "code": None,
        }


def test_a_deleted_answer_is_found_no_more_and_the_conversation_goes_on(gate: Gate, sim: Simulator) -> None:
    first = response(create(gate, "What is in a.py?"))
    second = response(create(gate, [result_of(call_in(first))], previous_response_id=first["id"]))
    gone = about(gate, f"/v1/responses/{first['id']}", method="DELETE")
    assert (gone.status, gone.json) == (200, {"id": first["id"], "object": "response", "deleted": True})
    assert about(gate, f"/v1/responses/{first['id']}").status == 404
    assert about(gate, f"/v1/responses/{first['id']}", method="DELETE").status == 404
    refused = error_of(create(gate, [result_of(call_in(first))], previous_response_id=first["id"]))
    assert refused["code"] == "previous_response_not_found"
    assert error_of(create(gate, as_ai_sdk(first)))["status"] == 400
    response(create(gate, [result_of(call_in(second))], previous_response_id=second["id"]))
    assert len(asked_of(sim)[-1]["messages"]) == 5


def test_a_long_history_behind_a_short_request_is_worked_on_in_a_thread(
    gate: Gate, sim: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = response(create(gate, "Read this: " + "many words " * 30_000))
    threads: set[str] = set()

    def noting(*given: Any) -> Any:
        threads.add(threading.current_thread().name)
        return native_turn(*given)

    monkeypatch.setattr("clew.dialects.openai_responses.stored.native_turn", noting)
    response(create(gate, [result_of(call_in(said))], previous_response_id=said["id"]))
    assert len(asked_of(sim)[-1]["messages"]) == 3
    assert threads, "nothing was kept"
    assert not [name for name in threads if name.startswith("clew-background")]


def test_a_client_that_sends_everything_is_kept_once(gate: Gate, tmp_path: Path) -> None:
    history: list[Json] = [{"role": "user", "content": "What is in a.py?"}]
    for _ in range(3):
        said = response(create(gate, history))
        history += [*said["output"], result_of(call_in(said))]
    response(create(gate, history))
    connection = connected(tmp_path / "clew.db")
    rows = connection.execute("SELECT length(items), follows IS NULL FROM natives ORDER BY seq").fetchall()
    connection.close()
    assert [first for _, first in rows] == [1, 0, 0, 0]
    assert len({size for size, _ in rows[1:]}) == 1


def test_a_request_that_names_something_and_cannot_be_read_is_refused_for_that(gate: Gate) -> None:
    said = response(create(gate, "What is in a.py?"))
    refused = error_of(create(gate, [{"type": "nonsense"}], previous_response_id=said["id"], tools=7))
    assert refused["status"] == 400
    assert create(gate, [], previous_response_id=7).status == 400

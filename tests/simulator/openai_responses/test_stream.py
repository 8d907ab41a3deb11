"""Streams and whole answers in each vendor's grammar: items, parts, ends, ids, usage."""

from collections.abc import Callable
from typing import Any

import pytest

from clew.simulator.openai_responses.vendors import responses_vendors
from clew.testing import Simulator
from tests.simulator.openai_responses.talking import TOOL, Talk, events, post, result, user

SIM = Callable[[str], Simulator]
KIND = "openai-responses"


def told(sim: Simulator, scenario: str, kind: str = KIND, **changes: Any) -> list[Any]:
    return events(Talk(sim, kind).ask(f"[[scenario:{scenario}]] go").send(stream=True, **changes).body)


def types(found: list[Any]) -> list[str]:
    return [event["type"].removeprefix("response.") if event != "[DONE]" else event for event in found]


def items_of(found: list[Any]) -> list[dict[str, Any]]:
    return [event["item"] for event in found if event["type"] == "response.output_item.done"]


# The grammar.


def test_a_thought_and_a_call_in_the_order_of_the_grammar(sim_of: SIM) -> None:
    assert types(told(sim_of(KIND), "loop")) == [
        "created",
        "in_progress",
        "output_item.added",
        "reasoning_summary_part.added",
        *["reasoning_summary_text.delta"] * 3,
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
        "output_item.done",
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
        "completed",
    ]


def test_a_message_has_its_part_before_its_deltas(sim_of: SIM) -> None:
    found = told(sim_of(KIND), "text")
    assert [*dict.fromkeys(types(found))] == [
        *("created", "in_progress", "output_item.added", "content_part.added", "output_text.delta"),
        *("output_text.done", "content_part.done", "output_item.done", "completed"),
    ]
    assert found[3]["part"] == {"type": "output_text", "annotations": [], "logprobs": [], "text": ""}
    assert found[4]["logprobs"] == []


def test_every_event_is_named_by_its_type(sim_of: SIM) -> None:
    body = Talk(sim_of(KIND), KIND).ask("Hi.").send(stream=True).body.decode()
    for part in body.strip().split("\n\n"):
        name, data = part.split("\n")
        assert data.startswith(f'data: {{"type":"{name.removeprefix("event: ")}"')


def test_a_detailed_summary_has_a_part_for_each_paragraph(simulators: Any, tmp_path: Any) -> None:
    script = tmp_path / "two.scenario"
    script.write_text("think: First this.\n|\n| Then that.\ntext: Done.\n")
    sim = simulators(kind=KIND, scenario=str(script))
    found = events(Talk(sim, KIND).ask("Hi.").send(stream=True, reasoning={"summary": "detailed"}).body)
    summary = items_of(found)[0]["summary"]
    assert [part["text"].split("\n\n", 1)[1] for part in summary] == ["First this.", "Then that."]
    assert [event["summary_index"] for event in found if event["type"].endswith("summary_part.done")] == [0, 1]


def test_without_a_wish_there_is_no_summary_and_still_a_blob(sim_of: SIM) -> None:
    reasoning = items_of(told(sim_of(KIND), "loop", reasoning=None, include=None))[0]
    assert (reasoning["summary"], reasoning["encrypted_content"][:5]) == ([], "gAAAA")


def test_some_vendors_give_blobs_only_if_asked(sim_of: SIM) -> None:
    sim = sim_of("xai-responses")
    assert "encrypted_content" not in items_of(told(sim, "loop", "xai-responses", include=None))[0]
    blob = items_of(told(sim, "loop", "xai-responses"))[0]["encrypted_content"]
    assert len(blob) >= 43 and not blob.endswith("=")


def test_hidden_thoughts_have_a_blob_and_no_text(sim_of: SIM) -> None:
    for scenario in ("omitted", "redacted"):
        reasoning = [item for item in items_of(told(sim_of(KIND), scenario)) if item["type"] == "reasoning"][-1]
        assert (reasoning["summary"], bool(reasoning["encrypted_content"])) == ([], True)
    kinds = [item["type"] for item in items_of(told(sim_of("lmstudio-responses"), "redacted", "lmstudio-responses"))]
    assert kinds == ["reasoning", "message", "function_call"], "a server that has only text has nothing of a hidden one"


def test_deltas_are_padded_unless_the_client_does_not_want_it(sim_of: SIM) -> None:
    deltas = [event for event in told(sim_of(KIND), "text") if event["type"].endswith(".delta")]
    assert all(event["obfuscation"] for event in deltas)
    plain = told(sim_of(KIND), "text", stream_options={"include_obfuscation": False})
    assert not any("obfuscation" in event for event in plain)


def test_phases_say_which_text_is_the_answer(sim_of: SIM) -> None:
    sim = sim_of(KIND)
    assert [item.get("phase") for item in items_of(told(sim, "interleaved"))] == [None, "commentary", None, None]
    assert items_of(told(sim, "text"))[0]["phase"] == "final_answer"
    assert "phase" not in items_of(told(sim, "text", model="gpt-5"))[0]


def test_pings_are_events_with_a_number(sim_of: SIM) -> None:
    found = told(sim_of(KIND), "pings")
    assert types(found).count("keepalive") == 5
    assert [event["sequence_number"] for event in found] == [*range(len(found))]


# Ends.


def test_a_refusal_is_a_part_of_its_own(sim_of: SIM) -> None:
    found = told(sim_of(KIND), "refusal")
    assert "refusal.delta" in types(found) and types(found)[-1] == "completed"
    assert items_of(found)[-1]["content"] == [{"type": "refusal", "refusal": "I can't help with"}]


def test_an_answer_that_is_cut_is_incomplete(sim_of: SIM) -> None:
    sim = sim_of(KIND)
    found = told(sim, "cut-short")
    assert types(found)[-1] == "incomplete"
    response = found[-1]["response"]
    assert (response["status"], response["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    assert items_of(found)[-1]["status"] == "incomplete"


def test_a_call_that_is_cut_has_half_its_arguments_and_no_end_of_them(simulators: Any, tmp_path: Any) -> None:
    script = tmp_path / "long.scenario"
    script.write_text('call: get_weather {"a": "' + "x" * 20 + '", "b": "' + "y" * 200 + '"}\n')
    sim = simulators(kind=KIND, scenario=str(script))
    found = events(Talk(sim, KIND).ask("Hi.").send(stream=True, max_output_tokens=20).body)
    assert "function_call_arguments.done" not in types(found)
    call = items_of(found)[-1]
    assert (call["status"], call["arguments"]) == ("incomplete", '{"a":"' + "x" * 20 + '"')


def test_a_filter_makes_it_incomplete_too(simulators: Any, tmp_path: Any) -> None:
    script = tmp_path / "filtered.scenario"
    script.write_text("text: It was\nstop: content_filter\n")
    response = Talk(simulators(kind=KIND, scenario=str(script)), KIND).ask("Hi.").send().json
    assert (response["status"], response["incomplete_details"]) == ("incomplete", {"reason": "content_filter"})


# What vendors do their own way.


@pytest.mark.parametrize("kind", [kind for kind, row in responses_vendors().items() if row.traits.text])
def test_open_models_show_the_thought_itself(sim_of: SIM, kind: str) -> None:
    model = "deepseek/deepseek-v4-pro" if kind == "openrouter-responses" else None
    found = [event for event in told(sim_of(kind), "loop", kind, **({"model": model} if model else {})) if event != "[DONE]"]
    assert types(found)[2:7] == [
        *("output_item.added", "content_part.added", "reasoning_text.delta", "reasoning_text.done", "content_part.done")
    ]
    reasoning = items_of(found)[0]
    assert (reasoning["summary"], reasoning["content"][0]["text"]) == ([], "Step one of three.")


def test_some_end_with_a_done_line(sim_of: SIM) -> None:
    for kind, row in responses_vendors().items():
        assert (told(sim_of(kind), "text", kind)[-1] == "[DONE]") == row.stream.done


def test_copilot_names_items_anew_in_every_event(sim_of: SIM) -> None:
    found = told(sim_of("copilot-responses"), "loop", "copilot-responses")
    named = [event.get("item_id") or event.get("item", {}).get("id") for event in found if "output_index" in event]
    assert len(set(named)) == len(named)
    talk = Talk(sim_of("copilot-responses"), "copilot-responses").ask("[[scenario:loop]] go")
    talk.items += [*items_of(found), result(items_of(found)[1]["call_id"])]
    assert talk.send().status == 200, "the id of the item's end counts"


def test_vllm_has_other_ids_in_the_end(sim_of: SIM) -> None:
    found = told(sim_of("vllm-responses"), "loop", "vllm-responses")
    last = [item["id"] for item in found[-1]["response"]["output"]]
    assert not set(last) & {item["id"] for item in items_of(found)}


def test_lm_studio_gives_arguments_whole(sim_of: SIM) -> None:
    found = types(told(sim_of("lmstudio-responses"), "loop", "lmstudio-responses"))
    assert "function_call_arguments.delta" not in found and "function_call_arguments.done" in found


def test_openrouter_says_whose_form_the_reasoning_has(sim_of: SIM) -> None:
    sim, kind = sim_of("openrouter-responses"), "openrouter-responses"
    claude = items_of([event for event in told(sim, "loop", kind, model="anthropic/claude-opus-5.5") if event != "[DONE]"])[
        0
    ]
    assert (claude["format"], bool(claude["signature"])) == ("anthropic-claude-v1", True)
    openai = items_of([event for event in told(sim, "loop", kind) if event != "[DONE]"])[0]
    assert (openai["format"], openai["encrypted_content"][:5]) == ("openai-responses-v1", "gAAAA")


# Tools.

EXEC = {"type": "custom", "name": "exec", "format": {"type": "text"}}
SPACE = {"type": "namespace", "name": "collab", "description": "", "tools": [{**TOOL, "name": "wait"}]}


@pytest.mark.parametrize(
    ("offer", "call", "expected"),
    [
        ({"tools": [EXEC]}, "exec", {"type": "custom_tool_call", "name": "exec", "input": "text('hello')"}),
        ({"tools": [SPACE]}, "wait", {"type": "function_call", "name": "wait", "namespace": "collab"}),
        (
            {"tools": [SPACE]},
            'collab__wait {"city": "Bern"}',
            {"name": "wait", "namespace": "collab", "arguments": '{"city":"Bern"}'},
        ),
        ({"tools": [EXEC]}, 'exec {"input": "ls"}', {"type": "custom_tool_call", "input": "ls"}),
    ],
)
@pytest.mark.parametrize("added", [False, True])
def test_tools_are_called_as_what_they_were_offered_as(
    simulators: Any, tmp_path: Any, offer: dict[str, Any], call: str, expected: dict[str, Any], added: bool
) -> None:
    script = tmp_path / "call.scenario"
    script.write_text(f"call: {call}\n")
    sim = simulators(kind=KIND, scenario=str(script))
    items = [{"type": "additional_tools", "role": "developer", **offer}] if added else []
    body = {"model": "gpt-6.1-sol", "input": [*items, user("Hi.")], **({} if added else offer)}
    made = post(sim, body).json["output"][-1]
    assert {key: made.get(key) for key in expected} == expected
    back = result(made["call_id"], kind=made["type"])
    assert post(sim, {**body, "input": [*body["input"], made, back]}).status == 200


def test_a_name_that_the_model_made_up_comes_back_as_it_was(simulators: Any, tmp_path: Any) -> None:
    script = tmp_path / "wrapper.scenario"
    script.write_text('call: multi_tool_use.parallel {"tool_uses": []}\n')
    talk = Talk(simulators(kind=KIND, scenario=str(script)), KIND).ask("Hi.")
    assert talk.turn()[-1]["name"] == "multi_tool_use.parallel"
    assert talk.send().status == 200


# Usage and models.


def test_the_usage_counts_what_was_seen_before_as_cached(sim_of: SIM) -> None:
    sim = sim_of(KIND)
    body = {"model": "gpt-5.6", "input": "x" * 2000}
    first, second = (post(sim, body).json["usage"] for _ in range(2))
    assert first["input_tokens_details"] == {"cached_tokens": 0, "cache_write_tokens": 0}
    assert second["input_tokens_details"]["cached_tokens"] == second["input_tokens"] // 128 * 128
    assert second["total_tokens"] == second["input_tokens"] + second["output_tokens"]
    assert 0 < second["output_tokens_details"]["reasoning_tokens"] < second["output_tokens"]


def test_a_scenarios_numbers_are_the_usage(sim_of: SIM) -> None:
    usage = told(sim_of(KIND), "usage")[-1]["response"]["usage"]
    assert usage == {
        "input_tokens": 120000,
        "input_tokens_details": {"cached_tokens": 80000, "cache_write_tokens": 2000},
        "output_tokens": 4321,
        "output_tokens_details": {"reasoning_tokens": 4000},
        "total_tokens": 124321,
    }


def test_the_models_are_listed(sim_of: SIM) -> None:
    from tests.simulator.wire import call

    sim, headers = sim_of(KIND), {"authorization": "Bearer sim-a-1"}
    listed = call(sim.url, "GET", "/v1/models", b"", headers).json["data"]
    assert listed[0] == {"id": "gpt-5.6", "object": "model", "created": 0, "owned_by": KIND}
    assert call(sim.url, "GET", "/v1/models/gpt-5.6", b"", headers).json == listed[0]
    assert call(sim.url, "GET", "/v1/models/claude", b"", headers).status == 404

"""What is tried after a backend of the Responses API refused a request."""

from __future__ import annotations

import pytest

from clew.dialects.openai_responses.options import ResponsesOptions
from clew.dialects.openai_responses.request_repairs import REPAIRS

OPENAI = ResponsesOptions(
    knob="responses", summary="auto", custom_tools=True, namespaces=True, own_items=True, phases=True, cache_marks=4
)


def tried(status: int, words: str) -> list[str]:
    options: object = OPENAI
    names: list[str] = []
    while (found := REPAIRS.repair(options, status, words, names)) is not None:
        names.append(found.name)
        options = found.options
    return names


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("Your organization must be verified to generate reasoning summaries. Please go to: …", ["summary"]),
        ("Encrypted content is not supported with this model.", ["encrypted"]),
        ("The encrypted content gAAA could not be verified. Reason: it could not be decrypted", ["entries", "off"]),
        ("Item 'rs_1' of type 'reasoning' was provided without its required following item.", ["entries"]),
        ("Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item", ["ids", "entries"]),
        ("Duplicate item found with id rs_1", ["entries"]),
        ("Invalid 'input[111].id': 'msg_1'. Expected an ID that begins with 'fc'.", ["ids"]),
        ("The `reasoning_text` in the thinking mode must be passed back to the API.", ["fill", "off"]),
        ('unknown input item type: "custom_tool_call"', ["plain"]),
        ("Unsupported parameter: 'temperature' is not supported with this model.", ["sampling"]),
        ("Unknown parameter: 'input[3].phase'.", ["phases"]),
        ("Unknown parameter: 'input[3].content[0].prompt_cache_breakpoint'.", ["marks"]),
        ("Unsupported value: 'reasoning.effort' does not support 'xhigh' with this model.", ["levels", "effort"]),
        ("Unsupported parameter: 'reasoning.effort' is not supported with this model.", ["effort"]),
        ("No tool output found for function call call_1.", []),
        ("prompt is too long", []),
    ],
)
def test_each_refusal_has_its_own_repairs_and_none_is_tried_twice(words: str, names: list[str]) -> None:
    assert tried(400, words) == names


def test_a_thought_that_is_not_kept_is_missed_with_another_status() -> None:
    gone = "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false."
    assert tried(404, gone) == ["entries"]
    assert tried(404, "The model `x` does not exist or you do not have access to it.") == []
    assert tried(401, "Encrypted content is not supported with this model.") == []


def test_what_was_repaired_once_can_be_said_again() -> None:
    [first, second] = REPAIRS.repeat(OPENAI, ["summary", "ids", "summary"])
    assert isinstance(second.options, ResponsesOptions)
    assert (first.name, second.name, second.options.summary, second.options.ids) == ("summary", "ids", "", False)
    assert "summary" in REPAIRS.lasting and "entries" not in REPAIRS.lasting

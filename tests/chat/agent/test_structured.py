"""Structured output: the answer is a value, anyone who answers."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import DecodeError, Meta, Struct

from clew import Agent, AsyncAgent, Limits, OutputRejected
from clew.chat.agent.structured import output_form_of
from clew.dialects.openai.parts import FIT_SCHEMA
from clew.errors import BackendBroken, SettingsInvalid
from tests.chat.agent.conftest import MODELS, SetUp, Stage
from tests.engine.talk import MODEL, refusals

TEXT = {"type": "text", "text": "Be brief."}


@dataclass
class Part:
    name: str
    weight: Annotated[float, Meta(ge=0)] = 0.0


class Report(Struct):
    """What was found."""

    title: str
    parts: list[Part]
    grade: Literal["good", "bad"] = "good"


@dataclass
class Node:
    below: list[Node] = field(default_factory=list["Node"])


def test_a_schema_is_closed_and_without_bounds_for_those_who_are_held_to_it() -> None:
    """The bounds are checked when the answer is there."""
    form = output_form_of(Report)
    assert form.strict == {
        "title": "Report",
        "description": "What was found.",
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "parts": {"type": "array", "items": {"$ref": "#/$defs/Part"}},
            "grade": {"enum": ["bad", "good"]},
        },
        "required": ["title", "parts"],
        "additionalProperties": False,
        "$defs": {
            "Part": {
                "title": "Part",
                "type": "object",
                "properties": {"name": {"type": "string"}, "weight": {"type": "number"}},
                "required": ["name"],
                "additionalProperties": False,
            }
        },
    }
    assert json.loads(form.words.partition("\n")[2])["$defs"]["Part"]["properties"]["weight"]["minimum"] == 0


@pytest.mark.parametrize("kind", [Node, dict[str, int], tuple[int, str], Any], ids=str)
def test_what_cannot_be_said_in_a_strict_schema_is_asked_for_in_words(kind: Any) -> None:
    assert output_form_of(kind).strict is None


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Report, '{"title": "T", "parts": []}', Report("T", [])),
        (Report, 'Here it is:\n```json\n{"title": "T", "parts": [{"name": "a"}]}\n```\n', Report("T", [Part("a")])),
        (Report, 'So: {"title": "T", "parts": [], "grade": "bad"} That is all.', Report("T", [], "bad")),
        (Report, '```json\n\n{"title": "```", "parts": []}\r\n\n  ```', Report("```", [])),
        (int, '{"value": 3}', 3),
        (list[Part], '{"value": [{"name": "a", "weight": 1}]}', [Part("a", 1)]),
        (Node, '{"below": [{"below": []}]}', Node([Node()])),
    ],
)
def test_the_value_is_found_in_the_answer(kind: Any, text: str, value: object) -> None:
    assert output_form_of(kind).read(text) == value


@pytest.mark.parametrize("text", ["[" * 5000, '{"below": [' * 5000, "```json\n" + "[" * 5000 + "\n```"])
def test_an_answer_that_is_nested_without_an_end_is_only_a_wrong_one(text: str) -> None:
    """A model that goes in circles ends no run: it is asked again."""
    with pytest.raises(DecodeError, match="nested too deeply"):
        output_form_of(Node).read(text)


def test_a_fence_that_is_never_closed_is_read_in_no_time() -> None:
    """Models that are held to JSON sometimes write empty lines until they are stopped."""
    began = time.process_time()
    with pytest.raises(DecodeError):
        output_form_of(Node).read("```json\n" + "\n" * 4000)
    assert time.process_time() - began < 10


@pytest.mark.parametrize(
    ("system", "prompt"),
    [("", "{}"), ("Be brief.", "Be brief.\n\n{}"), ([TEXT], [TEXT, {"type": "text", "text": "{}"}])],
    ids=["none", "words", "blocks"],
)
def test_what_the_answer_has_to_be_is_said_after_the_system_prompt(system: Any, prompt: Any) -> None:
    said = json.dumps(Agent(system=system, output=Part).plan.prompt)
    assert json.loads(said) == json.loads(json.dumps(prompt).replace("{}", json.dumps(output_form_of(Part).words)[1:-1]))


def test_a_type_that_is_no_json_is_refused() -> None:
    class Opaque:
        pass

    with pytest.raises(SettingsInvalid, match="Opaque: JSON has no form for this"):
        Agent(output=Opaque)


def asked(on: Stage, name: str = "claude") -> Any:
    simulator = on.backends[name]
    return json.loads(simulator.body(simulator.journal()[-1]["n"]))


def system_of(body: Any) -> str:
    return body.get("system") or body["messages"][0]["content"]


@pytest.mark.slow
def test_a_model_that_can_is_held_to_the_schema(stage: SetUp) -> None:
    """The built-in model of the simulator answers with the least that the schema takes."""
    on = stage()
    result = asyncio.run(AsyncAgent(model=MODEL, output=Report).run("Report!", **on.place))
    assert isinstance(result.output, Report)
    assert asked(on)["output_config"]["format"] == {"type": "json_schema", "schema": output_form_of(Report).strict}
    assert asked(on)["system"] == output_form_of(Report).words
    assert refusals(on.claude) == []


GOOD = '{"title": "T", "parts": [{"name": "a", "weight": 2}]}'


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["own", "deepseek", "minimax"])
def test_a_model_that_cannot_is_asked_in_words(stage: SetUp, backend: str) -> None:
    """No vendor is sent what it does not take."""
    on = stage(f"turn:\n  text: {GOOD}\n", backend)
    model = {**MODELS, "own": "compat-model"}[backend]
    result = Agent(model=model, output=Report, system="Be brief.").run("Report!", **on.place)
    assert result.output == Report("T", [Part("a", 2.0)])
    assert "format" not in asked(on, backend).get("output_config", {})
    form = output_form_of(Report)
    in_words = f"Be brief.\n\n{form.words}"
    if (
        backend == "deepseek"
    ):  # it promises JSON, but no schema: so the translation puts what it was to be held to there, too
        in_words += f"\n\n{FIT_SCHEMA}\n{msgspec.json.encode(form.strict).decode()}"
    assert system_of(asked(on, backend)) == in_words
    assert refusals(on.backends[backend]) == []


@pytest.mark.slow
def test_a_wrong_answer_is_asked_for_again_with_what_was_wrong(stage: SetUp) -> None:
    """The script says back what it was asked, and only the second question fits."""
    on = stage('turn:\n  text: {"words": "{{prompt}}"}\n')
    run = Agent(model=MODEL, output=Echo).stream("Report!", **on.place)
    rejected = [event for event in run if isinstance(event, OutputRejected)]
    assert rejected == [OutputRejected(1, "Expected `str` matching regex 'does not fit' - at `$.words`")]
    again = f"That answer does not fit: {rejected[0].why}. Answer again, with JSON alone that fits the schema."
    assert asked(on)["messages"][-1]["content"] == again
    result = run.result()
    assert (result.output, result.steps, refusals(on.claude)) == (Echo(again), 2, [])


class Echo(Struct):
    words: Annotated[str, Meta(pattern="does not fit")]


@pytest.mark.slow
def test_an_answer_that_never_fits_is_a_failure(stage: SetUp) -> None:
    on = stage("turn:\n  text: No idea.\n")
    with pytest.raises(BackendBroken, match="the answer is not of the type that was asked for: JSON is malformed"):
        Agent(model=MODEL, output=Report, retries=1).run("Report!", **on.place)
    assert len(on.claude.journal()) == 2


@pytest.mark.slow
def test_an_answer_of_the_wrong_type_at_a_limit_is_the_limits_end(stage: SetUp) -> None:
    on = stage("turn:\n  text: No idea.\n")
    result = Agent(model=MODEL, output=Report, limits=Limits(steps=1)).run("Report!", **on.place)
    assert (result.ending, result.output, result.message.content if result.message else "") == ("limit", None, "No idea.")

"""Models of pydantic as parameters and as answers. clew knows them by their methods, and does not need pydantic."""

from __future__ import annotations

import subprocess
import sys
from typing import Annotated

import pytest
from msgspec import ValidationError
from pydantic import BaseModel, Field

from clew import Agent, Tool, tool
from clew.chat.agent.schema import plain
from clew.chat.agent.structured import output_form_of
from tests.chat.agent.conftest import SetUp
from tests.engine.talk import MODEL, refusals


class Point(BaseModel):
    x: int
    y: Annotated[int, Field(ge=0)] = 0


class Shape(BaseModel):
    """Points in order."""

    name: str
    points: list[Point]


class Node(BaseModel):
    value: int
    children: list[Node] = []


def draw(shape: Shape, scale: float = 1.0, at: Point | None = None) -> str:
    """Draws."""
    return shape.name


def test_a_model_is_a_parameter_whose_parts_stand_at_the_top() -> None:
    """References are to the whole schema, wherever they stand in it."""
    schema = Tool.of(draw).definition["input_schema"]
    point = {
        "title": "Point",
        "type": "object",
        "properties": {
            "x": {"title": "X", "type": "integer"},
            "y": {"title": "Y", "type": "integer", "minimum": 0, "default": 0},
        },
        "required": ["x"],
    }
    assert schema["$defs"] == {"Point": point}
    assert schema["properties"]["shape"] == {
        "title": "Shape",
        "description": "Points in order.",
        "type": "object",
        "properties": {
            "name": {"title": "Name", "type": "string"},
            "points": {"title": "Points", "type": "array", "items": {"$ref": "#/$defs/Point"}},
        },
        "required": ["name", "points"],
    }
    assert schema["required"] == ["shape"]


def test_a_tool_gets_the_models_own_values() -> None:
    read = Tool.of(draw).arguments.read
    given = {"name": "line", "points": [{"x": 1}, {"x": 2, "y": 3}]}
    assert read({"shape": given, "at": {"x": 4}}) == {
        "shape": Shape(name="line", points=[Point(x=1), Point(x=2, y=3)]),
        "scale": 1.0,
        "at": Point(x=4),
    }


@pytest.mark.parametrize(
    ("points", "words"),
    [
        ([{"x": "one"}], "unable to parse string as an integer - at `$.points[0].x`"),
        ([{"x": 1, "y": -1}], "Input should be greater than or equal to 0 - at `$.points[0].y`"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_and_where(points: list[object], words: str) -> None:
    """A model reads it, and repairs it."""
    with pytest.raises(ValidationError) as wrong:
        Tool.of(draw).arguments.read({"shape": {"name": "line", "points": points}})
    assert words in str(wrong.value)
    assert str(wrong.value).endswith(" - at `$.shape`")
    assert "\n" not in str(wrong.value)
    assert "pydantic.dev" not in str(wrong.value)


def test_what_a_tool_gives_is_said_as_the_model_says_it() -> None:
    assert plain({"at": [Point(x=1)]}) == {"at": [{"x": 1, "y": 0}]}


def test_an_answer_is_a_model() -> None:
    form = output_form_of(Shape)
    assert form.read('{"name": "dot", "points": [{"x": 1}]}') == Shape(name="dot", points=[Point(x=1)])
    assert form.strict is not None
    assert form.strict["additionalProperties"] is False
    assert output_form_of(list[Point]).read('{"value": [{"x": 1}]}') == [Point(x=1)]


def test_a_model_that_holds_itself_is_asked_for_in_words() -> None:
    form = output_form_of(Node)
    assert form.strict is None
    assert form.read('{"value": 1, "children": [{"value": 2}]}') == Node(value=1, children=[Node(value=2)])


@pytest.mark.slow
def test_an_agent_answers_with_a_model_and_calls_with_one(stage: SetUp) -> None:
    drawn: list[Shape] = []

    @tool
    def draw(shape: Shape) -> Point:
        """Draws."""
        drawn.append(shape)
        return shape.points[0]

    on = stage('turn:\n  call: draw {"shape": {"name": "dot", "points": [{"x": 7}]}}\nturn:\n  text: {"x": 7}\n')
    result = Agent(model=MODEL, tools=[draw], output=Point).run("Draw!", **on.place)
    assert (result.output, drawn) == (Point(x=7), [Shape(name="dot", points=[Point(x=7)])])
    assert refusals(on.claude) == []


@pytest.mark.slow
def test_nobody_needs_pydantic() -> None:
    """None of it is loaded by an agent that has no models."""
    code = "import sys, clew; clew.Agent(model='m', output=int); print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"

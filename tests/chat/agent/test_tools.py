"""Functions as tools: the schema that a model gets, and the values that its JSON becomes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import msgspec
import pytest
from msgspec import Meta, Struct

from clew import Agent, Tool, tool
from clew.errors import SettingsInvalid


class Unit(Enum):
    KELVIN = "K"
    CELSIUS = "C"


class Span(TypedDict):
    days: int
    from_day: NotRequired[str]


@dataclass
class Place:
    city: str
    height: float = 0.0


class Station(Struct):
    id: int
    near: list[Place] = []


def weather(
    place: Place,
    unit: Unit = Unit.CELSIUS,
    span: Span | None = None,
    stations: list[Station] = [],  # noqa: B006  (nobody changes it)
    form: Literal["long", "short"] = "short",
    limits: dict[str, float] | None = None,
    day: date | None = None,
    file: Path = Path("out.txt"),
    count: Annotated[int, Meta(ge=1, le=10)] = 1,
    anything: Any = None,
    *,
    loud: bool = False,
) -> str:
    """Tells the weather.

    Args:
        place: Where.
        count: How often.
    """
    return repr((place, unit, span, stations, form, limits, day, file, count, anything, loud))


def test_the_schema_is_what_the_signature_says() -> None:
    schema: Any = Tool.of(weather).definition["input_schema"]
    assert (schema["type"], schema["required"], schema["additionalProperties"]) == ("object", ["place"], False)
    assert "title" not in schema
    properties = schema["properties"]
    assert {name: properties[name] for name in ("place", "unit", "form", "count", "loud", "file", "anything")} == {
        "place": {"$ref": "#/$defs/Place", "description": "Where."},
        "unit": {"$ref": "#/$defs/Unit", "default": "C"},
        "form": {"enum": ["long", "short"], "default": "short"},
        "count": {"type": "integer", "minimum": 1, "maximum": 10, "default": 1, "description": "How often."},
        "loud": {"type": "boolean", "default": False},
        "file": {"type": "string", "format": "path"},
        "anything": {"default": None},
    }
    assert schema["$defs"]["Unit"]["enum"] == ["C", "K"]
    assert schema["$defs"]["Span"]["required"] == ["days"]
    assert schema["$defs"]["Station"]["properties"]["near"]["items"] == {"$ref": "#/$defs/Place"}


def test_what_a_model_gives_becomes_what_the_function_takes() -> None:
    """A number in a string is a number where a number is wanted, and a string where that will do."""
    given = {
        "place": {"city": "Rome", "height": "21"},
        "unit": "K",
        "span": {"days": 3},
        "stations": [{"id": "7", "near": [{"city": "Ostia"}]}],
        "day": "2026-11-16",
        "file": "a/b.txt",
        "count": 2,
        "loud": "true",
    }
    read = Tool.of(weather).arguments.read(given)
    assert read == {
        "place": Place("Rome", 21.0),
        "unit": Unit.KELVIN,
        "span": {"days": 3},
        "stations": [Station(7, [Place("Ostia")])],
        "form": "short",
        "limits": None,
        "day": date(2026, 11, 16),
        "file": Path("a/b.txt"),
        "count": 2,
        "anything": None,
        "loud": True,
    }
    assert weather(**read).startswith("(Place(city='Rome'")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, "Object missing required field `place`"),
        ({"place": {"city": 1}}, "Expected `str`, got `int` - at `$.place.city`"),
        ({"place": {"city": ""}, "stations": [{"id": "x"}]}, "Expected `int`, got `str` - at `$.stations[0].id`"),
        ({"place": {"city": ""}, "unit": "F"}, "Invalid enum value 'F' - at `$.unit`"),
        ({"place": {"city": ""}, "count": 0}, "Expected `int` >= 1 - at `$.count`"),
        ({"place": {"city": ""}, "town": 1}, "Object contains unknown field `town`"),
        ([], "Expected `object`, got `array`"),
    ],
)
def test_a_wrong_argument_is_named_with_its_place(given: Any, why: str) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        Tool.of(weather).arguments.read(given)
    assert str(caught.value) == why


@dataclass
class Node:
    name: str
    below: Node | None = None


def test_types_that_are_local_and_types_that_hold_themselves() -> None:
    @dataclass
    class Garden:
        roots: list[Node]

    def plant(garden: Garden) -> str:
        return str(Garden(garden.roots))  # so that the type is known where the function stands

    schema: Any = Tool.of(plant).definition["input_schema"]
    assert schema["properties"]["garden"] == {"$ref": "#/$defs/Garden"}
    assert schema["$defs"]["Node"]["properties"]["below"]["anyOf"][0] == {"$ref": "#/$defs/Node"}
    read = Tool.of(plant).arguments.read({"garden": {"roots": [{"name": "a", "below": {"name": "b"}}]}})
    assert read == {"garden": Garden([Node("a", Node("b"))])}


def test_a_type_that_holds_something_nobody_knows_is_refused() -> None:
    @dataclass
    class Loop:
        again: Loop | None = None

    def turn(loop: Loop) -> str:
        return str(Loop(loop))

    with pytest.raises(SettingsInvalid, match="name 'Loop' is not defined"):
        Tool.of(turn)


def test_a_tool_without_parameters_takes_an_object_without_fields() -> None:
    def now() -> float:
        """The time."""
        return 0.0

    assert Tool.of(now).definition == {
        "name": "now",
        "description": "The time.",
        "input_schema": {"type": "object", "properties": {}, "required": [], "additionalProperties": False},
    }


def test_the_decorator_says_what_the_signature_cannot() -> None:
    @tool(
        name="drop",
        description="Deletes.",
        approval=lambda call: "prod" in call.arguments,
        timeout=3,
        retries=2,
        idempotent=True,
    )
    def delete(table: str) -> str:
        """Other words."""
        return table

    made = Tool.of(delete)
    assert (made.name, made.description, made.timeout, made.retries, made.idempotent) == ("drop", "Deletes.", 3, 2, True)
    assert delete("t") == "t"
    assert Tool.of(tool(weather)).name == "weather"


def test_a_name_that_no_tool_can_have_is_refused() -> None:
    with pytest.raises(SettingsInvalid, match="a tool cannot be called '<lambda>'"):
        Tool.of(lambda city: city)


def many(*numbers: int) -> int:
    return sum(numbers)


def lost(thing: Missing) -> None:  # noqa: F821  (nobody knows it: that is the point)
    """Takes what nobody knows."""


class Opaque:
    """JSON has no form for it."""


def opaque(thing: Opaque) -> None:
    """Takes one."""


@pytest.mark.parametrize(
    ("function", "why"),
    [(many, "cannot be given by name"), (lost, "is not known where it stands"), (opaque, "JSON has no form for this")],
)
def test_what_no_model_could_call_is_refused_when_the_agent_is_made(function: Any, why: str) -> None:
    with pytest.raises(SettingsInvalid, match=why):
        Agent(tools=[function])


@pytest.mark.parametrize(
    ("ways", "why"),
    [
        ({"limits": {"steps": 3}}, r"limits are `Limits\(steps=…\)`, not a dict"),
        ({"on_overflow": "compakt"}, "on_overflow is 'error' or 'compact', not 'compakt'"),
    ],
)
def test_what_is_no_choice_is_refused_when_the_agent_is_made(ways: Any, why: str) -> None:
    with pytest.raises(SettingsInvalid, match=why):
        Agent(**ways)


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(SettingsInvalid, match="two tools are called 'weather'"):
        Agent(tools=[weather, weather])


class Shelf:
    """Not what the model is told."""

    def __init__(self, what: str) -> None:
        self.what = what

    def count(self, row: int) -> str:
        """Counts what is in a row."""
        return f"{row} {self.what}"

    def __call__(self, word: str) -> str:
        """Looks a word up."""
        return word


@pytest.mark.parametrize(
    ("function", "name", "words", "taken"),
    [
        (Shelf("books").count, "count", "Counts what is in a row.", {"row": {"type": "integer"}}),
        (partial(Shelf.count, Shelf("books")), "count", "Counts what is in a row.", {"row": {"type": "integer"}}),
        (Shelf("books"), "Shelf", "Looks a word up.", {"word": {"type": "string"}}),
    ],
)
def test_whatever_can_be_called_is_a_tool(function: Any, name: str, words: str, taken: Any) -> None:
    """Methods, partials, and objects with a `__call__`: their own words and types count."""
    made = Tool.of(function)
    assert (made.name, made.description, made.arguments.schema["properties"]) == (name, words, taken)


def test_a_method_of_each_object_has_marks_of_its_own() -> None:
    """Two objects of one class may be two tools."""
    books = Tool.of(tool(name="books", approval=True)(Shelf("books").count))
    plates = Tool.of(tool(name="plates")(Shelf("plates").count))
    assert [(each.name, each.approval, each.function(row=3)) for each in (books, plates)] == [
        ("books", True, "3 books"),
        ("plates", False, "3 plates"),
    ]


def find(
    word: Annotated[str, "What to look for."],
    most: Annotated[int, "How many.", Meta(ge=1)] = 3,
    where: Annotated[str, 7] = "",
) -> str:
    """Finds a word.

    Args:
        most: How many at most.
    """
    return word * most + where


def test_words_beside_a_type_describe_its_parameter() -> None:
    """The docstring's own count more."""
    assert Tool.of(find).arguments.schema["properties"] == {
        "word": {"type": "string", "description": "What to look for."},
        "most": {"type": "integer", "minimum": 1, "default": 3, "description": "How many at most."},
        "where": {"type": "string", "default": ""},
    }

"""One call: whatever a tool does, the model reads what came of it, and the run goes on."""

from __future__ import annotations

import asyncio
import contextvars
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest

from clew import Tool, ToolCall, ToolFailed, tool
from clew.chat.agent.calls import output_of
from tests.manifest import proves
from tests.waiting import forever as never_ends


def output(function: Callable[..., object], arguments: str = "{}") -> Any:
    """What the model reads; a failure as its words."""
    given = asyncio.run(output_of(Tool.of(function), ToolCall(id="t1", name="f", arguments=arguments)))
    return f"failed: {given}" if isinstance(given, ToolFailed) else given


@dataclass
class Weather:
    degrees: Decimal
    wind: tuple[int, str]


@dataclass
class City:
    name: str

    def __post_init__(self) -> None:
        _ = {"Rome": "Italy"}[self.name]


def visit(city: City) -> str:
    """Goes there."""
    return city.name


def add(one: int, other: int = 1) -> int:
    """Adds."""
    return one + other


async def add_later(one: int, other: int = 1) -> int:
    """Adds, but not at once."""
    await asyncio.sleep(0)
    return one + other


@pytest.mark.parametrize("function", [add, add_later])
def test_functions_of_both_kinds_are_called_with_converted_arguments(function: Callable[..., object]) -> None:
    assert output(function, '{"one": "2"}') == 3


@proves("req:S2-14")
@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ('{"one": []}', "The arguments of add are wrong: Expected `int`, got `array` - at `$.one`. Nothing was done."),
        ('{"other": 1}', "The arguments of add are wrong: Object missing required field `one`. Nothing was done."),
        ('{"one": 1', "The arguments of add are not valid JSON: Input data was truncated. Nothing was done."),
        (
            "[" * 5000,
            "The arguments of add are not valid JSON: maximum recursion depth exceeded while deserializing an object."
            " Nothing was done.",
        ),
        ("[1]", "The arguments of add are wrong: Expected `object`, got `array`. Nothing was done."),
    ],
)
def test_wrong_arguments_are_told_with_their_place(arguments: str, why: str) -> None:
    """S2-14: broken arguments end no run."""
    assert output(add, arguments) == f"failed: {why}"


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("words", "words"),
        ([{"type": "text", "text": "a block"}], [{"type": "text", "text": "a block"}]),
        (Weather(Decimal("21.5"), (3, "N")), {"degrees": "21.5", "wind": [3, "N"]}),
        ({1: {2}}, {"1": [2]}),
        (None, None),
        (object, "<class 'object'>"),
    ],
)
def test_whatever_a_tool_gives_can_be_read(value: object, read: object) -> None:
    def give() -> object:
        return value

    assert json.loads(json.dumps(output(give))) == read


def test_a_value_without_an_end_is_a_failure() -> None:
    def give() -> object:
        value: list[object] = []
        value.append(value)
        return value

    assert output(give).startswith("failed: RecursionError")
    assert output(lambda_of(float("nan"))) == "failed: a tool's result cannot be written as JSON: " + NAN


NAN = "Out of range float values are not JSON compliant"


def lambda_of(value: object) -> Callable[[], object]:
    def give() -> object:
        return value

    return give


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ToolFailed("ask for a city in Italy"), "ask for a city in Italy"),
        (KeyError("Rome"), "KeyError: 'Rome'"),
        (RuntimeError(), "RuntimeError"),
        (TimeoutError("the server is slow"), "TimeoutError: the server is slow"),
        (StopIteration("no more"), "RuntimeError: StopIteration: no more"),
        (SystemExit(3), "RuntimeError: SystemExit: 3"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_an_exception_is_told_without_a_traceback(error: BaseException, words: str) -> None:
    def fail() -> None:
        raise error

    assert output(fail) == f"failed: {words}"


@pytest.mark.parametrize(
    ("error", "words"),
    [(asyncio.CancelledError("the server went"), "CancelledError: the server went"), (SystemExit(3), "SystemExit: 3")],
    ids=["cancelled", "exit"],
)
def test_a_coroutine_that_cancels_itself_or_ends_the_program_has_only_failed(error: BaseException, words: str) -> None:
    async def fail() -> None:
        raise error

    assert output(fail) == f"failed: {words}"


def test_a_type_that_refuses_its_values_in_its_own_way_is_told() -> None:
    assert output(visit, '{"city": {"name": "Paris"}}') == (
        "failed: The arguments of visit are wrong: KeyError: 'Paris'. Nothing was done."
    )


def test_a_call_that_takes_too_long_is_left_behind() -> None:
    """A thread that hangs holds up nobody: neither the result nor the end of the loop."""
    forever = threading.Event()

    @tool(timeout=0.05)
    def hang() -> None:
        forever.wait(30)

    @tool(timeout=0.05)
    async def hang_later() -> None:
        await never_ends()

    late = "took longer than 0.05 s, and may not have come to its end."
    try:
        assert (output(hang), output(hang_later)) == (f"failed: hang {late}", f"failed: hang_later {late}")
    finally:
        forever.set()


def test_a_call_is_tried_as_often_as_its_tool_says() -> None:
    tries: list[int] = []

    @tool(retries=2)
    def third_time() -> str:
        tries.append(1)
        if len(tries) < 3:
            raise ConnectionError("not yet")
        return "done"

    @tool(retries=1)
    def never() -> str:
        tries.append(1)
        raise ConnectionError("never")

    assert (output(third_time), len(tries)) == ("done", 3)
    assert (output(never), len(tries)) == ("failed: ConnectionError: never", 5)


def test_wrong_arguments_are_not_tried_again() -> None:
    calls: list[int] = []

    @tool(retries=5)
    def once(number: int) -> None:
        calls.append(number)

    assert output(once, '{"number": "x"}').startswith("failed: The arguments")
    assert calls == []


def test_a_plain_function_has_a_thread_and_the_context_of_its_caller() -> None:
    user: contextvars.ContextVar[str] = contextvars.ContextVar("user")

    def who() -> list[object]:
        thread = threading.current_thread()
        return [user.get(), thread.name, thread.daemon]

    user.set("ada")
    assert output(who) == ["ada", "clew-tool", True]

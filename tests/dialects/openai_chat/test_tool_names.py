"""Names of tools that Chat Completions does not take go out shorter, and come back as the client's own."""

from __future__ import annotations

import json
import re

from clew import Translator
from tests.build import Json, assistant, request, tool_result, tool_use, user
from tests.dialects.openai_chat.encoding import body, told

LONG = "mcp__a_server_with_a_long_name__a_tool_whose_name_says_everything_that_it_does"
TWIN = LONG + "_and_more"
SCHEMA: Json = {"type": "object", "properties": {}}


def tools(*names: str) -> list[Json]:
    return [{"name": name, "input_schema": SCHEMA} for name in names]


def sent(*names: str) -> list[str]:
    return [tool["function"]["name"] for tool in body(request(user("go"), tools=tools(*names)))["tools"]]


def test_what_fits_goes_as_it_is() -> None:
    assert sent("Read", "x" * 64) == ["Read", "x" * 64]
    assert told(request(user("go"), tools=tools("x" * 64))) == []


def test_a_long_name_goes_out_shorter_and_stays_different_from_its_twin() -> None:
    first, second = sent(LONG, TWIN)

    assert first != second
    assert all(re.fullmatch(r"mcp__a_server_with_a_long_name__[a-z_]+_[0-9a-f]{8}", name) for name in (first, second))
    assert {len(first), len(second)} == {64}
    assert told(request(user("go"), tools=tools(LONG, TWIN))) == [("tools.0.name", "replaced")]


def test_calls_in_the_history_and_a_forced_choice_bear_the_same_name() -> None:
    said = [user("go"), assistant(tool_use("toolu_1", name=LONG)), user(tool_result("toolu_1", "done"))]
    asked = request(*said, tools=tools(LONG), tool_choice={"type": "tool", "name": LONG})
    going = body(asked)

    [name] = sent(LONG)
    assert going["messages"][1]["tool_calls"][0]["function"]["name"] == name
    assert going["tool_choice"] == {"type": "function", "function": {"name": name}}


def answered(name: str, asked: Json) -> str:
    """The tool that the client is told to run, when the backend calls this one."""
    translator = Translator()
    translator.request(asked)
    call = {"index": 0, "id": "call_1", "function": {"name": name, "arguments": "{}"}}
    chunk = {"choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}
    told = translator.feed(b"data: " + json.dumps(chunk).encode() + b"\n\ndata: [DONE]\n\n") + translator.flush()
    [start] = [line for line in told.decode().splitlines() if line.startswith('data: {"type":"content_block_start"')]
    return json.loads(start[6:])["content_block"]["name"]


def test_the_client_hears_its_own_name() -> None:
    asked: Json = {"model": "m", "max_tokens": 9, "messages": [user("go")], "tools": tools("Read", TWIN, LONG)}
    short_twin, short = sent(TWIN, LONG)

    assert answered(short, asked) == LONG
    assert answered(short_twin, asked) == TWIN
    assert answered("Read", asked) == "Read"


def test_a_name_that_only_looks_shortened_stays() -> None:
    asked: Json = {"model": "m", "max_tokens": 9, "messages": [user("go")], "tools": tools("y" * 64)}

    assert answered("y" * 64, asked) == "y" * 64
    assert answered("z" * 64, asked) == "z" * 64

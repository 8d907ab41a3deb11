"""The official SDKs on a stream of every scenario: what they put together is what the backend said."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from clew.simulator.turns import shipped
from clew.testing import Simulator
from clew.testing.plugin import StartSimulator
from tests.clients.installed import HERE, NODE, clients_python
from tests.clients.openai_clients import MOST_SECONDS
from tests.engine.gate import KEY, Gate, claude
from tests.gateway.responding import MODEL, openai
from tests.manifest import proves
from tests.simulator.wire import ask

pytestmark = pytest.mark.slow

TOOLS = ["Bash", "Read", "Edit"]
PROGRAMS = {"openai-python": "openai_streams_python.py", "openai-js": "openai_streams_js.mjs"}
BROKEN = {"cut-off", "no-end", "overloaded", "overloaded-late"}
"""An SDK raises for each of these."""


def heard_by(program: str, url: str, key: str, model: str, prompts: list[str]) -> list[Any]:
    runtime = NODE if program.endswith(".mjs") else clients_python()
    given = {"url": url, "key": key, "model": model, "prompts": prompts, "tools": TOOLS}
    done = subprocess.run(
        [runtime, HERE / "sdks" / program],
        input=json.dumps(given),
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=MOST_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def said_in(output: list[Any]) -> list[Any]:
    """What an answer says, in order: thoughts, texts and calls."""
    found: list[Any] = []
    for item in output:
        match item["type"]:
            case "reasoning":
                found.append(("thinking", "".join(part["text"] for part in item["summary"])))
            case "message":
                found += [("text", part.get("text") or part.get("refusal", "")) for part in item["content"]]
            case "function_call":
                found.append((item["name"], json.loads(item["arguments"])))
    return found


def said_by(sim: Simulator, prompt: str) -> list[Any]:
    """The same of a Messages answer, straight from Claude."""
    tools = [{"name": name, "input_schema": {"type": "object"}} for name in TOOLS]
    wish = {"type": "adaptive", "display": "summarized"}
    answer = ask(sim.url, prompt, model=MODEL, tools=tools, thinking=wish).json
    blocks = {
        "thinking": lambda block: ("thinking", block["thinking"]),
        "redacted_thinking": lambda block: ("thinking", ""),
        "text": lambda block: ("text", block["text"]),
        "tool_use": lambda block: (block["name"], block["input"]),
    }
    return [blocks[block["type"]](block) for block in answer["content"] if block["type"] in blocks]


@proves("case:117")
@pytest.mark.parametrize("name", PROGRAMS)
def test_an_sdk_puts_together_what_claude_said(name: str, tmp_path: Path, simulators: StartSimulator) -> None:
    sim = simulators(stance={"prefix_enforcement": "on"})
    scenarios = list(shipped())
    prompts = [f"[[scenario:{each}]] Go on." for each in scenarios]
    with Gate(tmp_path, claude(sim)) as gate:
        heard = dict(zip(scenarios, heard_by(PROGRAMS[name], gate.url, KEY, MODEL, prompts), strict=True))

    assert {each for each in scenarios if "error" in heard[each]} == BROKEN
    for each, prompt in zip(scenarios, prompts, strict=True):
        if each not in BROKEN:
            assert said_in(heard[each]["output"]) == said_by(sim, prompt), each


@proves("case:117")
@pytest.mark.parametrize("name", PROGRAMS)
def test_an_sdk_gets_the_same_from_openai(name: str, tmp_path: Path, simulators: StartSimulator) -> None:
    """Where both sides speak Responses."""
    sim = simulators(kind="openai-responses")
    scenarios = ["thinking", "text", "parallel", "interleaved", "small-pieces", "cut-short", "refusal"]
    prompts = [f"[[scenario:{each}]] Go on." for each in scenarios]
    with Gate(tmp_path, openai(sim)) as gate:
        through = heard_by(PROGRAMS[name], gate.url, KEY, MODEL, prompts)
    straight = heard_by(PROGRAMS[name], sim.url, sim.key, "gpt-5.5", prompts)

    assert [each.get("status") for each in through] == [each.get("status") for each in straight]
    assert [said_in(each.get("output", [])) for each in through] == [said_in(each.get("output", [])) for each in straight]

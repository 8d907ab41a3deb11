"""One smoke conversation for every row of the table of presets, with the simulator that the row names."""

import json
from pathlib import Path

import pytest

from clew.backends.presets import Preset, presets
from clew.testing.plugin import StartSimulator
from tests.cli.invoking import Clew
from tests.manifest import proves, public

BLOCKS = (["thinking blocks"], "accepted", ["thinking blocks"])
ITEMS = (["reasoning items"], "accepted", ["reasoning items"])
CONTENT = (["reasoning_content"], "accepted", ["reasoning_content"])
FIELD = (["reasoning"], "accepted", ["reasoning"])
DETAILS = (["reasoning_details"], "accepted", ["reasoning_details"])
HIDDEN = ([], "no reasoning to pass back", [])

IN_CHAT = {
    "zai": CONTENT,
    "zai-cn": CONTENT,
    "kimi": CONTENT,
    "kimi-cn": CONTENT,
    "kimi-coding": ([], "no reasoning to pass back", ["reasoning_content"]),  # its model does not think here: a placeholder
    "deepseek": CONTENT,
    "deepseek-r1": (["reasoning_content"], "not passed back", []),
    "minimax": DETAILS,
    "minimax-cn": DETAILS,
    "qwen": CONTENT,
    "qwen-cn": CONTENT,
    "openrouter": (["reasoning", "reasoning_details"], "accepted", ["reasoning_details"]),
    "litellm": CONTENT,
    "openai": HIDDEN,
    "azure": HIDDEN,
    "xai": HIDDEN,
    "gemini": (["tool_calls.extra_content", "tags"], "accepted", ["tool_calls.extra_content"]),
    "mistral": (["content chunks"], "accepted", ["content chunks"]),
    "groq": FIELD,
    "cerebras": FIELD,
    "together": FIELD,
    "fireworks": CONTENT,
    "vllm": FIELD,
    "sglang": CONTENT,
    "llamacpp": CONTENT,
    "ollama": FIELD,
    "lmstudio": CONTENT,
}
"""Where each one's reasoning was, what became of it in the next request, and where it was then."""


def table(row: Preset, base: str) -> str:
    """Its preset with the simulator in the vendor's place."""
    said = {"preset": row.name, "dialect": row.dialect, "key": "sim-a-1"}
    said["url"] = base + ("/v1" if row.dialect == "openai-chat" else "")
    if row.name == "azure":
        said["model"] = "gpt-5.6"  # every customer's own
    lines = [f'{key} = "{value}"' for key, value in said.items()]
    return "\n".join([f"[backends.{row.name}_{row.dialect}]", *lines, ""])


def where_in(row: Preset) -> tuple[list[str], str, list[str]]:
    """Where reasoning comes, what becomes of it, and where it goes back."""
    return {"openai-chat": IN_CHAT.get(row.name, BLOCKS), "openai-responses": ITEMS}.get(row.dialect, BLOCKS)


@pytest.mark.slow
@public("cli")
@proves("req:S3-40")
def test_every_row_goes_a_round_with_the_simulator_that_stands_for_it(tmp_path: Path, simulators: StartSimulator) -> None:
    """Thinking, a tool call, its result: nothing is refused, nothing needs a repair, and all reasoning is where it belongs."""
    clew = Clew(tmp_path / "home")
    rows = [each for row in presets().values() for each in (row, *row.others.values())]
    bases = {kind: simulators(kind=kind).url for kind in dict.fromkeys(each.simulator for each in rows)}
    clew.write("\n".join(table(row, bases[row.simulator]) for row in rows))
    result = clew("backends", "test", "--json")
    told = {each["backend"]: each for each in json.loads(result.stdout)}
    assert [(name, each["says"]) for name, each in told.items() if not each["ok"]] == []
    learned = {name: each["learned"] for name, each in told.items()}
    expected = {f"{row.name}_{row.dialect}": where_in(row) for row in rows}
    assert {name: (each["reasoning"], each["passed_back"], each["back_in"]) for name, each in learned.items()} == expected
    assert {each["called"] for each in learned.values()} == {True}

"""`clew check` with requests of OpenAI's dialects: what it says, and how it ends."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.homes import Home
from tests.manifest import public

BACKENDS = """
[backends.claude]
preset = "anthropic"
[backends.other]
dialect = "openai-chat"
url = "http://127.0.0.1:9/v1"
auth = "none"
"""
CALL = {"type": "function_call", "call_id": "c1", "name": "run", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "1"}
TOOL = {"type": "function", "name": "run", "parameters": {"type": "object", "properties": {}}}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "h", BACKENDS)


def written(home: Home, *items: Any) -> str:
    file = home.root / "request.json"
    body = {"model": "gpt-5.5", "input": [{"role": "user", "content": "Hi"}, *items], "tools": [TOOL]}
    file.write_text(json.dumps(body))
    return str(file)


@public("cli")
def test_a_call_without_its_output_is_told_in_openais_words(home: Home) -> None:
    told = home.clew("check", written(home, CALL))
    assert (told.exit_code, told.stderr) == (1, "")
    assert told.stdout.splitlines() == [
        "request.json: a request for gpt-5.5, 2 messages, 0 thinking blocks",
        "",
        "1 violation for openai",
        "  responses.call-unanswered  input[1]",
        "    the API says  No tool output found for function call c1.",
        '    right         Send an output for every call; Codex sends "aborted" for one that was not run.',
    ]


def test_a_whole_request_is_clean_and_so_is_what_each_backend_gets_of_it(home: Home) -> None:
    told = home.json("check", written(home, CALL, OUTPUT), "--for", "claude", "--for", "other", "--json")
    [conversation] = told["conversations"]
    assert (told["clean"], conversation["violations"]) == (True, {"claude": [], "other": []})


def test_what_clew_itself_refuses_is_told(home: Home) -> None:
    told = home.clew("check", written(home, {"type": "item_reference", "id": "msg_1"}), "--for", "claude")
    assert (told.exit_code, "clew cannot translate this for claude: " in told.stdout) == (1, True)


def test_it_is_not_mended(home: Home) -> None:
    code, says = home.refused("check", written(home, CALL), "--fix")
    assert (code, says.endswith("This is a request in openai-responses.")) == (2, True)

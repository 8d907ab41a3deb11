"""Requests by which a client asks for a title: answered and recorded, and never taken for a conversation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clew.testing.plugin import StartSimulator
from tests.build import user
from tests.engine.conftest import Gating
from tests.engine.gate import Gate, claude
from tests.engine.kept import exchange_of, store_of
from tests.engine.talk import MODEL, Talk

pytestmark = pytest.mark.slow

CAPTURE = Path(__file__).parents[1] / "fixtures/captures/cc_title_background.json"
SESSION = {"x-claude-code-session-id": "s"}
CLAUDE_CODE = {**SESSION, "user-agent": "claude-cli/2.1.325 (external, cli)"}
AGENT_SDK = {**SESSION, "user-agent": "claude-cli/2.1.326 (external, sdk-ts, agent-sdk/0.3.326)"}
OPENCODE = {"user-agent": "opencode/1.18.33 ai-sdk/provider-utils/4.0.46 runtime/bun/1.3.14", "x-session-id": "ses_1"}
WORDS = "<session>\nRead a.txt\n</session>\nWrite the title in the predominant language of the session."

BY_SCHEMA = {**json.loads(CAPTURE.read_text())["body"], "messages": [user(WORDS)]}
BY_WORDS = {
    "model": MODEL,
    "max_tokens": 32000,
    "stream": True,
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Generate a title for this conversation:\n"}]},
        user("Read a.txt"),
    ],
}
TITLES = {"Claude Code": (CLAUDE_CODE, BY_SCHEMA), "Agent SDK": (AGENT_SDK, BY_SCHEMA), "opencode": (OPENCODE, BY_WORDS)}


@pytest.fixture
def gate(gating: Gating, simulators: StartSimulator) -> Gate:
    return gating(claude(simulators()))


@pytest.mark.parametrize("name", TITLES)
@pytest.mark.parametrize("first", [True, False], ids=["before the conversation", "after its first answer"])
def test_a_request_for_a_title_makes_no_thread_and_names_none(gate: Gate, name: str, first: bool) -> None:
    """Also with the session of the conversation that it is about, whichever comes first."""
    headers, body = TITLES[name]
    talk = Talk(gate, headers=headers)
    if not first:
        talk.says("Read a.txt")
    told = exchange_of(gate, gate.ask(body, headers=headers))
    if first:
        talk.says("Read a.txt")
    threads = store_of(gate).threads("local")
    assert [(thread.title, thread.turns > 0) for thread in threads] == [("Read a.txt", True)]
    assert (told.kind, told.outcome, told.usage is not None) == ("title", "whole", True)
    assert store_of(gate).search("local", "predominant") == []
    assert store_of(gate).verify() == ()


def test_the_same_request_again_is_no_thread_either(gate: Gate) -> None:
    """What is like a request that was decided before goes a shorter way."""
    for _ in range(4):
        assert gate.ask(BY_SCHEMA, headers={"user-agent": CLAUDE_CODE["user-agent"]}).status == 200
    assert store_of(gate).threads("local") == []


OTHERS: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    "of another client": ({"user-agent": "my-app/1.0"}, BY_SCHEMA),
    "with tools": (CLAUDE_CODE, {**BY_SCHEMA, "tools": [{"name": "Read", "input_schema": {"type": "object"}}]}),
    "for more than a title": (CLAUDE_CODE, {**BY_SCHEMA, "output_config": {"format": {"type": "json_schema", "schema": {
        "type": "object", "properties": {"title": {"type": "string"}, "body": {"type": "string"}},
        "required": ["title", "body"], "additionalProperties": False}}}}),
    "in other words": (OPENCODE, {**BY_WORDS, "messages": [user("Please generate a title for this conversation:")]}),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_what_only_looks_like_one_is_a_conversation(gate: Gate, name: str) -> None:
    headers, body = OTHERS[name]
    answer = gate.ask(body, headers=headers)
    assert answer.status == 200, answer.body
    assert exchange_of(gate, answer).kind == "messages"
    assert len(store_of(gate).threads("local")) == 1


def test_what_a_client_says_for_the_model_alone_names_no_thread(gate: Gate) -> None:
    """Codex begins with the rules of the directory and with where it is, in a message of their own."""
    rules = "# AGENTS.md instructions for /home/me/work\n\n<INSTRUCTIONS>\nBe nice.\n\n</INSTRUCTIONS>"
    place = "<environment_context>\n  <cwd>/home/me/work</cwd>\n</environment_context>"
    items = [
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "You are Codex."}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": each} for each in (rules, place)]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Fix the parser."}]},
    ]
    answer = gate.ask({"model": MODEL, "input": items, "store": False}, path="/v1/responses")
    assert answer.status == 200, answer.body
    assert [thread.title for thread in store_of(gate).threads("local")] == ["Fix the parser."]

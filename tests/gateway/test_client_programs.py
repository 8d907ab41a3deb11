"""Which program asked, by the header that it really sends: kept with each exchange and with its usage."""

from __future__ import annotations

import time
from pathlib import Path

from clew.limits.usage import UsageQuery
from clew.store.text import exchange_line
from clew.testing.plugin import StartSimulator
from tests.build import user
from tests.engine.gate import KEY, Gate, claude
from tests.engine.kept import exchange_of, store_of
from tests.gateway.chat_client import PATH, QUESTION
from tests.gateway.responding import MODEL

MESSAGES = {"model": MODEL, "max_tokens": 2000, "messages": [user("Hello")]}
RESPONSES = {"model": MODEL, "input": "Hello"}
CODEX = "codex_exec/0.169.0 (Debian 12.0.0; x86_64) xterm (codex_exec; 0.169.0)"
ASKED = {
    "Claude Code": ("/v1/messages", MESSAGES, "claude-cli/2.1.325 (external, cli)"),
    "Codex": ("/v1/responses", RESPONSES, CODEX),
    "opencode": (PATH, QUESTION, "opencode/1.18.33 ai-sdk/provider-utils/4.0.46 runtime/bun/1.3.14"),
    "<i>my-app": ("/v1/messages", MESSAGES, "<i>my-app/2 (of mine)"),
    "": ("/v1/messages", MESSAGES, "/2"),
}


def test_an_exchange_and_its_usage_name_the_program_that_asked(tmp_path: Path, simulators: StartSimulator) -> None:
    with Gate(tmp_path, claude(simulators(scenario="text"))) as gate:
        found = [
            exchange_of(gate, gate.ask(body, path=path, headers={"x-api-key": KEY, "user-agent": agent}))
            for path, body, agent in ASKED.values()
        ]
        now = time.time()
        used = store_of(gate).usage.groups(UsageQuery(by=("client",), since=now - 3600, until=now + 1))
    assert [each.client for each in found] == [*ASKED]
    assert sorted(each.names[0] for each in used) == sorted(ASKED)
    lines = [exchange_line(each).partition("  client: ")[2] for each in found]
    assert lines == ["Claude Code", "Codex, Responses", "opencode, Chat Completions", "<i>my-app", ""]


def test_a_request_that_is_refused_names_its_program_too(tmp_path: Path, simulators: StartSimulator) -> None:
    """By it one finds whose requests fail."""
    simulator = simulators()
    simulator.fault("status 400 message='Not so.'", times=None)
    with Gate(tmp_path, claude(simulator)) as gate:
        path, body, agent = ASKED["Claude Code"]
        exchange = exchange_of(gate, gate.ask(body, path=path, headers={"x-api-key": KEY, "user-agent": agent}))
    assert (exchange.outcome, exchange.client, exchange.usage) == ("refused", "Claude Code", None)

"""What the user of the session policy's document does, from outside: a conversation, switches, and the log and the table that
tell of it. The gateway is a process, the backends are strict simulators, and all goes over sockets."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from clew.testing import Simulator
from tests.build import Json, assistant, user
from tests.engine.gate import Answer, post
from tests.engine.talk import MODEL, SHOWN, content_of, last_asked, refusals, thoughts, thoughts_in
from tests.gateway.served import KEY, Served, backend
from tests.manifest import proves, public
from tests.waiting import until

pytestmark = pytest.mark.slow

CONFIG = """active = "anthropic"
[thinking]
policy = "session"
[log]
file = "clew.log"
thinking_text = true
[[rules]]
family = "haiku"
backend = "glm"
"""
SMALL = "claude-haiku-4-5"


class Session:
    """A client with one conversation, and what its user looks at."""

    def __init__(self, gateway: Served) -> None:
        self.gateway = gateway
        self.messages: list[Json] = []

    def says(self, words: str, model: str = MODEL) -> Answer:
        self.messages.append(user(words))
        answer = self.ask(self.messages, model)
        self.messages.append(assistant(*content_of(answer)))
        return answer

    def ask(self, messages: list[Json], model: str = MODEL) -> Answer:
        thinking = SHOWN if model == MODEL else {"type": "enabled", "budget_tokens": 1024}
        body = {"model": model, "max_tokens": 4000, "stream": True, "thinking": thinking, "messages": messages}
        answer = post(self.gateway.url, body, path="/v1/messages", headers={"x-api-key": KEY})
        assert answer.status == 200, answer.raw
        return answer

    def log(self, *events: str, requests: int) -> list[Json]:
        """The lines with these events, once so many requests have their summary."""
        file = self.gateway.home / "clew.log"
        until(lambda: file.exists() and file.read_text().count('"event":"request"') >= requests)
        lines: list[Json] = [json.loads(line) for line in file.read_text().splitlines()]
        return [line for line in lines if line["event"] in events]

    def table(self) -> Any:
        return json.loads(self.gateway.clew("status", "--blocks", "--json").stdout)


@pytest.fixture
def backends() -> Iterator[tuple[Simulator, Simulator]]:
    with Simulator() as anthropic, Simulator(realm="glm") as glm:
        yield anthropic, glm


@pytest.fixture
def session(backends: tuple[Simulator, Simulator]) -> Iterator[Session]:
    anthropic, glm = backends
    rows = backend("anthropic", anthropic.url, 'realm = "anthropic"\n') + backend("glm", glm.url)
    with Served(CONFIG + rows, "--no-admin", "--debug") as gateway:
        yield Session(gateway)


def switches(lines: list[Json]) -> list[tuple[str, str, int, int]]:
    return [tuple(line[name] for name in ("old_backend", "new_backend", "old_session", "new_session")) for line in lines]


@public("gateway", "cli")
@proves("req:S1-32", "req:S1-39", "req:S1-41", "req:S1-42", "req:S1-43", "req:S1-15", "req:S1-16")
def test_a_switch_in_mid_conversation_as_the_document_tells_it(
    session: Session, backends: tuple[Simulator, Simulator]
) -> None:
    anthropic, glm = backends
    session.says("One.")
    session.says("Two.")
    assert len(thoughts_in(last_asked(anthropic))) == 1
    assert session.gateway.clew("use", "glm").returncode == 0
    session.says("Three.")
    assert thoughts_in(last_asked(glm)) == []
    session.says("Four.")
    assert thoughts_in(last_asked(glm)) == thoughts(session.messages)[2:3]
    assert (refusals(anthropic), refusals(glm)) == ([], [])

    switch = switches(session.log("backend switch", requests=4))
    assert switch == [("", "anthropic", 0, 1), ("anthropic", "glm", 1, 2)]
    registered = session.log("block registered", requests=4)
    assert [line["session"] for line in registered] == [1, 1, 2, 2]
    assert all(line["level"] == "debug" and re.fullmatch("[0-9a-f]{16}", line["hash"]) for line in registered)
    assert all(line["content_preview"] for line in registered)
    a, b, c, _ = [line["hash"] for line in registered]
    assert [line["hash"] for line in session.log("block confirmed", requests=4)] == [a, c]
    cleaned = session.log("block cleaned up", requests=4)
    assert sorted((line["hash"], line["rule"]) for line in cleaned) == sorted([(a, "old session"), (b, "old session")])
    third = session.log("request", requests=4)[2]
    assert {name: third[name] for name in SUMMARY} == dict(zip(SUMMARY, (0, 2, 0, 0, 2, 0), strict=True))


SUMMARY = (
    "confirmed",
    "cleanup_old_session",
    "cleanup_confirmed_unused",
    "cleanup_orphaned",
    "filtered_from_request",
    "cache_size_after",
)


@public("gateway", "cli")
@proves("req:S1-41", "req:S1-2")
def test_a_switch_by_a_rule_has_its_line_too_and_a_request_without_one_has_none(session: Session) -> None:
    session.says("One.")
    session.ask([user("A small question.")], SMALL)
    session.says("Two.")
    session.says("Three.")
    lines = session.log("backend switch", requests=4)
    assert switches(lines) == [("", "anthropic", 0, 1), ("anthropic", "glm", 1, 2), ("glm", "anthropic", 2, 3)]
    assert [line["session"] for line in session.log("request", requests=4)] == [1, 2, 3, 3]


@public("cli")
@proves("req:S1-8", "req:S1-40", "req:S1-4", "req:S1-14")
def test_the_table_that_decides_can_be_looked_at(session: Session, backends: tuple[Simulator, Simulator]) -> None:
    assert session.table() == []
    session.says("One.")
    session.says("Two.")
    backends[0].fault("cut content=2 how=rst")
    session.ask([*session.messages, user("Three.")])
    until(lambda: [each["stats"]["total"] for each in session.table()] == [3])
    [table] = session.table()
    assert (table["session"], table["backend"]) == (1, "anthropic")
    assert table["stats"] == {"total": 3, "confirmed": 2, "unconfirmed": 1, "current_session": 3, "old_session": 0}
    states = [(block["session"], block["confirmed"], block["complete"]) for block in table["blocks"]]
    assert states == [(1, True, True), (1, True, True), (1, False, False)]
    shown = session.gateway.clew("status", "--blocks").stdout
    assert "session 1, anthropic" in shown
    assert "3 blocks: 2 confirmed, 1 unconfirmed; 3 of this session, 0 of older ones" in shown
    assert "cut off, never sent to the client" in shown
    hashes = {line["hash"] for line in session.log("block registered", requests=3)}
    assert hashes == {block["hash"] for block in table["blocks"]}


@public("gateway", "cli")
@proves("req:S1-44")
def test_decisions_about_single_blocks_are_not_in_a_debug_log(session: Session) -> None:
    session.says("One.")
    session.says("Two.")
    assert session.log("block", requests=2) == []


@public("cli")
def test_without_the_policy_there_is_no_table_and_the_command_says_why(backends: tuple[Simulator, Simulator]) -> None:
    with Served('active = "a"\n' + backend("a", backends[0].url), "--no-admin") as gateway:
        gateway.ask().response()
        assert 'only `policy = "session"` under [thinking] makes one' in gateway.clew("status", "--blocks").stdout

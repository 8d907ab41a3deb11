"""The log of document 001, as an operator reads it: a gateway in a process of its own, and a session with a switch."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from clew.testing import Simulator
from tests.engine.gate import Answer, post
from tests.engine.talk import Talk
from tests.gateway.served import KEY, Served, backend
from tests.manifest import proves, public
from tests.waiting import until

pytestmark = pytest.mark.slow

DEBUG = 'level = "debug"\ndebug = true'
COUNTS = ("confirmed", "cleanup_old_session", "cleanup_confirmed_unused", "cleanup_orphaned")
COUNTS += ("filtered_from_request", "cache_size_after")


class Session:
    """One conversation through the gateway, and the log of all its requests."""

    def __init__(self, gateway: Served) -> None:
        self.gateway = gateway
        client: Any = self
        self.talk = Talk(client, tools=[])
        self._requests = 0

    def ask(self, body: Any, *, path: str = "/v1/messages", headers: Mapping[str, str] | None = None) -> Answer:
        self._requests += 1
        return post(self.gateway.url, body, path=path, headers={"x-api-key": KEY, **(headers or {})})

    @property
    def written(self) -> str:
        """The log, once it has the line of each request."""
        file = self.gateway.config.parent / "log"
        until(lambda: file.read_text().count('"event":"request"') == self._requests)
        return file.read_text()

    def lines(self, event: str = "") -> list[Any]:
        lines = [json.loads(line) for line in self.written.splitlines() if line.startswith("{")]
        return [line for line in lines if not event or line["event"] == event]


@contextmanager
def session(log: str) -> Iterator[Session]:
    """Claude is active; GLM is there. `log` is the `[log]` section."""
    with Simulator() as claude, Simulator(realm="glm") as glm:
        rows = backend("claude", claude.url, 'realm = "anthropic"\n') + backend("glm", glm.url, 'realm = "glm"\n')
        top = 'active = "claude"\n[gateway]\nadmin_port = 0\n[thinking]\npolicy = "session"\n'
        with Served(f'{top}[log]\nform = "json"\n{log}\n{rows}') as gateway:
            yield Session(gateway)


def picked(lines: list[Any], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(line[name] for name in names) for line in lines]


@public("gateway", "cli")
@proves("req:S1-41", "req:S1-43")
def test_a_switch_has_one_line_and_each_request_its_six_counts() -> None:
    """S1-41: with the registry's own numbers, and none where nothing changed. S1-43."""
    with session('level = "info"') as one:
        one.talk.says("One.")
        one.talk.says("Two.")
        assert one.gateway.clew("use", "glm").returncode == 0
        one.talk.says("Three.")
        switches = picked(one.lines("backend switch"), "level", "old_backend", "new_backend", "old_session", "new_session")
        assert switches == [("info", "", "claude", 0, 1), ("info", "claude", "glm", 1, 2)]
        assert picked(one.lines("request"), "level", "session", *COUNTS) == [
            ("info", 1, 0, 0, 0, 0, 0, 0),
            ("info", 1, 1, 0, 0, 0, 0, 1),
            ("info", 2, 0, 2, 0, 0, 2, 0),
        ]
        assert [line for line in one.lines() if line["level"] != "info"] == []


@public("gateway")
@proves("req:S1-42", "req:S1-44", "req:S1-45")
def test_debugging_tells_of_each_block_and_tracing_of_each_decision() -> None:
    """S1-42: registered with hash and session, then confirmed, without its words. S1-44: decisions are traces alone."""
    with session('level = "trace"\ndebug = true') as one:
        one.talk.says("One.")
        one.talk.says("Two.")
        [first, second] = one.lines("block registered")
        [confirmed] = one.lines("block confirmed")
        assert picked([first, second, confirmed], "level", "session") == [("debug", 1)] * 3
        assert first["hash"] == confirmed["hash"] != second["hash"]
        [thought, *_] = one.talk.messages[1]["content"]
        assert picked(one.lines("recorded"), "level", "content_length")[0] == ("debug", len(thought["thinking"]))
        [decision] = one.lines("block")
        assert (decision["level"], decision["path"], decision["decision"]) == ("trace", "messages.1.content.0", "kept")
        assert thought["thinking"] not in one.written
    with session(DEBUG) as one:
        one.talk.says("One.")
        one.talk.says("Two.")
        assert len(one.lines("block registered")) == 2
        assert one.lines("block") == []


@public("gateway")
@proves("req:S1-45", "req:S1-42")
def test_bodies_and_thinking_are_shown_only_where_that_is_asked_for_and_keys_never() -> None:
    """S1-45: off, whole, indented; the words of a thought and a preview of it by a switch of their own."""
    with session('level = "debug"') as one:
        one.talk.says("One.")
        assert {line["event"] for line in one.lines()} & {"body", "recorded", "block registered"} == set()
    for more, shows, indented in (
        ("full_body = true", False, False),
        ("full_body = true\npretty_print = true", False, True),
        ("full_body = true\nthinking_text = true", True, False),
    ):
        with session(f"{DEBUG}\n{more}") as one:
            one.talk.says("A question to look for.")
            one.talk.says("Another one.")
            words = one.talk.messages[1]["content"][0]["thinking"]
            assert "A question to look for." in one.written
            assert (words in one.written) == shows
            assert ('\n  "body": {' in one.written) == indented
            assert [secret for secret in (KEY, "sim-test-key") if secret in one.written] == []

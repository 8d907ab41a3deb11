"""What the gateway puts into requests that leave it open: by variables of its environment, without a config, and by `[build]`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from clew.testing import Simulator
from tests.build import Json, assistant, text, thinking, user
from tests.engine.talk import last_asked, refusals
from tests.gateway.served import KEY, Served, backend
from tests.manifest import proves, public

pytestmark = [pytest.mark.slow, public("gateway")]

MANUAL = "claude-sonnet-4-5"
MARK = {"type": "ephemeral"}
BUILD = "[build]\nbudget = {}\ncache = {}\npreserve_thinking = true\n"


@pytest.fixture(scope="module")
def claude() -> Iterator[Simulator]:
    with Simulator() as simulator:
        yield simulator


class Built(Served):
    """A gateway with variables, whose config names its backend and what `more` says."""

    def __init__(self, claude: Simulator, more: str = "", **variables: str) -> None:
        super().__init__(more + backend("claude", claude.url, 'realm = "anthropic"\n'))
        self._variables = variables
        self._claude = claude

    @property
    def environment(self) -> dict[str, str]:
        return super().environment | self._variables

    def sent(self, *messages: Json, **fields: Any) -> Json:
        """What the vendor gets of a request."""
        body = json.dumps({"model": MANUAL, "max_tokens": 16_000, "messages": messages, **fields}).encode()
        head = f"POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nx-api-key: {KEY}\r\n"
        head += f"anthropic-version: 2023-06-01\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        status, _, said = self.peer().send(head.encode() + body).response()
        assert status == 200, said
        assert refusals(self._claude) == []
        return last_asked(self._claude)

    @property
    def changes(self) -> list[tuple[str, str]]:
        """Those of the last request, as `clew log --json` has them."""
        return [(change.path, change.why) for change in self.exchanges()[0].changes]


def manual(budget: int) -> Json:
    return {"type": "enabled", "budget_tokens": budget}


@proves("req:S0-29", "req:S0-36", "req:S0-37")
def test_a_budget_by_variable_holds_where_a_request_leaves_thinking_open(claude: Simulator) -> None:
    """S0-29: no `[build]`; S0-37: with room for the answer, or thinking is off."""
    with Built(claude, MAX_THINKING_TOKENS="8000") as gateway:
        assert gateway.sent(user("ultrathink"))["thinking"] == manual(8000)
        assert gateway.changes == [("thinking", "MAX_THINKING_TOKENS is 8000")]
        assert gateway.sent(user("Hi"), max_tokens=4000)["thinking"] == manual(2976)
        assert gateway.sent(user("Hi"), max_tokens=2000)["thinking"] == {"type": "disabled"}
        assert "leaves no room for 1024 tokens of thinking and 1024 of the answer" in gateway.changes[-1][1]
        assert gateway.sent(user("Hi"), thinking=manual(3999), max_tokens=4000)["thinking"] == manual(3999)
        assert gateway.sent(user("Hi"), thinking={"type": "disabled"})["thinking"] == {"type": "disabled"}
        tool = {"name": "Read", "input_schema": {"type": "object"}}
        assert "thinking" not in gateway.sent(user("Hi"), tools=[tool], tool_choice={"type": "any"})


@proves("req:S0-30", "req:S0-32")
@pytest.mark.parametrize(("value", "warns"), [("0", False), ("abc", True)])
def test_a_variable_without_a_budget_asks_for_nothing_and_a_bad_one_is_a_warning(
    claude: Simulator, value: str, warns: bool
) -> None:
    """S0-30; S0-32: when the gateway starts, and in `clew doctor`."""
    with Built(claude, "[build]\nbudget = {}\n", MAX_THINKING_TOKENS=value) as gateway:
        assert "thinking" not in gateway.sent(user("ultrathink"))
        told = (gateway.config.parent / "log").read_text()
        assert told.count("warning: MAX_THINKING_TOKENS='abc' is not a number") == warns
        found = gateway.clew("doctor").stdout
        assert ("MAX_THINKING_TOKENS='abc' is not a number" in found) == warns


@proves("req:S0-23", "req:S0-19", "req:S0-24")
def test_marks_are_switched_off_by_variable_and_a_clients_own_are_left_alone(claude: Simulator) -> None:
    """S0-23: also where the config asks for marks; for one line only that."""
    own = user(text("a", cache_control=MARK))
    with Built(claude, BUILD, DISABLE_PROMPT_CACHING_SONNET="1") as gateway:
        assert "cache_control" not in json.dumps(gateway.sent(user("Hi")))
        assert gateway.sent(own)["messages"] == [own]
        assert gateway.sent(user("Hi"), model="claude-opus-4-5")["messages"] == [user(text("Hi", cache_control=MARK))]
    with Built(claude, DISABLE_PROMPT_CACHING="1") as gateway:
        assert gateway.sent(user("Hi"))["messages"] == [user("Hi")]
        assert gateway.sent(own)["messages"] == [own]


@proves("req:S0-15", "req:S0-18", "req:S0-24", "req:S0-42", "req:S0-44")
def test_the_config_asks_for_marks_and_never_for_more_than_four(claude: Simulator) -> None:
    """S0-24: of a client's own five the last four stay."""
    with Built(claude, BUILD) as gateway:
        sent = gateway.sent(user("a"), assistant("b"), user("ultrathink"))
        assert [json.dumps(each).count("cache_control") for each in sent["messages"]] == [0, 1, 1]
        assert sent["thinking"] == manual(14_976)
        assert sent["context_management"] == {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}
        five = [
            user(text(f"{i}", cache_control=MARK)) if i % 2 == 0 else assistant(text(f"{i}", cache_control=MARK))
            for i in range(5)
        ]
        assert gateway.sent(*five)["messages"] == [user(text("0")), *five[1:]]
        assert gateway.changes == [("messages.0.content.0.cache_control", "at most 4 cache marks in all (R58)")]


@proves("req:S0-6", "req:S0-9")
def test_thinking_at_the_end_of_the_last_answer_does_not_go_out(claude: Simulator) -> None:
    """S0-6, S0-9: always, whatever the config says."""
    with Built(claude) as gateway:
        sent = gateway.sent(user("a"), assistant(text("b"), thinking("hm", "c2ln")))
        assert [block["type"] for block in sent["messages"][1]["content"]][-1] == "text"
        assert any("blocksRemoved=1" in why for _, why in gateway.changes)

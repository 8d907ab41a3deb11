"""A client's own cache marks: never more than four go out, and the later ones stay."""

from typing import Any

import pytest

from clew.model.change import Change
from clew.pipeline.cache_marks import cache_marks
from clew.pipeline.step import CacheRules
from clew.thinking.compliance import check
from tests.build import assistant, request, text, thinking, tool_result, tool_use, user
from tests.manifest import proves
from tests.pipeline.targets import run

MARK = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}
TOOL = {"name": "Bash", "input_schema": {"type": "object"}}
SURPLUS = "at most 4 cache marks in all (R58)"


def marked(block: dict[str, Any], mark: dict[str, Any] = MARK) -> dict[str, Any]:
    return {**block, "cache_control": mark}


def turns(count: int) -> list[dict[str, Any]]:
    """As many marked messages, beginning with the user's."""
    return [user(marked(text(f"q{i}"))) if i % 2 == 0 else assistant(marked(text(f"a{i}"))) for i in range(count)]


def limited(*messages: dict[str, Any], **fields: Any) -> tuple[dict[str, Any], list[str]]:
    """The body that goes out, and the paths of the marks that were removed."""
    body, changes = run(cache_marks, request(*messages, **fields), cache=CacheRules())
    assert {(change.step, change.what, change.why) for change in changes} <= {("cache_marks", "removed", SURPLUS)}
    assert "R58.too-many-marks" not in {found.rule for found in check(body)}
    return body, [change.path for change in changes]


@proves("req:S0-24")
def test_of_a_clients_own_marks_the_last_four_stay() -> None:
    """S0-24: five passed, and were refused."""
    body, removed = limited(*turns(5))
    assert removed == ["messages.0.content.0.cache_control"]
    assert body["messages"] == [user(text("q0")), *turns(5)[1:]]


@proves("req:S0-24")
def test_marks_are_counted_in_the_order_in_which_the_api_reads_them() -> None:
    """Tools, then the system prompt, then the messages."""
    _, removed = limited(*turns(3), tools=[marked(TOOL), marked(TOOL)], system=[marked(text("s")), text("t")])
    assert removed == ["tools.0.cache_control", "tools.1.cache_control"]


@proves("req:S0-24")
def test_marks_inside_tool_results_count_and_go_one_by_one() -> None:
    results = tool_result("t1", [marked(text("x")), marked(text("y"))])
    history = [user("q"), assistant(tool_use("t1")), user(marked(results)), *turns(3)[1:]]
    body, removed = limited(*history)
    assert removed == ["messages.2.content.0.content.0.cache_control"]
    assert body["messages"][2] == user(marked(tool_result("t1", [text("x"), marked(text("y"))])))


@proves("req:S0-24")
def test_a_mark_of_the_whole_request_is_one_more_unless_its_block_has_its_own() -> None:
    """R58.automatic-fifth: a legal request is left alone."""
    assert limited(*turns(4), cache_control=MARK)[1] == []
    assert limited(*turns(4), assistant(text("a")), cache_control=MARK)[1] == ["messages.0.content.0.cache_control"]
    assert limited(*turns(4), user("a"), cache_control=MARK)[1] == ["messages.0.content.0.cache_control"]


@pytest.mark.parametrize("count", [0, 1, 4])
def test_four_and_fewer_are_left_alone(count: int) -> None:
    """Law 5; a mark that is null, or on thinking, is none."""
    history = [*turns(count), user(text("x", cache_control=None))]
    fields = {} if count else {"system": [marked(text("s"))]}
    assert limited(*history, **fields) == ({**limited(*history, **fields)[0], "messages": history}, [])
    ends_thinking = assistant(marked(thinking("hm")), text("a"))
    assert limited(*turns(4), ends_thinking)[1] == []


def test_without_rules_a_request_is_the_clients_own() -> None:
    """The vendor says what is wrong with it."""
    assert run(cache_marks, request(*turns(5)))[1] == ()


@proves("req:S0-24")
def test_replaced_marks_leave_those_of_tools_and_system_their_room() -> None:
    body, changes = run(
        cache_marks, request(*turns(3), system=[marked(text("s"), HOUR)] * 5), cache=CacheRules(replace=True)
    )
    assert changes[0] == Change("cache_marks", "system.0.cache_control", "removed", SURPLUS)
    assert str(body).count("cache_control") == 4

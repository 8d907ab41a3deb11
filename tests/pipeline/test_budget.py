"""Thinking by keyword or variable, for clients that do not ask for it themselves."""

import pytest

from clew.model.change import Change
from clew.pipeline.thinking_budget import thinking_budget
from clew.pipeline.thinking_parameter import thinking_parameter
from clew.thinking.budgets import BudgetRules
from tests.build import assistant, request, system, text, tool_result, tool_use, user
from tests.manifest import proves
from tests.pipeline.targets import run

MANUAL = "claude-sonnet-4-5"
KEYWORD = request(user("please ultrathink"), max_tokens=64000)


def manual(budget: int) -> dict:
    return {"type": "enabled", "budget_tokens": budget}


@proves("req:S0-36")
def test_a_keyword_asks_for_thinking() -> None:
    """S0-36: the key is there only if there is a budget."""
    body, changes = run(thinking_budget, KEYWORD, MANUAL, budget=BudgetRules())
    assert body["thinking"] == manual(31999)
    assert changes == (Change("thinking_budget", "thinking", "added", "this turn asks for 31999 tokens"),)


@proves("req:S0-29")
def test_the_variable_asks_for_thinking() -> None:
    body, changes = run(thinking_budget, request(user("hi"), max_tokens=9000), MANUAL, budget=BudgetRules(variable="5000"))
    assert body["thinking"] == manual(5000)
    assert changes[0].why == "MAX_THINKING_TOKENS is 5000"


@proves("req:S0-30", "req:S0-31", "req:S0-32", "req:S0-36")
@pytest.mark.parametrize("variable", ["0", "-5", "abc"])
def test_no_budget_means_no_key(variable: str) -> None:
    """S0-36: absent, not null."""
    body, changes = run(thinking_budget, KEYWORD, budget=BudgetRules(variable=variable))
    assert "thinking" not in body
    assert changes == ()


@pytest.mark.parametrize("thinking", [{"type": "adaptive"}, {"type": "disabled"}, None])
def test_a_client_that_sets_thinking_itself_is_left_alone(thinking: object) -> None:
    given = request(user("ultrathink"), thinking=thinking)
    assert run(thinking_budget, given, budget=BudgetRules(variable="9000"))[1] == ()


def test_nothing_happens_unless_the_config_asks() -> None:
    assert run(thinking_budget, KEYWORD)[1] == ()


@proves("req:S0-33", "req:S0-34")
def test_it_holds_for_the_tool_loop_of_its_turn_and_no_longer() -> None:
    """S0-33: the turn that asked; S0-34: no result, no reminder, no system message, no answer asks."""
    loop = [user("ultrathink"), assistant(tool_use("t1")), user(tool_result("t1", "ok"), text("quick"))]
    long = {"max_tokens": 64000}
    assert run(thinking_budget, request(*loop, **long), MANUAL, budget=BudgetRules())[0]["thinking"] == manual(31999)
    after = [*loop, assistant("ultrathink"), user("next", tool_result("t1", "ultrathink")), system("ultrathink"), user("so")]
    assert run(thinking_budget, request(*after, **long), MANUAL, budget=BudgetRules())[1] == ()
    anywhere = BudgetRules(scope="any")
    assert run(thinking_budget, request(*after, **long), MANUAL, budget=anywhere)[0]["thinking"] == manual(31999)


@proves("req:S0-38")
def test_the_budget_is_said_in_the_models_own_words() -> None:
    """S0-38: and the step that comes later finds nothing to alter."""
    body, _ = run(thinking_budget, KEYWORD, "claude-opus-5-5", budget=BudgetRules())
    assert body["thinking"] == {"type": "adaptive"}
    assert body["output_config"] == {"effort": "high"}
    given = request(*body["messages"], max_tokens=64000, thinking=body["thinking"], output_config=body["output_config"])
    assert run(thinking_parameter, given, "claude-opus-5-5")[1] == ()


@proves("req:S0-37")
@pytest.mark.parametrize(
    ("variable", "max_tokens", "sent"),
    [("31999", 32000, manual(30976)), ("1200", 2048, manual(1024)), ("1200", 2047, {"type": "disabled"})],
)
def test_a_budget_leaves_room_for_the_answer_or_thinking_is_off(variable: str, max_tokens: int, sent: dict) -> None:
    """S0-37: 1,024 tokens, and it is said."""
    given = request(user("hi"), max_tokens=max_tokens)
    body, changes = run(thinking_budget, given, MANUAL, budget=BudgetRules(variable=variable))
    assert body["thinking"] == sent
    assert [change.step for change in changes] == ["thinking_budget", "thinking_parameter"]


@pytest.mark.parametrize("choice", [{"type": "any"}, {"type": "tool", "name": "Bash"}])
def test_a_client_that_forces_a_tool_is_left_alone(choice: dict) -> None:
    """R49: a legal request must not become one that is refused."""
    given = request(user("ultrathink"), max_tokens=64000, tool_choice=choice)
    assert run(thinking_budget, given, MANUAL, budget=BudgetRules())[1] == ()

"""The laws of the design, for each step by itself and for all of them in a row."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.model.facts import models
from clew.pipeline.cache_marks import cache_marks
from clew.pipeline.context_edits import context_edits
from clew.pipeline.normalise import normalise
from clew.pipeline.parameters import answer_length, forced_tools, sampling
from clew.pipeline.step import CacheRules, Facts, Options
from clew.pipeline.system import system_messages
from clew.pipeline.thinking_budget import thinking_budget
from clew.pipeline.thinking_order import thinking_first
from clew.pipeline.thinking_parameter import loop_parameter, thinking_parameter
from clew.pipeline.tool_structure import tool_structure
from clew.thinking.budgets import BudgetRules
from clew.thinking.compliance import check
from clew.wire.requests import encode, parse
from tests.build import request
from tests.counts import examples
from tests.pipeline.histories import MODELS, histories, settings_of, wild_histories
from tests.pipeline.targets import Step, model

pytestmark = pytest.mark.slow

STEPS: list[Step] = [
    thinking_budget,
    answer_length,
    thinking_parameter,
    thinking_first,
    normalise,
    system_messages,
    tool_structure,
    loop_parameter,
    sampling,
    forced_tools,
    cache_marks,
    context_edits,
]
"""In an order in which each finds what it needs: the end of the client's request, then roles, then pairs, then the loop."""

ALL_ON = Options(
    budget=BudgetRules(),
    cache=CacheRules(replace=True),
    preserve_thinking=True,
    forced_tools="auto",
    display="summarized",
    thinking_first="reorder",
)
BY_VARIABLE = Options(budget=BudgetRules(variable="50000"), cache=CacheRules())
facts_of = st.sampled_from(
    [Facts(), Facts(options=ALL_ON), Facts(options=BY_VARIABLE), Facts(version="2026-10-21")],
)
models_of = st.sampled_from(MODELS)
some = settings(max_examples=examples(18, soak=2000), deadline=None)


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
@some
@given(messages=histories, fields=settings_of, name=models_of, facts=facts_of)
def test_a_step_is_pure_and_idempotent_and_says_what_it_does(
    step: Step, messages: list, fields: dict[str, Any], name: str, facts: Facts
) -> None:
    """Laws 2, 5, 6: the input is as it was; twice is once; no change, no edit; and the bytes say the same as the values."""
    given_ = request(*messages, **fields)
    raw = given_.source.raw
    once, changes = step(given_, model(name), facts)
    assert encode(given_) == raw == given_.source.raw
    assert (once is given_) == (not changes)
    assert step(once, model(name), facts) == (once, ())
    again = parse(encode(once), betas=once.betas)
    assert step(again, model(name), facts) == (again, ())


STABLE = [step for step in STEPS if step not in (cache_marks, loop_parameter)]
"""Marks move by design, and what is decided for an open loop ends with it."""


@pytest.mark.parametrize("step", STABLE, ids=lambda step: step.__name__)
@some
@given(messages=histories, name=models_of)
def test_a_history_that_grows_gives_one_that_grows(step: Step, messages: list, name: str) -> None:
    """Law 3, at cuts between whole turns: where the next message is the assistant's."""
    whole = sent_by(step, messages, name)
    for cut in range(1, len(messages)):
        if messages[cut]["role"] == "assistant" and messages[cut - 1]["role"] != "assistant":
            part = sent_by(step, messages[:cut], name)
            assert whole[: len(part)] == part


def sent_by(step: Step, messages: list, name: str) -> list:
    return json.loads(encode(step(request(*messages), model(name), Facts())[0]))["messages"]


@some
@given(messages=histories, fields=settings_of, name=models_of)
def test_what_is_decided_for_an_open_loop_is_the_same_for_each_request_in_it(
    messages: list, fields: dict[str, Any], name: str
) -> None:
    """Design §4: on or off until the loop ends, and the messages of the loop only grow."""
    answers = [message for message in messages if message["role"] != "user" or _is_result(message)]
    loop = [{"role": "user", "content": "begin"}, *answers]
    spoken = next((index for index, message in enumerate(loop) if message["role"] == "assistant"), len(loop))
    ends = [end for end in range(spoken, len(loop) + 1) if loop[end - 1]["role"] == "user" and end > spoken]
    sent = [_after_loop(loop[:end], fields, name) for end in ends]
    for before, after in pairwise(sent):
        assert after.get("thinking") == before.get("thinking")
        assert after["messages"][: len(before["messages"])] == before["messages"]


def _after_loop(messages: list, fields: dict[str, Any], name: str) -> dict[str, Any]:
    return json.loads(encode(loop_parameter(request(*messages, **fields), model(name), Facts())[0]))


def _is_result(message: dict[str, Any]) -> bool:
    content = message["content"]
    return isinstance(content, list) and any(block["type"] == "tool_result" for block in content)


BETAS = ["context-management-2025-06-27", "mid-conversation-output-config-2026-07-01"]


def found_after_all(messages: list, fields: dict[str, Any], name: str, facts: Facts) -> list[str]:
    """The rules that the doctor finds broken in what goes out."""
    going = request(*messages, model=name, **fields)
    for step in STEPS:
        going, _ = step(going, model(name), facts)
    headers = {"anthropic-version": facts.version, "anthropic-beta": ",".join(BETAS), "content-type": "application/json"}
    return [violation.rule for violation in check(encode(going), headers=headers, profile=model(name).profile)]


@some
@given(messages=histories, fields=settings_of, name=models_of, facts=facts_of)
def test_all_steps_in_a_row_leave_nothing_that_the_doctor_finds(
    messages: list, fields: dict[str, Any], name: str, facts: Facts
) -> None:
    """R7, R9–R14, R16, R19, R22–R28, R32, R33, R35, R37, R38, R51, R52, R58: none of them is broken any more."""
    assert found_after_all(messages, fields, name, facts) == []


WITHOUT_SYSTEM = [name for name in MODELS if not models()[name].system_messages]


@some
@given(messages=wild_histories, name=st.sampled_from(WITHOUT_SYSTEM))
def test_a_model_without_system_messages_gets_legal_turns_wherever_they_stood(messages: list, name: str) -> None:
    """R26, R32: also between a call and its result, where no client puts them; and results inside answers (R23)."""
    assert found_after_all(messages, {"max_tokens": 8000}, name, Facts()) == []

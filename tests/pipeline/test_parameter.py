"""The thinking parameter on the wire: for each (client setting × model), which keys are present and which absent.

The rows follow R6, R9–R12. A row whose setting the model takes must leave the request alone; every other row says what goes
instead. `None` is an absent key.
"""

import json
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest

from clew.model.change import Change
from clew.model.facts import ModelFacts, models
from clew.pipeline.step import Facts
from clew.pipeline.thinking_modes import is_on, mode_of
from clew.pipeline.thinking_parameter import thinking_off, thinking_parameter
from clew.thinking.budgets import EFFORTS
from clew.wire.requests import encode, parse
from tests.build import assistant, raw, request, system, thinking, tool_result, tool_use, user
from tests.manifest import proves
from tests.pipeline.targets import model, run

ADAPTIVE: dict[str, Any] = {"type": "adaptive"}
SHOWN: dict[str, Any] = {"type": "adaptive", "display": "updates"}
OFF: dict[str, Any] = {"type": "disabled"}
BETWEEN: dict[str, Any] = {"type": "between_tools"}


def manual(budget: int = 31999, **more: Any) -> dict[str, Any]:
    return {"type": "enabled", "budget_tokens": budget, **more}


@dataclass(frozen=True)
class Case:
    """One row: the model, what the client sends, what goes out."""

    model: str
    given: dict[str, Any] | None
    sent: dict[str, Any] | None
    effort: str | None = None
    sent_effort: str | None = None
    max_tokens: int | None = 64000

    @property
    def id(self) -> str:
        mode = (self.given or {}).get("type", "absent")
        return f"{self.model}-{mode}-{self.effort}-{self.max_tokens}"

    @property
    def is_legal(self) -> bool:
        return self.given == self.sent and self.effort == self.sent_effort


def legal(name: str, given: dict[str, Any] | None, effort: str | None = None, **more: Any) -> Case:
    return Case(name, given, given, effort, effort, **more)


CASES = [
    # --- models that only know adaptive, and always think
    legal("claude-opus-5-5", SHOWN, "medium"),
    legal("claude-opus-5-5", ADAPTIVE, "max"),
    legal("claude-opus-5-5", None),
    Case("claude-opus-5-5", manual(31999), ADAPTIVE, None, "high"),
    Case("claude-opus-5-5", manual(1024), ADAPTIVE, None, "low"),
    Case("claude-opus-5-5", manual(8192), ADAPTIVE, None, "medium"),
    Case("claude-opus-5-5", manual(63999), ADAPTIVE, None, "xhigh"),
    Case(
        "claude-opus-5-5", manual(31999, display="summarized"), {"type": "adaptive", "display": "summarized"}, "low", "low"
    ),
    Case("claude-opus-5-5", OFF, None, None, "low"),
    Case("claude-opus-5-5", OFF, None, "high", "high"),
    Case("claude-opus-5-5", BETWEEN, None, None, "low"),
    legal("claude-fable-5-1", ADAPTIVE, "xhigh"),
    Case("claude-fable-5-1", manual(), ADAPTIVE, None, "high"),
    Case("claude-fable-5-2", OFF, None, None, "low"),
    Case("claude-mythos-5", OFF, None, None, "low"),
    # --- adaptive or disabled
    legal("claude-opus-5", ADAPTIVE, "max"),
    legal("claude-opus-5", OFF, "high"),
    Case("claude-opus-5", OFF, OFF, "xhigh", "high"),
    Case("claude-opus-5", OFF, OFF, "max", "high"),
    Case("claude-opus-5", BETWEEN, OFF, "max", "high"),
    Case("claude-opus-5", manual(), ADAPTIVE, "max", "max"),
    legal("claude-opus-5", None, "max"),
    legal("claude-opus-4-8", OFF, "max"),
    legal("claude-opus-4-8", None, "xhigh"),
    Case("claude-opus-4-8", manual(4096), ADAPTIVE, None, "medium"),
    Case("claude-opus-4-7", manual(31999), ADAPTIVE, None, "high"),
    legal("claude-opus-4-7", ADAPTIVE, "xhigh"),
    Case("claude-opus-4-7", BETWEEN, OFF),
    legal("claude-sonnet-5", OFF),
    Case("claude-sonnet-5", manual(2048), ADAPTIVE, None, "low"),
    legal("claude-haiku-5-5", ADAPTIVE, "max"),
    Case("claude-haiku-5-5", OFF, OFF, "max", "high"),
    Case("claude-haiku-5-5", manual(), ADAPTIVE, None, "high"),
    # --- adaptive or between_tools
    legal("claude-sonnet-5-5", ADAPTIVE, "max"),
    legal("claude-sonnet-5-5", BETWEEN, "high"),
    legal("claude-sonnet-5-5", None),
    Case("claude-sonnet-5-5", OFF, BETWEEN),
    Case("claude-sonnet-5-5", OFF, BETWEEN, "max", "high"),
    Case("claude-sonnet-5-5", {"type": "disabled", "display": "omitted"}, BETWEEN),
    Case("claude-sonnet-5-5", {"type": "between_tools", "display": "omitted"}, BETWEEN),
    Case("claude-sonnet-5-5", BETWEEN | {"budget_tokens": 2000, "block_binding": {}}, BETWEEN, "xhigh", "high"),
    Case("claude-sonnet-5-5", manual(), ADAPTIVE, None, "high"),
    # --- all but between_tools
    legal("claude-opus-4-6", ADAPTIVE, "max"),
    legal("claude-opus-4-6", manual(8000), "high"),
    legal("claude-opus-4-6", OFF),
    Case("claude-opus-4-6", ADAPTIVE, ADAPTIVE, "xhigh", "high"),
    Case("claude-opus-4-6", BETWEEN, OFF, "xhigh", "high"),
    legal("claude-sonnet-4-6", manual(63999)),
    Case("claude-sonnet-4-6", manual(64000), manual(62976)),
    legal("claude-mythos-preview", manual(8000)),
    Case("claude-mythos-preview", OFF, None, None, "low"),
    Case("claude-mythos-preview", ADAPTIVE, ADAPTIVE, "xhigh", "high"),
    # --- manual only
    legal("claude-opus-4-5", manual(31999, display="updates"), "high"),
    Case("claude-opus-4-5", ADAPTIVE, manual(24576), "high", "high"),
    Case("claude-opus-4-5", ADAPTIVE, manual(32768), "xhigh", "high"),
    Case("claude-opus-4-5", ADAPTIVE, manual(62976), "max", "high"),
    Case("claude-opus-4-5", SHOWN, manual(16384, display="updates")),
    legal("claude-sonnet-4-5", manual(31999), max_tokens=32000),
    legal("claude-sonnet-4-5", OFF),
    legal("claude-sonnet-4-5", None),
    Case("claude-sonnet-4-5", None, None, "high", None),
    Case("claude-sonnet-4-5", ADAPTIVE, manual(16384)),
    Case("claude-sonnet-4-5", ADAPTIVE, manual(2048), "low", None),
    Case("claude-sonnet-4-5", ADAPTIVE, manual(8192), "medium", None),
    Case("claude-sonnet-4-5", ADAPTIVE, manual(3072), "high", None, max_tokens=4096),
    Case("claude-sonnet-4-5", ADAPTIVE, manual(23976), "high", None, max_tokens=25000),
    Case("claude-sonnet-4-5", ADAPTIVE, OFF, "high", None, max_tokens=2047),
    Case("claude-sonnet-4-5", ADAPTIVE, OFF, "high", None, max_tokens=1000),
    Case("claude-sonnet-4-5", BETWEEN, OFF),
    Case("claude-haiku-4-5", manual(31999), manual(30975), max_tokens=31999),
    Case("claude-haiku-4-5", manual(150_000), manual(62_976), max_tokens=200_000),
    Case("claude-haiku-4-5", manual(50), manual(1024)),
    Case("claude-haiku-4-5", manual(-3), manual(1024)),
    legal("claude-haiku-4-5", manual(2046), max_tokens=2047),
    Case("claude-haiku-4-5", manual(2047), OFF, max_tokens=2047),
    Case("claude-haiku-4-5", manual(31999), OFF, max_tokens=1),
    Case("claude-haiku-4-5", manual(31999), OFF, max_tokens=0),
    Case("claude-haiku-4-5", manual(100000), manual(64000), max_tokens=None),
    legal("claude-haiku-4-5", manual(2000), max_tokens=None),
    Case("claude-haiku-4-5", {"type": "disabled", "display": "omitted"}, OFF),
    legal("us.anthropic.claude-haiku-4-5-20251001-v1:0", manual(2000)),
    # --- no thinking at all
    Case("claude-3-5-haiku", manual(2000), OFF),
    Case("claude-3-5-haiku", ADAPTIVE, OFF, "high", None),
    legal("claude-3-5-haiku", None),
    # --- unknown names take what Claude Code sends them
    legal("qwen3-32b", SHOWN, "high"),
    legal("qwen3-32b", manual(10**6), max_tokens=None),
    legal("qwen3-32b", OFF, "max"),
    legal("qwen3-32b", BETWEEN, "max"),
    # --- what nobody knows is the vendor's to refuse
    legal("claude-opus-5-5", {"type": "dreaming"}),
    legal("claude-opus-5-5", ADAPTIVE, "enormous"),
    legal("claude-haiku-4-5", {"type": "enabled"}),
    legal("claude-haiku-4-5", {"type": "enabled", "budget_tokens": "many"}),
]


def body_of(case: Case) -> dict[str, Any]:
    fields = {"max_tokens": case.max_tokens, "thinking": case.given}
    fields["output_config"] = {"effort": case.effort} if case.effort else None
    return {name: value for name, value in fields.items() if value is not None}


def asked(case: Case) -> Any:
    fields = body_of(case)
    given = request(user("hi"), model=case.model, **fields)
    return given if case.max_tokens is not None else parse(raw(user("hi"), **fields).replace(b'"max_tokens": 1000, ', b""))


@proves("req:S0-38", "req:S0-37", "req:S0-36", "req:C32")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_each_setting_goes_out_as_the_model_takes_it(case: Case) -> None:
    """R6, R9–R12: one row of the contract."""
    body, changes = run(thinking_parameter, asked(case), case.model)
    assert body.get("thinking") == case.sent
    assert body.get("output_config") == ({"effort": case.sent_effort} if case.sent_effort else None)
    assert (changes == ()) == case.is_legal


def test_the_contract_has_its_sixty_rows() -> None:
    """And speaks of every model family that is not just another's twin."""
    assert len(CASES) >= 60
    assert len({case.model for case in CASES}) >= 16


SETTINGS = [None, ADAPTIVE, SHOWN, OFF, BETWEEN, manual(), manual(10**9), manual(0)]


@proves("req:S0-38", "req:C32")
@pytest.mark.parametrize("name", sorted(models()))
def test_no_mode_that_the_table_rejects_leaves(name: str) -> None:
    """S0-38 for every model: whatever is asked, at any effort and length, what goes out is legal by R9–R12."""
    for given, effort, max_tokens in product(SETTINGS, [None, *EFFORTS], [None, 0, 1024, 1025, 8000]):
        case = Case(name, given, None, effort, max_tokens=max_tokens)
        body, _ = run(thinking_parameter, asked(case), name)
        assert_legal(body, models()[name])


def assert_legal(body: dict[str, Any], profile: ModelFacts) -> None:
    sent, level = body.get("thinking"), body.get("output_config", {}).get("effort")
    mode = mode_of(sent)
    assert not sent or mode in profile.thinking
    assert level is None or level in profile.effort
    assert mode != "between_tools" or sent == BETWEEN
    assert mode != "disabled" or "display" not in sent
    assert mode != "enabled" or 1024 <= sent["budget_tokens"] < body.get("max_tokens", 10**10)
    limit = {"disabled": profile.disabled_max_effort, "between_tools": profile.between_tools_max_effort}.get(mode)
    assert not limit or level is None or EFFORTS.index(level) <= EFFORTS.index(limit)


@proves("req:S0-37")
def test_a_budget_that_does_not_fit_is_said_once() -> None:
    """S0-37: one Change, and what it says."""
    _, changes = run(thinking_parameter, request(user("hi"), max_tokens=8000, thinking=manual(31999)), "claude-haiku-4-5")
    why = "a budget is at least 1024 and leaves 1024 of max_tokens (8000) for the answer (R11)"
    assert changes == (Change("thinking_parameter", "thinking.budget_tokens", "set", why),)


def test_a_mode_that_is_replaced_is_named_with_its_rule() -> None:
    """Law 6: what, where, why."""
    _, changes = run(thinking_parameter, request(user("hi"), thinking=manual()), "claude-opus-5-5")
    assert changes == (
        Change("thinking_parameter", "thinking", "set", "this model does not take thinking.type enabled (R10)"),
        Change("thinking_parameter", "output_config.effort", "set", "stands for a budget of 31999 tokens"),
    )


def test_interleaved_thinking_may_have_a_budget_above_max_tokens() -> None:
    """R11: with the beta, tools, and a model that honours it."""
    body = raw(user("hi"), max_tokens=8000, thinking=manual(20000), tools=[{"name": "Bash", "input_schema": {}}])
    beta = "interleaved-thinking-2025-05-14"
    assert run(thinking_parameter, parse(body, betas=[beta]), "claude-sonnet-4-5")[1] == ()
    assert run(thinking_parameter, parse(body), "claude-sonnet-4-5")[0]["thinking"] == manual(6976)
    assert run(thinking_parameter, parse(body, betas=[beta]), "claude-haiku-4-5")[0]["thinking"] == manual(6976)
    bare = raw(user("hi"), max_tokens=8000, thinking=manual(20000), tools=[])
    assert run(thinking_parameter, parse(bare, betas=[beta]), "claude-sonnet-4-5")[0]["thinking"] == manual(6976)


def test_other_keys_of_the_objects_keep_their_bytes() -> None:
    """Law 5: only `type`, `budget_tokens` and `effort` are spliced."""
    given = parse(
        b'{"messages":[], "thinking":{ "block_binding" : {"prefix_mismatch_behavior":"error"}, "budget_tokens":2000,"type":"enabled"},'
        b' "output_config":{"format": {"type":"json_schema","schema":{"a":1.50}} , "effort":"max"}}'
    )
    body, _ = run(thinking_parameter, given, "claude-opus-4-7")
    assert body["thinking"] == {"block_binding": {"prefix_mismatch_behavior": "error"}, "type": "adaptive"}
    sent, _ = thinking_parameter(given, model("claude-opus-4-6"), Facts())
    assert b'{"format": {"type":"json_schema","schema":{"a":1.50}} , "effort":"max"}' in encode(sent)
    sent, _ = thinking_parameter(given, model("claude-opus-4-5"), Facts())
    assert b'{"format": {"type":"json_schema","schema":{"a":1.50}} , "effort":"high"}' in encode(sent)


@pytest.mark.parametrize("value", [None, "adaptive", [], 7])
def test_a_parameter_that_is_no_object_is_left_to_the_vendor(value: Any) -> None:
    """Not ours to guess."""
    given = request(user("hi"), thinking=value, output_config=value)
    assert run(thinking_parameter, given, "claude-haiku-4-5")[1] == ()


@pytest.mark.parametrize(
    ("name", "given", "sent"),
    [
        ("claude-opus-5-5", ADAPTIVE, ADAPTIVE | {"display": "summarized"}),
        ("claude-opus-5-5", SHOWN, SHOWN),
        ("claude-haiku-4-5", manual(2000), manual(2000, display="summarized")),
        ("claude-haiku-4-5", OFF, OFF),
        ("claude-opus-5-5", None, None),
    ],
)
def test_a_display_is_asked_for_where_the_client_left_it_open(name: str, given: Any, sent: Any) -> None:
    """C33: only if the config says so."""
    fields = {} if given is None else {"thinking": given}
    body, _ = run(thinking_parameter, request(user("hi"), max_tokens=8000, **fields), name, display="summarized")
    assert body.get("thinking") == sent


def directive(effort: str) -> dict[str, Any]:
    return {"role": "system", "content": [], "output_config": {"effort": effort}}


def test_a_message_cannot_set_an_effort_that_the_model_has_not() -> None:
    """R12: of a system message too; where the mode fixes the level, none but that (R10)."""
    spoken = system("c") | {"output_config": {"effort": "low"}}
    messages = [user("hi"), directive("xhigh"), assistant("a"), user("b"), spoken, directive("high")]
    body, changes = run(thinking_parameter, request(*messages, thinking=OFF), "claude-sonnet-5-5")
    assert body["messages"] == [user("hi"), assistant("a"), user("b"), system("c"), directive("high")]
    why = "the effort cannot change with thinking.type between_tools (R10)"
    assert changes[1:] == tuple(
        Change("thinking_parameter", f"messages.{index}.output_config", "removed", why) for index in (1, 4)
    )
    assert run(thinking_parameter, request(*messages, thinking=ADAPTIVE), "claude-sonnet-5-5")[1] == ()


@proves("req:S4-28")
def test_off_takes_display_edit_and_the_loops_own_thinking_with_it() -> None:
    """R38, R52: each is a Change."""
    edits = {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}
    loop = [user("hi"), assistant(tool_use("t1")), user(tool_result("t1")), assistant(thinking("x"), tool_use("t2"))]
    given = request(
        *loop, user(tool_result("t2")), thinking=manual(2000, display="updates"), context_management=edits, max_tokens=8000
    )
    sent, changes = thinking_off(given, model("claude-haiku-4-5"), "for a reason")
    assert json.loads(encode(sent))["messages"][3] == assistant(tool_use("t2"))
    assert json.loads(encode(sent))["thinking"] == OFF
    assert "context_management" not in json.loads(encode(sent))
    assert changes == (
        Change("thinking_parameter", "thinking", "set", "for a reason"),
        Change(
            "thinking_parameter", "context_management.edits.0", "removed", "clear_thinking needs thinking that is on (R52)"
        ),
        Change("thinking_parameter", "messages.3.content.0", "left out", "thinking is off for this tool loop (R38)"),
    )


def test_whether_a_model_thinks_depends_on_its_default_where_nothing_is_said() -> None:
    """R6: thinking when omitted."""
    on = {name for name, profile in models().items() if is_on(None, profile)}
    assert "claude-opus-5" in on
    assert "claude-opus-4-8" not in on
    assert not is_on(OFF, models()["claude-opus-5"])
    assert is_on(ADAPTIVE, models()["claude-opus-4-8"])

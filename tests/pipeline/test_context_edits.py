"""The context edit that keeps all thinking: put in if asked for, first, with its beta, and never without thinking."""

import json
from typing import Any

import pytest

from clew import context_management
from clew.model.change import Change
from clew.model.facts.shapes import CONTEXT_BETA
from clew.pipeline.context_edits import context_edits
from clew.pipeline.step import Facts, Options
from clew.wire.requests import encode, parse
from tests.build import raw, request, user
from tests.manifest import proves, public
from tests.pipeline.targets import model, run

KEEP = {"type": "clear_thinking_20251015", "keep": "all"}
TOOLS = {"type": "clear_tool_uses_20250919"}
ADAPTIVE = {"type": "adaptive"}


@public("library")
@proves("req:S0-40", "req:S0-41", "req:S0-42", "req:S0-44")
@pytest.mark.parametrize(
    ("preserve", "has_thinking", "others", "sent"),
    [
        (False, True, [], None),
        (True, False, [], None),
        (True, True, [], {"edits": [KEEP]}),
        (True, False, [TOOLS], {"edits": [TOOLS]}),
        (True, True, [TOOLS], {"edits": [KEEP, TOOLS]}),
    ],
)
def test_what_a_built_request_asks_for(preserve: bool, has_thinking: bool, others: list, sent: Any) -> None:
    """S0-40 … S0-44 on plain values."""
    assert context_management(preserve=preserve, has_thinking=has_thinking, others=others) == sent


@proves("req:S0-42", "req:S0-44")
@pytest.mark.parametrize("thinking", [ADAPTIVE, {"type": "enabled", "budget_tokens": 2000}])
def test_asked_to_preserve_thinking_it_puts_the_edit_in_with_its_beta(thinking: dict[str, Any]) -> None:
    """S0-42, S0-44."""
    facts = Facts(options=Options(preserve_thinking=True))
    given = request(user("hi"), thinking=thinking)
    sent, changes = context_edits(given, model(), facts)
    assert json.loads(encode(sent))["context_management"] == {"edits": [KEEP]}
    assert sent.betas == (CONTEXT_BETA,)
    assert changes == (
        Change("context_edits", "context_management.edits.0", "added", "the config asks to keep all thinking"),
    )
    assert context_edits(sent, model(), facts) == (sent, ())


@proves("req:S0-44")
def test_the_edit_stands_before_others_and_the_beta_is_not_doubled() -> None:
    """S0-44, R51: the other edits keep their bytes."""
    body = raw(user("hi"), thinking=ADAPTIVE)[:-1] + b', "context_management": {"edits" : [ {"a":1.0} ]}}'
    given = parse(body, betas=["other", CONTEXT_BETA])
    sent, _ = context_edits(given, model(), Facts(options=Options(preserve_thinking=True)))
    put_in = b'{"edits" : [ {"type":"clear_thinking_20251015","keep":"all"},{"a":1.0} ]}'
    assert put_in in encode(sent)
    assert sent.betas == ("other", CONTEXT_BETA)


@pytest.mark.parametrize("management", [{}, {"edits": None}, {"edits": []}, {"other": 1}])
def test_a_field_without_edits_gets_the_one(management: dict[str, Any]) -> None:
    given = request(user("hi"), thinking=ADAPTIVE, context_management=management)
    body, _ = run(context_edits, given, preserve_thinking=True)
    assert body["context_management"] == management | {"edits": [KEEP]}


@proves("req:S0-40", "req:S0-41")
@pytest.mark.parametrize(
    ("fields", "preserve"),
    [
        ({"thinking": ADAPTIVE}, False),
        ({"thinking": ADAPTIVE, "context_management": {"edits": [TOOLS]}}, False),
        ({}, True),
        (
            {
                "thinking": ADAPTIVE,
                "context_management": {"edits": [KEEP | {"keep": {"type": "thinking_turns", "value": 2}}]},
            },
            True,
        ),
        ({"thinking": ADAPTIVE, "context_management": {"edits": [KEEP, TOOLS]}}, True),
    ],
    ids=["flag-off", "flag-off-with-edits", "no-parameter", "the-clients-own", "already-there"],
)
def test_otherwise_the_request_is_the_same(fields: dict[str, Any], preserve: bool) -> None:
    """S0-40, S0-41; a client's own edit is left alone."""
    assert run(context_edits, request(user("hi"), **fields), preserve_thinking=preserve)[1] == ()


@pytest.mark.parametrize(
    ("name", "thinking", "stays"),
    [
        ("claude-haiku-4-5", {"type": "disabled"}, False),
        ("claude-sonnet-5-5", {"type": "between_tools"}, False),
        ("claude-haiku-4-5", None, False),
        ("claude-opus-4-8", None, False),
        ("claude-opus-5-5", None, True),
        ("claude-sonnet-5", None, True),
        ("claude-haiku-4-5", {"type": "enabled", "budget_tokens": 2000}, True),
    ],
)
def test_thinking_that_is_off_takes_the_edit_with_it(name: str, thinking: Any, stays: bool) -> None:
    """R52: for whatever reason it is off."""
    fields = {"context_management": {"edits": [KEEP]}} | ({"thinking": thinking} if thinking else {})
    body, changes = run(context_edits, request(user("hi"), **fields), name, preserve_thinking=True)
    assert body.get("context_management") == ({"edits": [KEEP]} if stays else None)
    why = "clear_thinking needs thinking that is on (R52)"
    assert changes == (() if stays else (Change("context_edits", "context_management.edits.0", "removed", why),))


@pytest.mark.parametrize(
    ("management", "sent"),
    [
        ({"edits": [KEEP, TOOLS]}, {"edits": [TOOLS]}),
        ({"edits": [TOOLS, KEEP, KEEP]}, {"edits": [TOOLS]}),
        ({"edits": [KEEP], "x": 1}, {"edits": [], "x": 1}),
    ],
)
def test_what_else_is_in_the_field_stays(management: dict[str, Any], sent: dict[str, Any]) -> None:
    body, _ = run(context_edits, request(user("hi"), context_management=management), "claude-haiku-4-5")
    assert body["context_management"] == sent


def test_an_edit_that_is_not_first_is_moved() -> None:
    """R51: it must be listed first."""
    edits = {"edits": [TOOLS, KEEP, {"type": "compact_20260112"}]}
    body, changes = run(context_edits, request(user("hi"), thinking=ADAPTIVE, context_management=edits))
    assert body["context_management"] == {"edits": [KEEP, TOOLS, {"type": "compact_20260112"}]}
    why = "clear_thinking must be the first edit (R51)"
    assert changes == (Change("context_edits", "context_management.edits.1", "moved", why),)


@pytest.mark.parametrize("management", [None, "x", {"edits": "x"}, {"edits": ["x", None]}])
def test_a_field_of_another_shape_is_left_to_the_vendor(management: Any) -> None:
    given = request(user("hi"), context_management=management)
    assert run(context_edits, given, "claude-haiku-4-5")[1] == ()

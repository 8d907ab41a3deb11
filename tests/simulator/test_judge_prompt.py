"""What the model would see: mode, display, what is left of the thinking, and how long it is (R8, R39–R41, R50–R53, R58)."""

import json
from typing import Any

import pytest

from clew.simulator.interfaces import Prompt
from clew.simulator.server import stance
from clew.simulator.values import tokens_of_json, tokens_of_text
from tests.manifest import accepts, proves, refuses
from tests.simulator.judging import TOOL, ask, call, named, request, result, system, text, user
from tests.simulator.talks import Talk, Think

MANUAL = {"type": "enabled", "budget_tokens": 2048}
ADAPTIVE = {"type": "adaptive"}
INTERLEAVED = "interleaved-thinking-2025-05-14"
EDITS = "context-management-2025-06-27"
KEPT = ("kept", "")


def prompt(body: dict[str, Any], **terms: Any) -> Prompt:
    verdict = ask(body, **terms)
    assert verdict.violation is None, verdict.violation
    return verdict.prompt


MODES = [
    ("claude-opus-5-5", None, (), ("adaptive", "omitted", True)),
    ("claude-opus-5", {"type": "disabled"}, (), ("off", "omitted", False)),
    ("claude-opus-4-8", None, (), ("off", "omitted", False)),
    ("claude-opus-4-6", ADAPTIVE, (), ("adaptive", "summarized", True)),
    ("claude-opus-4-6", MANUAL, (INTERLEAVED,), ("enabled", "summarized", False)),
    ("claude-sonnet-4-5", MANUAL, (), ("enabled", "summarized", False)),
    ("claude-sonnet-4-5", MANUAL, (INTERLEAVED,), ("enabled", "summarized", True)),
    ("claude-sonnet-4-5", {**MANUAL, "display": "omitted"}, (), ("enabled", "omitted", False)),
    ("claude-sonnet-5-5", {"type": "between_tools"}, (), ("between_tools", "omitted", True)),
]


@pytest.mark.parametrize(("model", "thinking", "betas", "expected"), MODES)
@accepts("rule:R10.adaptive-unsupported", "rule:R10.enabled-unsupported", "rule:R9.display-unknown")
def test_the_mode_is_what_was_asked_for_or_the_models_own(model: str, thinking: Any, betas: Any, expected: Any) -> None:
    """R6, R40, R41: thinking when omitted, default display, interleaving."""
    more = {"thinking": thinking} if thinking else {}
    seen = prompt(request(model=model, max_tokens=4096, **more), betas=betas)
    assert (seen.thinking, seen.display, seen.interleaved) == expected


@accepts("rule:R35.tool-loop")
def test_a_manual_loop_that_began_without_thinking_goes_on_without() -> None:
    """R50: where R35 is switched off, thinking is silently disabled."""
    body = request(
        model="claude-sonnet-4-5",
        max_tokens=4096,
        thinking=MANUAL,
        tools=[TOOL],
        messages=[user("Hi."), _bare(), user(result())],
    )
    assert prompt(body, stance=stance({"without_grades": ["C"]})).thinking == "off"


def _bare() -> dict[str, Any]:
    return {"role": "assistant", "content": [call()]}


# ── old thinking


def turns(model: str, thinking: Any = None, **more: Any) -> Talk:
    """Two finished turns, the first with a tool loop, and a third question."""
    settings = {"tools": [TOOL], **({"thinking": thinking} if thinking else {}), **more}
    talk = Talk(model=model, more=settings, terms={"betas": [EDITS]}).ask("Hi.")
    talk.reply(Think("One."), call()).ask(result()).reply(Think("Two." * 10), "Done.").ask("More.")
    return talk.reply(Think("Three."), "There.").ask("And?")


def fates(talk: Talk) -> list[tuple[str, str]]:
    verdict = talk.judged()
    assert verdict.violation is None, verdict.violation
    return [(fate.fate, fate.reason) for fate in verdict.prompt.blocks]


EARLIER = ("stripped", "an earlier turn")
EDITED = ("stripped", "context edit")


@accepts("rule:R35.tool-loop")
def test_older_models_lose_earlier_thinking_when_a_new_question_arrives() -> None:
    """R39: last turn only; a tool loop in progress is the last turn."""
    talk = turns("claude-sonnet-4-5", MANUAL)
    assert fates(talk) == [EARLIER] * 3
    talk.reply(Think("Four."), call("toolu_2")).ask(result("toolu_2"))
    assert fates(talk) == [EARLIER] * 3 + [KEPT]


@accepts("rule:R35.tool-loop")
def test_newer_models_keep_all() -> None:
    """R39: all of it, and each block costs its full length."""
    talk = turns("claude-opus-5")
    assert fates(talk) == [KEPT] * 3
    bare = talk.copy()
    for message in (1, 3, 5):
        del bare.messages[message]["content"][0]
    thought = sum(tokens_of_text(words) for words in ("One.", "Two." * 10, "Three."))
    assert talk.judged().prompt.input_tokens == bare.judged().prompt.input_tokens + thought


CLEARING = [
    ("claude-opus-5", {"type": "thinking_turns", "value": 1}, [EDITED, EDITED, KEPT], (1, 11)),
    ("claude-opus-5", {"type": "thinking_turns", "value": 2}, [KEPT] * 3, None),
    ("claude-opus-5", {"type": "thinking_turns", "value": 9}, [KEPT] * 3, None),
    ("claude-opus-5", "all", [KEPT] * 3, None),
    ("claude-opus-5", {"type": "all"}, [KEPT] * 3, None),
    ("claude-opus-5", None, [KEPT] * 3, None),
    ("claude-sonnet-4-5", "all", [KEPT] * 3, None),
    ("claude-sonnet-4-5", None, [EDITED] * 3, (2, 13)),
]


@pytest.mark.parametrize(("model", "keep", "expected", "cleared"), CLEARING)
@accepts("rule:R52.keep-not-positive", "rule:R52.thinking-required")
def test_a_clear_thinking_edit_keeps_so_many_turns(model: str, keep: Any, expected: Any, cleared: Any) -> None:
    """R52: `keep`, its default by model, and the report."""
    talk = turns(model, MANUAL if model == "claude-sonnet-4-5" else None)
    edit = {"type": "clear_thinking_20251015", **({"keep": keep} if keep else {})}
    talk.more["context_management"] = {"edits": [edit]}
    assert fates(talk) == expected
    report = (
        {"type": edit["type"], "cleared_thinking_turns": cleared[0], "cleared_input_tokens": cleared[1]} if cleared else None
    )
    assert talk.judged().prompt.applied_edits == ((report,) if report else ())


@accepts("rule:R51.gated")
def test_without_context_management_there_is_nothing_to_report() -> None:
    """R52: the field is absent then."""
    assert turns("claude-opus-5").judged().prompt.applied_edits is None


@accepts("rule:R44.conversation")
def test_context_editing_on_the_server_leaves_later_thinking_valid() -> None:
    """R44: a cleared block was sent, so the row is whole."""
    talk = turns("claude-opus-5-5")
    talk.more["context_management"] = {
        "edits": [{"type": "clear_thinking_20251015", "keep": {"type": "thinking_turns", "value": 1}}]
    }
    talk.reply(Think("Four."), "So.").ask("?")
    assert fates(talk) == [EDITED] * 3 + [KEPT]


# ── tool results


def calls(count: int, size: int = 400) -> Talk:
    talk = Talk(model="claude-opus-5", more={"tools": [TOOL, {**TOOL, "name": "keep"}]}, terms={"betas": [EDITS]}).ask("Hi.")
    for n in range(count):
        talk.reply(call(f"t{n}", "keep" if n == 0 else "look")).ask(result(f"t{n}", "x" * size))
    return talk


USES = [
    ({}, None),
    ({"trigger": {"type": "input_tokens", "value": 100}}, (2, 202)),
    ({"trigger": {"type": "tool_uses", "value": 4}}, (2, 202)),
    ({"trigger": {"type": "tool_uses", "value": 5}}, None),
    ({"trigger": {"type": "tool_uses", "value": 0}, "keep": {"type": "tool_uses", "value": 0}}, (5, 505)),
    ({"trigger": {"type": "tool_uses", "value": 0}, "exclude_tools": ["keep"]}, (1, 101)),
    ({"trigger": {"type": "tool_uses", "value": 0}, "clear_at_least": {"type": "input_tokens", "value": 203}}, None),
    ({"trigger": {"type": "tool_uses", "value": 0}, "clear_at_least": {"type": "input_tokens", "value": 202}}, (2, 202)),
]


@pytest.mark.parametrize(("edit", "cleared"), USES)
@accepts("rule:R51.gated")
def test_a_clear_tool_uses_edit_takes_the_oldest_results(edit: dict[str, Any], cleared: Any) -> None:
    """R53: trigger, keep, excluded tools, and at least so much."""
    talk = calls(5)
    before = talk.judged().prompt.input_tokens
    talk.more["context_management"] = {"edits": [{"type": "clear_tool_uses_20250919", **edit}]}
    seen = talk.judged().prompt
    assert seen.input_tokens == before - (cleared[1] if cleared else 0)
    assert [entry["cleared_tool_uses"] for entry in seen.applied_edits or ()] == ([cleared[0]] if cleared else [])


# ── length


def long(characters: int, **more: Any) -> dict[str, Any]:
    return request(model="claude-haiku-4-5", messages=[user("x" * characters)], **more)


@refuses("rule:R8.prompt-too-long")
def test_a_prompt_over_the_window_is_refused() -> None:
    """R8."""
    words = "prompt is too long: 200001 tokens > 200000 maximum"
    assert named(ask(long(800_001)).violation) == ("R8.prompt-too-long", "", words)


@accepts("rule:R8.prompt-too-long", "rule:R8.prompt-and-output-too-long")
def test_a_prompt_that_fills_the_window_passes_and_the_answer_stops_early() -> None:
    """R8: Claude 4.5 and newer accept prompt and max_tokens over the window."""
    assert prompt(long(800_000, max_tokens=64_000)).input_tokens == 200_000


@refuses("rule:R8.prompt-and-output-too-long")
def test_models_before_4_5_refuse_prompt_and_answer_over_the_window() -> None:
    """R8: retired on the Claude API, so the 404 is switched off to see it."""
    body = request(model="claude-sonnet-4", max_tokens=64_000, messages=[user("x" * 800_000)])
    words = (
        "input length and `max_tokens` exceed context limit: 200000 + 64000 > 200000, decrease input length or "
        "`max_tokens` and try again"
    )
    violation = ask(body, stance=stance({"without_grades": ["A"]})).violation
    assert named(violation) == ("R8.prompt-and-output-too-long", "", words)
    fits = {**body, "messages": [user("x" * 544_000)]}
    assert ask(fits, stance=stance({"without_grades": ["A"]})).violation is None


@proves("conflict:C-10")
def test_the_least_that_a_cache_entry_holds_is_a_stance() -> None:
    """C-10: Opus 4.8, 1024 by the docs and 4096 by the skills."""
    assert prompt(request()).cache_minimum == 1024
    assert prompt(request(), stance=stance({"C-10": "skills"})).cache_minimum == 4096
    assert prompt(request(model="claude-opus-5-5"), stance=stance({"C-10": "skills"})).cache_minimum == 512


def test_tokens_count_system_tools_and_messages_without_marks() -> None:
    """The estimate can be worked out by hand: four bytes are one token."""
    tool_tokens = tokens_of_json(json.loads(json.dumps(TOOL)))
    body = request(system="x" * 40, tools=[TOOL, {**TOOL, "name": "b", "defer_loading": True}], messages=[user("x" * 20)])
    assert prompt(body).input_tokens == 10 + tool_tokens + 5
    marked = {**body, "system": [text("x" * 40, cache_control={"type": "ephemeral"})]}
    assert prompt(marked).input_tokens == 10 + tool_tokens + 5
    cited = text("x" * 20, citations=[{"type": "page_location", "cited_text": "x" * 40}])
    assert prompt(request(messages=[user(cited)])).input_tokens == tokens_of_json(cited)


@accepts("rule:R32.clear-at-gated")
def test_a_cleared_system_message_costs_nothing() -> None:
    """R32: shown until the next user message."""
    scoped = system("x" * 40, clear_at="next_user_message")
    answer = {"role": "assistant", "content": "x" * 4}
    body = request(messages=[user("x" * 4), scoped])
    betas = ["mid-conversation-system-clear-at-2026-08-21"]
    assert prompt(body, betas=betas).input_tokens == 11
    later = request(messages=[user("x" * 4), scoped, answer, user("x" * 4)])
    assert prompt(later, betas=betas).input_tokens == 3

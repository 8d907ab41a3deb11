"""Bindings: which returned thinking a model may read, and what happens to the rest (R43–R46)."""

from itertools import combinations
from typing import Any

import pytest

from clew.simulator.interfaces import Account
from clew.simulator.stances import stance
from tests.manifest import accepts, proves, refuses
from tests.simulator.judging import (
    BINDING,
    CACHED,
    HOME,
    TOOL,
    ask,
    assistant,
    call,
    named,
    picture,
    result,
    system,
    text,
    user,
)
from tests.simulator.talks import Redact, Talk, Think

OLD_ACCOUNT = Account(name="home", created_after_binding=False)
AWAY = Account(name="away")
OPUS, SONNET = "claude-opus-5-5", "claude-sonnet-5-5"
BOUND = (
    "%s: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set "
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)
NEEDS_BETA = " That setting requires the `thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header."
MISSING = (
    " Content that preceded this block when it was created is missing from this request, starting at `messages.0.content.0`."
)
GAP = " The `thinking` block that preceded this one when it was created is missing from this request."
DIFFERS = " A message older than `messages.0.content.0` differs from when this block was created."
SEARCHED = {"name": "find", "input_schema": {"type": "object"}, "defer_loading": True}


def behaviour(value: str) -> dict[str, Any]:
    return {"thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": value}}}


def history(model: str = OPUS) -> Talk:
    """Three answers in one tool loop and one after it; messages 1, 3, 5, 7 are the model's."""
    more = {"system": "Be kind.", "tools": [TOOL, SEARCHED]}
    talk = Talk(model=model, more=more).ask("Hi.", picture())
    talk.reply(Think("One."), "Let me see.", call("A", input={"a": 1, "b": 2.0})).ask(result("A", "first"))
    talk.reply(Think("Two."), call("B")).ask(result("B", "second"))
    talk.reply(Think("Three."), "Done.").ask("Thanks.")
    return talk.reply(Think("Four."), "You are welcome.").ask("Bye.")


def fates(talk: Talk, **terms: Any) -> list[tuple[str, str]]:
    verdict = talk.judged(**terms)
    assert verdict.violation is None, verdict.violation
    return [(fate.fate, fate.reason) for fate in verdict.prompt.blocks]


KEPT = ("kept", "")
PREFIX = ("dropped", "prefix_binding_mismatch")
MODEL = ("dropped", "model_binding_mismatch")
ORGANIZATION = ("dropped", "organization_binding_mismatch")


# ── the table of changes (R44)


def _append(talk: Talk) -> None:
    talk.reply("Bye.").ask("One more thing.")


def _parameters(talk: Talk) -> None:
    talk.more |= {"metadata": {"user_id": "u"}, "output_config": {"effort": "low"}, "tool_choice": {"type": "auto"}}
    talk.more["thinking"] = {"type": "adaptive", "display": "summarized"}


def _marks(talk: Talk) -> None:
    talk.more["system"] = [text("Be kind.", cache_control=CACHED)]
    talk.more["tools"] = [{**TOOL, "cache_control": CACHED}, SEARCHED]
    talk.messages[2]["content"][0]["cache_control"] = CACHED


def _strings_as_blocks(talk: Talk) -> None:
    talk.more["system"] = [text("Be kind.")]
    talk.messages[6]["content"] = [text("Thanks.", citations=None)]
    talk.messages[2]["content"] = [result("A", [text("first")], is_error=False)]
    talk.messages[1]["content"][2] = call("A", input={"b": 2, "a": 1}, caller={"type": "direct"})


def _deferred(talk: Talk) -> None:
    talk.more["tools"] = [{**SEARCHED, "name": "seek"}, *talk.more["tools"]]


def _split(talk: Talk) -> None:
    first, *rest = talk.messages[1]["content"]
    talk.messages[1:2] = [assistant(first), assistant(*rest)]


def _without(*messages: int) -> Any:
    def change(talk: Talk) -> None:
        for message in messages:
            blocks = talk.messages[message]["content"]
            talk.messages[message]["content"] = [block for block in blocks if block["type"] != "thinking"]

    return change


VALID = [
    ("append messages at the end", _append),
    ("parameters outside system, tools, messages", _parameters),
    ("add cache_control", _marks),
    ("strings as blocks, key order, 2 for 2.0, default keys", _strings_as_blocks),
    ("add a deferred tool that nothing references", _deferred),
    ("one answer sent as two messages", _split),
    ("remove thinking from the start", _without(1)),
    ("remove more from the start", _without(1, 3)),
    ("remove thinking from the end", _without(7)),
    ("remove start and end", _without(1, 7)),
    ("remove all of it", _without(1, 3, 5, 7)),
]


@pytest.mark.parametrize("change", [case[1] for case in VALID], ids=[case[0] for case in VALID])
@accepts("rule:R44.conversation")
def test_a_change_that_leaves_later_thinking_valid(change: Any) -> None:
    """R44: the upper half of the documented table."""
    talk = history()
    change(talk)
    assert set(fates(talk)) <= {KEPT}


def _edit_question(talk: Talk) -> None:
    talk.messages[0]["content"][0]["text"] = "Hi!"


def _edit_answer(talk: Talk) -> None:
    talk.messages[1]["content"][1]["text"] = "Let me look."


def _edit_input(talk: Talk) -> None:
    talk.messages[1]["content"][2]["input"]["a"] = 2


def _shorten_result(talk: Talk) -> None:
    talk.messages[2]["content"][0]["content"] = "fir"


def _other_image(talk: Talk) -> None:
    talk.messages[0]["content"][1]["source"]["data"] = picture()["source"]["data"][:-4] + "AAAA"


def _insert(talk: Talk) -> None:
    talk.messages[6]["content"] = [text("Thanks."), text("A lot.")]


def _delete(talk: Talk) -> None:
    del talk.messages[6:8]


def _delete_first(talk: Talk) -> None:
    talk.messages[0]["content"] = [text("Hi.")]


def _reorder(talk: Talk) -> None:
    talk.messages[0]["content"].reverse()


def _system(talk: Talk) -> None:
    talk.more["system"] = "Be brief."


def _tool(**changes: Any) -> Any:
    def change(talk: Talk) -> None:
        talk.more["tools"] = [{**TOOL, **changes}, SEARCHED]

    return change


def _add_tool(talk: Talk) -> None:
    talk.more["tools"] = [*talk.more["tools"], {**TOOL, "name": "see"}]


INVALID = [
    ("edit the first question", _edit_question, 1, NEEDS_BETA + DIFFERS),
    ("edit an answer", _edit_answer, 3, NEEDS_BETA),
    ("change a tool input", _edit_input, 3, NEEDS_BETA),
    ("shorten a tool result", _shorten_result, 3, NEEDS_BETA),
    ("re-encode an image", _other_image, 1, NEEDS_BETA + DIFFERS),
    ("insert content", _insert, 7, NEEDS_BETA),
    ("delete content at the start", _delete_first, 1, NEEDS_BETA + MISSING),
    ("reorder content", _reorder, 1, NEEDS_BETA + DIFFERS),
    ("change system", _system, 1, NEEDS_BETA),
    ("edit a tool", _tool(description="Sees."), 1, NEEDS_BETA),
    ("rename a tool", _tool(name="see"), 1, NEEDS_BETA),
    ("add a tool", _add_tool, 1, NEEDS_BETA),
    ("remove thinking from the middle", _without(3), 5, NEEDS_BETA + GAP),
]


@pytest.mark.parametrize(("change", "message", "after"), [case[1:] for case in INVALID], ids=[case[0] for case in INVALID])
@refuses("rule:R44.conversation")
def test_a_change_that_makes_later_thinking_invalid(change: Any, message: int, after: str) -> None:
    """R44: the lower half of the table; the first failing block is named, and what is known of the change."""
    talk = history()
    change(talk)
    path = f"messages.{message}.content.0"
    assert named(talk.judged().violation) == ("R44.conversation", path, BOUND % path + after)


@accepts("rule:R44.conversation")
def test_deleting_the_end_is_an_append_to_less() -> None:
    """R44: a rewind keeps every block before it."""
    talk = history()
    _delete(talk)
    assert fates(talk) == [KEPT] * 3


@refuses("rule:R44.conversation")
@pytest.mark.parametrize("removed", [(1,), (1, 3)])
def test_a_block_put_back_makes_those_invalid_that_were_made_meanwhile(removed: tuple[int, ...]) -> None:
    """R44: put back one removed earlier; the answer that never saw it names it."""
    whole = history()
    shorter = history()
    _without(*removed)(shorter)
    shorter.reply(Think("Five."), "Bye.").ask("Still there?")
    assert fates(shorter) == [KEPT] * (5 - len(removed))
    for message in removed:
        shorter.messages[message] = whole.messages[message]
    path = "messages.9.content.0"
    violation = shorter.judged().violation
    assert violation is not None
    assert (violation.rule, violation.path) == ("R44.conversation", path)


@refuses("rule:R44.conversation")
def test_a_block_of_another_conversation_is_refused() -> None:
    """R44: the plain case."""
    one = Talk(model=OPUS).ask("Hi.").reply(Think("Hm."), "Hello.")
    other = Talk(model=OPUS).ask("Hello.").reply(Think("Oh."), "Hi.").ask("?")
    other.messages[1]["content"][0] = one.block(1, 0)
    path = "messages.1.content.0"
    assert named(other.judged().violation) == ("R44.conversation", path, BOUND % path + NEEDS_BETA + DIFFERS)


def _is_unbroken(places: list[int]) -> bool:
    return not places or places == list(range(places[0], places[-1] + 1))


@pytest.mark.parametrize("reading", ["sent", "read"])
@accepts("rule:R44.conversation")
@refuses("rule:R44.conversation")
def test_of_all_ways_to_leave_blocks_out_exactly_the_unbroken_rows_are_legal(reading: str) -> None:
    """R44: kept blocks must be an unbroken run of the original sequence; drop_block keeps the first such run."""
    talk = Talk(model=OPUS, terms={"stance": stance({"predecessor": reading}), "betas": [BINDING]}).ask("Hi.")
    for n in range(5):
        talk.reply(Think(f"Thought {n}."), f"Answer {n}.").ask(f"Question {n}.")
    for kept in (list(chosen) for size in range(6) for chosen in combinations(range(5), size)):
        left = talk.copy()
        _without(*(2 * n + 1 for n in range(5) if n not in kept))(left)
        assert (left.judged().violation is None) == _is_unbroken(kept), kept
        left.more = behaviour("drop_block")
        first_run = [n for n in kept if set(range(kept[0], n + 1)) <= set(kept)]
        assert [fate for fate, _ in fates(left)] == ["kept"] * len(first_run) + ["dropped"] * (len(kept) - len(first_run))


# ── the measured matrix


M15 = [
    ("unchanged", lambda talk: None, None),
    ("oldest removed", _without(1), None),
    ("suffix removed", _without(5, 7), None),
    ("all removed", _without(1, 3, 5, 7), None),
    ("middle removed", _without(3), "R44.conversation"),
    ("tool_result edited", _shorten_result, "R44.conversation"),
    ("first user text edited", _edit_question, "R44.conversation"),
    ("oldest text replaced", lambda talk: talk.block(1, 0).update(thinking="[cleared]"), None),
]


@pytest.mark.parametrize(("change", "rule"), [case[1:] for case in M15], ids=[case[0] for case in M15])
@accepts("rule:R44.conversation")
@refuses("rule:R44.conversation")
def test_the_preserved_thinking_matrix_as_measured(change: Any, rule: str | None) -> None:
    """R44: M15, Opus 5.5, direct API, binding set to error."""
    talk = history().copy(terms={"betas": [BINDING]})
    talk.more |= behaviour("error")
    change(talk)
    violation = talk.judged().violation
    assert (violation and violation.rule) == rule


# ── who is held to it


POLICIES = [
    (HOME, {}, {}, "R44.conversation"),
    (OLD_ACCOUNT, {}, {}, None),
    (OLD_ACCOUNT, behaviour("error"), {}, "R44.conversation"),
    (OLD_ACCOUNT, {}, {"prefix_enforcement": "on"}, "R44.conversation"),
    (HOME, {}, {"prefix_enforcement": "off"}, None),
    (HOME, behaviour("error"), {"prefix_enforcement": "off"}, "R44.conversation"),
    (HOME, behaviour("drop_block"), {}, None),
    (HOME, {"thinking": {"type": "adaptive", "block_binding": {}}}, {}, "R44.conversation"),
]


@pytest.mark.parametrize(("account", "more", "settings", "rule"), POLICIES)
@accepts("rule:R44.conversation")
@refuses("rule:R44.conversation")
def test_the_check_is_enforced_by_account_age_and_setting(
    account: Account, more: dict[str, Any], settings: dict[str, str], rule: str | None
) -> None:
    """R44: new accounts by default, older ones who ask."""
    talk = history()
    _shorten_result(talk)
    talk.more |= more
    violation = talk.judged(account=account, betas=[BINDING], stance=stance(settings)).violation
    assert (violation and violation.rule) == rule


@pytest.mark.parametrize(("betas", "after"), [([], NEEDS_BETA), ([BINDING], "")])
@refuses("rule:R44.conversation")
def test_the_words_say_which_header_the_way_out_needs(betas: list[str], after: str) -> None:
    """R44: the sentence about the beta is only for those who lack it."""
    talk = history()
    _shorten_result(talk)
    path = "messages.3.content.0"
    assert named(talk.judged(betas=betas).violation) == ("R44.conversation", path, BOUND % path + after)


@refuses("rule:R44.conversation")
def test_counting_tokens_runs_the_same_check() -> None:
    """R44, R74."""
    talk = history()
    _shorten_result(talk)
    body = {key: value for key, value in talk.body().items() if key != "max_tokens"}
    violation = ask(body, path="/v1/messages/count_tokens").violation
    assert violation is not None
    assert violation.rule == "R44.conversation"


@accepts("rule:R44.conversation")
@pytest.mark.parametrize("model", ["claude-opus-4-8", "claude-opus-5", "claude-fable-5"])
def test_models_before_fable_5_1_bind_to_no_conversation(model: str) -> None:
    """R44: a signed opus-4.8 block pasted into an unrelated conversation was accepted (M16)."""
    talk = history(model)
    _edit_question(talk)
    assert talk.judged().violation is None


@proves("conflict:C-5")
@refuses("rule:R44.conversation")
def test_whether_mythos_5_1_is_checked_is_a_stance() -> None:
    """C-5."""
    talk = history("claude-mythos-5-1")
    _edit_question(talk)
    violation = talk.judged().violation
    assert violation is not None
    assert violation.rule == "R44.conversation"
    assert fates(talk, stance=stance({"C-5": "skip"})) == [KEPT] * 4


# ── drop and report


@accepts("rule:R44.conversation")
def test_drop_block_takes_the_block_its_row_and_all_that_then_fail() -> None:
    """R44, R46: 200, and each removal is reported."""
    talk = Talk(model=OPUS, more={"tools": [TOOL], **behaviour("drop_block")}, terms={"betas": [BINDING]}).ask("Hi.")
    talk.reply(Think("One."), call("A")).ask(result("A"))
    talk.reply(Think("Two."), Redact("Secret."), "Now.", Think("Three."), call("B")).ask(result("B"))
    _shorten_result(talk)
    verdict = talk.judged()
    assert [(fate.fate, fate.reason) for fate in verdict.prompt.blocks] == [KEPT, PREFIX, PREFIX, PREFIX]
    assert verdict.prompt.transformations == tuple(
        {"type": "thinking_dropped", "path": path, "reason": "prefix_binding_mismatch"}
        for path in ("messages.3.content.0", "messages.3.content.1", "messages.3.content.3")
    )


@accepts("rule:R44.conversation")
def test_after_a_drop_the_conversation_goes_on_from_what_was_left() -> None:
    """R44: what follows a drop was made without the dropped block, and stays valid while that is dropped again."""
    talk = history()
    talk.more |= behaviour("drop_block")
    talk.terms = {"betas": [BINDING]}
    _edit_answer(talk)
    assert fates(talk) == [KEPT, PREFIX, PREFIX, PREFIX]
    talk.reply(Think("Five."), "Bye.").ask("Hello?")
    assert fates(talk) == [KEPT, PREFIX, PREFIX, PREFIX, KEPT]
    _without(3, 5, 7)(talk)
    assert fates(talk) == [KEPT, KEPT]


@accepts("rule:R44.conversation")
def test_a_dropped_start_leaves_the_rest_valid() -> None:
    """R44: only what then fails goes: a row may begin later."""
    talk = Talk(model=OPUS, more=behaviour("drop_block"), terms={"betas": [BINDING]}).ask("Hi.").reply(Think("One."), "A.")
    stray = talk.block(1, 0)
    talk = Talk(model=OPUS, more=behaviour("drop_block"), terms={"betas": [BINDING]})
    talk.ask("Hello.").reply("A.").ask("B?").reply(Think("Two."), "B.").ask("C?")
    talk.messages[1]["content"].insert(0, stray)
    assert fates(talk) == [PREFIX, KEPT]


@accepts("rule:R44.conversation")
def test_where_it_is_not_enforced_each_failing_block_is_listed_and_shown() -> None:
    """R44, R46: thinking_mismatch_allowed, each block judged alone."""
    talk = history()
    _without(3)(talk)
    verdict = talk.judged(account=OLD_ACCOUNT, betas=[BINDING])
    assert verdict.violation is None
    assert [fate.fate for fate in verdict.prompt.blocks] == ["kept"] * 3
    assert verdict.prompt.transformations == (
        {"type": "thinking_mismatch_allowed", "path": "messages.5.content.0", "reason": "prefix_binding_mismatch"},
    )


@accepts("rule:R43.unreadable")
def test_nothing_is_reported_without_the_beta() -> None:
    """R46: `[]` if there is nothing to report, absent without the header."""
    talk = Talk(model=OPUS).ask("Hi.").reply(Think("Hm."), "Hello.").ask("?")
    assert talk.judged().prompt.transformations is None
    assert talk.judged(betas=[BINDING]).prompt.transformations == ()


# ── model and account


READS = [
    (OPUS, SONNET, MODEL),
    (SONNET, OPUS, KEPT),
    ("claude-fable-5-1", OPUS, MODEL),
    (OPUS, "claude-fable-5-1", KEPT),
    ("claude-fable-5-1", "claude-mythos-5-1", KEPT),
    ("claude-opus-5", OPUS, KEPT),
    ("claude-opus-5", SONNET, MODEL),
    ("claude-opus-4-8", SONNET, KEPT),
    ("claude-haiku-4-5", OPUS, KEPT),
    (OPUS, "claude-opus-5", MODEL),
    ("claude-opus-4-8", "claude-opus-5", MODEL),
]


def said_by(model: str) -> Talk:
    more = {"thinking": {"type": "enabled", "budget_tokens": 1024}} if model == "claude-haiku-4-5" else {}
    return Talk(model=model, more=more).ask("Hi.").reply(Think("Hm."), "Hello.").ask("Go on.").copy(more={})


@pytest.mark.parametrize(("maker", "reader", "fate"), READS)
@accepts("rule:R43.unreadable")
def test_a_block_that_the_model_may_not_read_is_dropped_without_a_word(
    maker: str, reader: str, fate: tuple[str, str]
) -> None:
    """R43: the published pairs; a pair that nobody published counts as not read."""
    assert fates(said_by(maker).copy(model=reader)) == [fate]


@refuses("rule:R43.unreadable")
@proves("conflict:C-9")
def test_a_model_switch_can_be_refused_by_stance() -> None:
    """C-9: llxprt-code#2335 reports a 400."""
    talk = said_by(OPUS).copy(model=SONNET)
    path = "messages.1.content.0"
    words = f"{path}: Invalid `signature` in `thinking` block"
    assert named(talk.judged(stance=stance({"C-9": "reject"})).violation) == ("R43.unreadable", path, words)
    assert fates(talk) == [MODEL]


@accepts("rule:R43.unreadable")
def test_dropped_blocks_cost_nothing_and_come_back_with_their_model() -> None:
    """R43: not in input_tokens; readable again when the conversation returns."""
    talk = Talk(model=OPUS).ask("Hi.").reply(Think("A long thought. " * 50), "Hello.").ask("Go on.")
    bare = talk.copy()
    _without(1)(bare)
    switched = talk.copy(model=SONNET)
    assert switched.judged().prompt.input_tokens == bare.judged().prompt.input_tokens
    assert talk.judged().prompt.input_tokens == bare.judged().prompt.input_tokens + 200
    back = switched.reply(Think("Mine."), "Well.").ask("And?").copy(model=OPUS)
    assert fates(back) == [KEPT, KEPT]


@accepts("rule:R44.conversation")
@pytest.mark.parametrize(("model", "fate"), [(SONNET, ORGANIZATION), (OPUS, KEPT), ("claude-fable-5-1", KEPT)])
def test_only_some_models_bind_to_the_account(model: str, fate: tuple[str, str]) -> None:
    """R45: Sonnet and Haiku 5.5; Fable 5.1 across accounts was not dropped (M7)."""
    assert fates(said_by(model), account=AWAY) == [fate]


@accepts("rule:R44.conversation")
def test_of_several_mismatches_the_account_is_named_before_model_and_conversation() -> None:
    """R45: organization > end_user > model > prefix."""
    talk = said_by(SONNET)
    _edit(talk)
    report = {"betas": [BINDING], "account": AWAY}
    assert fates(talk.copy(model="claude-opus-5"), **report) == [ORGANIZATION]
    assert fates(talk.copy(model="claude-opus-5"), betas=[BINDING]) == [MODEL]
    assert fates(talk.copy(more=behaviour("drop_block")), betas=[BINDING]) == [PREFIX]


def _edit(talk: Talk) -> None:
    talk.messages[0] = user("Hi!")


AWS = stance({"C-4": "aws"})


@proves("conflict:C-4")
@accepts("rule:R9.binding-key-aws")
def test_the_names_of_aws_bind_to_end_users_and_to_more_accounts() -> None:
    """C-4: mismatch_behavior, bind_to_end_user, bind_to_additional_organizations."""
    binding = {"bind_to_end_user": True, "bind_to_additional_organizations": ["away"]}
    more = {"thinking": {"type": "adaptive", "block_binding": binding}, "metadata": {"user_id": "anna"}}
    talk = Talk(model=SONNET, more=more, terms={"betas": [BINDING], "stance": AWS}).ask("Hi.")
    talk.reply(Think("Hm."), "Hello.").ask("Go on.")
    assert fates(talk, account=AWAY) == [KEPT]
    assert fates(talk, account=Account(name="elsewhere")) == [ORGANIZATION]
    talk.more["metadata"] = {"user_id": "bert"}
    assert fates(talk) == [("dropped", "end_user_binding_mismatch")]


@proves("conflict:C-4")
@accepts("rule:R44.conversation")
def test_on_aws_a_failing_block_is_dropped_unless_asked_otherwise() -> None:
    """C-4: absent behaves like drop_block there."""
    talk = said_by(OPUS)
    _edit(talk)
    assert fates(talk, stance=AWS) == [PREFIX]
    talk.more = {"thinking": {"type": "adaptive", "block_binding": {"mismatch_behavior": "error"}}}
    assert talk.judged(stance=AWS, betas=[BINDING]).violation is not None


# ── what precedes a block: two readings


def switched() -> Talk:
    """Opus, then Sonnet, which cannot read Opus, then Opus again, with every block sent."""
    talk = Talk(model=OPUS).ask("Hi.").reply(Think("Opus."), "Hello.").ask("Switch.")
    return talk.copy(model=SONNET).reply(Think("Sonnet."), "Well.").ask("Back.").copy(model=OPUS)


@accepts("rule:R44.conversation")
def test_read_as_sent_a_client_may_send_all_blocks_to_all_models() -> None:
    """R44, reading `sent`: what was sent precedes, whether it could be read or not."""
    sent = {"stance": stance({"predecessor": "sent"})}
    talk = switched()
    talk.terms = sent
    assert fates(talk) == [KEPT, KEPT]
    talk.reply(Think("Again."), "Yes.").ask("And?")
    assert fates(talk) == [KEPT] * 3
    assert fates(talk.copy(model=SONNET)) == [MODEL, KEPT, MODEL]


@refuses("rule:R44.conversation")
def test_read_as_readable_the_same_row_breaks_at_the_block_of_the_other_model() -> None:
    """R44, reading `read`: Sonnet's block was made after nothing that it could read; Opus reads one before it."""
    read = stance({"predecessor": "read"})
    talk = Talk(model=OPUS, terms={"stance": read}).ask("Hi.").reply(Think("Opus."), "Hello.").ask("Switch.")
    talk = talk.copy(model=SONNET).reply(Think("Sonnet."), "Well.").ask("Back.").copy(model=OPUS)
    path = "messages.3.content.0"
    violation = talk.judged().violation
    assert violation is not None
    assert (violation.rule, violation.path) == ("R44.conversation", path)


@accepts("rule:R44.conversation")
@pytest.mark.parametrize("reading", ["sent", "read"])
def test_a_client_that_keeps_one_row_for_each_model_is_safe_in_both_readings(reading: str) -> None:
    """R44: other models' blocks left out on each switch, as Claude Code does."""
    terms = {"stance": stance({"predecessor": reading})}
    talk = Talk(model=OPUS, terms=terms).ask("Hi.").reply(Think("Opus."), "Hello.").ask("Switch.")
    opus = talk.block(1, 0)
    talk = talk.copy(model=SONNET)
    _without(1)(talk)
    talk.reply(Think("Sonnet."), "Well.").ask("Back.")
    talk = talk.copy(model=OPUS)
    _without(3)(talk)
    talk.messages[1]["content"].insert(0, opus)
    assert fates(talk) == [KEPT]
    talk.reply(Think("Again."), "Yes.").ask("And?")
    assert fates(talk) == [KEPT, KEPT]


@accepts("rule:R44.conversation")
@refuses("rule:R44.conversation")
def test_a_restored_block_ahead_of_an_answer_made_without_it_is_refused_in_both_readings() -> None:
    """R44: what a gateway must not do."""
    for reading in ("sent", "read"):
        terms = {"stance": stance({"predecessor": reading})}
        talk = Talk(model=OPUS, terms=terms).ask("Hi.").reply(Think("One."), "Hello.").ask("More.")
        first = talk.block(1, 0)
        _without(1)(talk)
        talk.reply(Think("Two."), "Yes.").ask("And?")
        assert fates(talk) == [KEPT]
        talk.messages[1]["content"].insert(0, first)
        violation = talk.judged().violation
        assert violation is not None
        assert violation.path == "messages.3.content.0"


# ── tools, compaction, system messages, URLs


@accepts("rule:R44.conversation")
@refuses("rule:R44.conversation")
def test_a_deferred_tool_counts_from_where_it_is_referenced() -> None:
    """R44: effective tools; Claude Code loads tools by tool_reference blocks."""
    talk = Talk(model=OPUS, more={"tools": [TOOL]}).ask("Hi.").reply(Think("Find it."), call("A"))
    talk.ask(result("A", [{"type": "tool_reference", "tool_name": "find"}]))
    talk.more["tools"] = [SEARCHED, TOOL]
    talk.reply(Think("Found."), call("B", "find")).ask(result("B"))
    assert fates(talk) == [KEPT, KEPT]
    talk.more["tools"] = [{**SEARCHED, "description": "Finds."}, TOOL]
    violation = talk.judged().violation
    assert violation is not None
    assert violation.path == "messages.3.content.0"


@accepts("rule:R44.conversation")
def test_a_compaction_begins_the_conversation_anew() -> None:
    """R44, R54: what stands before the newest compaction block counts no more, and may go."""
    compact = {"betas": ["compact-2026-01-12"]}
    talk = Talk(model=OPUS, terms=compact).ask("Hi.").reply(Think("Old."), "Hello.").ask("Go on.")
    talk.reply({"type": "compaction", "content": "We greeted."}, Think("New."), "So.").ask("And?")
    assert fates(talk) == [("stripped", "before the newest compaction"), KEPT]
    _edit_text = talk.copy()
    _edit_text.messages[0] = user("Something else.")
    assert fates(_edit_text)[1] == KEPT
    shorter = talk.copy(messages=talk.messages[3:])
    assert fates(shorter) == [KEPT]
    shorter.reply(Think("Newer."), "Yes.").ask("?")
    assert fates(shorter) == [KEPT, KEPT]


@accepts("rule:R44.conversation")
@refuses("rule:R44.conversation")
def test_a_cleared_system_message_stays_in_place_and_is_not_reworded() -> None:
    """R44, R32: a turn-scoped system message counts while it is there, cleared or not."""
    scoped = {"betas": ["mid-conversation-system-clear-at-2026-08-21"]}
    talk = Talk(model=OPUS, terms=scoped).ask("Hi.")
    talk.messages.append(system("For now.", clear_at="next_user_message"))
    talk.reply(Think("Hm."), "Hello.").ask("And?")
    assert fates(talk) == [KEPT]
    talk.messages[1]["content"] = "For ever."
    assert talk.judged().violation is not None
    del talk.messages[1]
    assert talk.judged().violation is not None


@accepts("rule:R44.conversation")
@refuses("rule:R44.conversation")
def test_a_rotating_url_is_the_same_and_another_file_is_not() -> None:
    """R44: the simulator takes the URL without its query for the bytes that it serves."""

    def image(url: str) -> dict[str, Any]:
        return {"type": "image", "source": {"type": "url", "url": url}}

    talk = Talk(model=OPUS).ask("Look.", image("https://files.example/a.png?token=1")).reply(Think("Hm."), "Nice.").ask("?")
    talk.messages[0]["content"][1] = image("https://files.example/a.png?token=2")
    assert fates(talk) == [KEPT]
    talk.messages[0]["content"][1] = image("https://files.example/b.png?token=1")
    assert talk.judged().violation is not None


@refuses("rule:R44.conversation")
def test_text_between_two_thinking_blocks_of_one_answer_counts_for_the_second() -> None:
    """R44: the answer's own visible part is prefix for what follows it in the answer."""
    talk = (
        Talk(model=OPUS, more={"tools": [TOOL]}).ask("Hi.").reply(Think("One."), "So.", Think("Two."), call()).ask(result())
    )
    assert fates(talk) == [KEPT, KEPT]
    talk.messages[1]["content"][1]["text"] = "[Empty text removed]"
    violation = talk.judged().violation
    assert violation is not None
    assert violation.path == "messages.1.content.2"


@accepts("rule:R44.conversation")
def test_a_thinking_only_answer_may_be_taken_out_with_its_message() -> None:
    """R22, R44: content [] and no message at all say the same."""
    talk = Talk(model=OPUS).ask("Hi.").reply(Think("Hm.")).ask("Say it.").reply(Think("Ah."), "Hello.").ask("Thanks.")
    assert fates(talk) == [KEPT, KEPT]
    talk.messages[1]["content"] = []
    assert fates(talk) == [KEPT]
    del talk.messages[1]
    assert fates(talk) == [KEPT]

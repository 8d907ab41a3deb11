"""Who is held to the conversation check, and what a failing block meets: error, drop, report (R44, R46)."""

from typing import Any

import pytest

from clew.simulator.interfaces import Account
from clew.simulator.server import stance
from tests.manifest import accepts, proves, refuses
from tests.simulator.histories import (
    BOUND,
    KEPT,
    NEEDS_BETA,
    OPUS,
    PREFIX,
    behaviour,
    edit_answer,
    edit_question,
    fates,
    history,
    shorten_result,
    without,
)
from tests.simulator.judging import (
    BINDING,
    HOME,
    TOOL,
    ask,
    call,
    named,
    result,
    user,
)
from tests.simulator.talks import Redact, Talk, Think

OLD_ACCOUNT = Account(name="home", created_after_binding=False)
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
    shorten_result(talk)
    talk.more |= more
    violation = talk.judged(account=account, betas=[BINDING], stance=stance(settings)).violation
    assert (violation and violation.rule) == rule


@pytest.mark.parametrize(("betas", "after"), [([], NEEDS_BETA), ([BINDING], "")])
@refuses("rule:R44.conversation")
def test_the_words_say_which_header_the_way_out_needs(betas: list[str], after: str) -> None:
    """R44: the sentence about the beta is only for those who lack it."""
    talk = history()
    shorten_result(talk)
    path = "messages.3.content.0"
    assert named(talk.judged(betas=betas).violation) == ("R44.conversation", path, BOUND % path + after)


@refuses("rule:R44.conversation")
def test_counting_tokens_runs_the_same_check() -> None:
    """R44, R74."""
    talk = history()
    shorten_result(talk)
    body = {key: value for key, value in talk.body().items() if key != "max_tokens"}
    violation = ask(body, path="/v1/messages/count_tokens").violation
    assert violation is not None
    assert violation.rule == "R44.conversation"


@accepts("rule:R44.conversation")
@pytest.mark.parametrize("model", ["claude-opus-4-8", "claude-opus-5", "claude-fable-5"])
def test_models_before_fable_5_1_bind_to_no_conversation(model: str) -> None:
    """R44: a signed opus-4.8 block pasted into an unrelated conversation was accepted (M16)."""
    talk = history(model)
    edit_question(talk)
    assert talk.judged().violation is None


@proves("conflict:C-5")
@refuses("rule:R44.conversation")
def test_whether_mythos_5_1_is_checked_is_a_stance() -> None:
    """C-5."""
    talk = history("claude-mythos-5-1")
    edit_question(talk)
    violation = talk.judged().violation
    assert violation is not None
    assert violation.rule == "R44.conversation"
    assert fates(talk, stance=stance({"C-5": "skip"})) == [KEPT] * 4


@accepts("rule:R44.conversation")
def test_drop_block_takes_the_block_its_row_and_all_that_then_fail() -> None:
    """R44, R46: 200, and each removal is reported."""
    talk = Talk(model=OPUS, more={"tools": [TOOL], **behaviour("drop_block")}, terms={"betas": [BINDING]}).ask("Hi.")
    talk.reply(Think("One."), call("A")).ask(result("A"))
    talk.reply(Think("Two."), Redact("Secret."), "Now.", Think("Three."), call("B")).ask(result("B"))
    shorten_result(talk)
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
    edit_answer(talk)
    assert fates(talk) == [KEPT, PREFIX, PREFIX, PREFIX]
    talk.reply(Think("Five."), "Bye.").ask("Hello?")
    assert fates(talk) == [KEPT, PREFIX, PREFIX, PREFIX, KEPT]
    without(3, 5, 7)(talk)
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
    without(3)(talk)
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


def said_by(model: str) -> Talk:
    more = {"thinking": {"type": "enabled", "budget_tokens": 1024}} if model == "claude-haiku-4-5" else {}
    return Talk(model=model, more=more).ask("Hi.").reply(Think("Hm."), "Hello.").ask("Go on.").copy(more={})


def _edit(talk: Talk) -> None:
    talk.messages[0] = user("Hi!")


AWS = stance({"C-4": "aws"})


@proves("conflict:C-4")
@accepts("rule:R44.conversation")
def test_on_aws_a_failing_block_is_dropped_unless_asked_otherwise() -> None:
    """C-4: absent behaves like drop_block there."""
    talk = said_by(OPUS)
    _edit(talk)
    assert fates(talk, stance=AWS) == [PREFIX]
    talk.more = {"thinking": {"type": "adaptive", "block_binding": {"mismatch_behavior": "error"}}}
    assert talk.judged(stance=AWS, betas=[BINDING]).violation is not None

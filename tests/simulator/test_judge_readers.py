"""Which models and accounts may read a block, and what is said of the others (R43, R45)."""

import pytest

from clew.simulator.interfaces import Account
from clew.simulator.server import stance
from tests.manifest import accepts, proves, refuses
from tests.simulator.histories import KEPT, MODEL, OPUS, ORGANIZATION, PREFIX, SONNET, behaviour, fates, without
from tests.simulator.judging import (
    BINDING,
    named,
    user,
)
from tests.simulator.talks import Talk, Think

AWAY = Account(name="away")
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
    without(1)(bare)
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


def switched() -> Talk:
    """Opus, then Sonnet, which cannot read Opus, then Opus again, with every block sent."""
    talk = Talk(model=OPUS).ask("Hi.").reply(Think("Opus."), "Hello.").ask("Switch.")
    return talk.copy(model=SONNET).reply(Think("Sonnet."), "Well.").ask("Back.").copy(model=OPUS)

"""What an answer took, for a person: nothing is made up, and shares are true."""

from decimal import Decimal

import pytest

from clew.backends.row import Backend
from clew.chat.display import AnswerSummary, summary_of
from clew.chat.display.summary import total_of
from clew.chat.messages import Message
from clew.chat.metrics import Estimate
from clew.chat.prices import Cost
from clew.chat.turns import Turn
from clew.model.turn import TokenUsage
from tests.manifest import proves

CLAUDE = Backend(name="claude", url="https://api.anthropic.com", realm="anthropic")


@proves("req:S2-42", "req:C33")
@pytest.mark.parametrize(
    ("usage", "share"),
    [
        (TokenUsage(input=50, cache_read=900, cache_written=50), "1,000 tokens in (90 % from the cache), 0 out"),
        (TokenUsage(input=4, cache_read=5000), "5,004 tokens in (>99 % from the cache), 0 out"),
        (TokenUsage(cache_read=5000), "5,000 tokens in (100 % from the cache), 0 out"),
        (TokenUsage(input=5000, cache_read=1), "5,001 tokens in (<1 % from the cache), 0 out"),
        (TokenUsage(input=1), "1 token in, 0 out"),
        (TokenUsage(), "0 tokens in, 0 out"),
        (TokenUsage(input=2, output=7, estimated=True), "2 tokens in, ≈7 out"),
    ],
)
def test_the_share_of_the_cache_is_true(usage: TokenUsage, share: str) -> None:
    """S2-42: it is never all that is not all."""
    assert AnswerSummary(usage=usage).line == share


@proves("req:C33", "req:S2-39")
@pytest.mark.parametrize(
    ("summary", "line"),
    [
        (AnswerSummary(), "tokens not reported"),
        (AnswerSummary(usage=TokenUsage(output=9), thinking=0), "0 tokens in, 9 out (0 of them thinking)"),
        (AnswerSummary(usage=TokenUsage(output=9), thinking=Estimate(1500)), "0 tokens in, 9 out (≈1,500 of them thinking)"),
        (
            AnswerSummary(backend="b\x1b", model="m", cost=Cost(Decimal("0.5"), estimated=True), seconds=1.26),
            "b␛, m · tokens not reported · ≈$0.5000 · 1.3 s",
        ),
    ],
)
def test_what_is_not_known_is_not_told(summary: AnswerSummary, line: str) -> None:
    """S2-39: an estimate is marked as one."""
    assert summary.line == line


def turn(**given: object) -> Turn:
    answer = Message(role="assistant", content="Yes.", raw_content=[{"type": "thinking", "thinking": "", "signature": "x"}])
    usual = {"id": "t", "at": 1_790_000_000.0, "asked": (), "answer": answer, "outcome": "whole"}
    said = {"backend": "claude", "model": "claude-sonnet-4-5", "usage": TokenUsage(input=1000, output=1000)}
    return Turn(**{**usual, **said, **given})


@proves("req:C33")
def test_a_turn_is_summed_up() -> None:
    """What was thought is what the visible part does not account for; a cut answer costs about so much."""
    whole = summary_of(turn(), CLAUDE, 2.0)
    assert whole.line == "claude, claude-sonnet-4-5 · 1,000 tokens in, 1,000 out (≈998 of them thinking) · $0.0180 · 2.0 s"
    assert summary_of(turn(outcome="cut"), CLAUDE).cost == Cost(Decimal("0.018"), estimated=True)
    unknown = summary_of(turn(model="nobody-knows-this", usage=None, answer=None), None)
    assert unknown == AnswerSummary(backend="claude", model="nobody-knows-this")


def test_all_answers_together() -> None:
    """A cost that is not known makes the sum an estimate, and so does a count."""
    one = AnswerSummary(
        usage=TokenUsage(input=1, output=2, cache_read=3, cache_written=4), thinking=5, cost=Cost(Decimal(1))
    )
    two = AnswerSummary(usage=TokenUsage(input=1, output=1, estimated=True), thinking=Estimate(2))
    assert total_of([one, two, AnswerSummary()]) == AnswerSummary(
        usage=TokenUsage(input=2, output=3, cache_read=3, cache_written=4, estimated=True),
        thinking=Estimate(7),
        cost=Cost(Decimal(1), estimated=True),
    )
    assert total_of([one]) == one


def test_of_an_answer_that_was_cut_the_count_is_the_stores() -> None:
    """Who recorded it counted what was heard: all that show it show one number."""
    thought = {"type": "thinking", "thinking": "Hm, let me see. " * 40, "signature": "s"}
    answer = Message(role="assistant", content="Yes.", raw_content=[thought, {"type": "text", "text": "Yes."}])
    cut = turn(outcome="cut", answer=answer, usage=TokenUsage(input=9, output=236, estimated=True))
    found = summary_of(cut, CLAUDE)
    assert found.usage is not None and isinstance(found.thinking, Estimate) and found.cost is not None
    assert (found.usage.output, found.thinking.tokens > 100, "≈236 out" in found.line) == (236, True, True)
    assert found.cost.usd > Decimal("0.001")

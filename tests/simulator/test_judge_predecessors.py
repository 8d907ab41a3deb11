"""What precedes a thinking block: unbroken rows, in both readings that the vendor's text leaves open (R44)."""

from itertools import combinations

import pytest

from clew.simulator.server import stance
from tests.manifest import accepts, refuses
from tests.simulator.histories import KEPT, MODEL, OPUS, SONNET, behaviour, fates, without
from tests.simulator.judging import (
    BINDING,
)
from tests.simulator.talks import Talk, Think


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
        without(*(2 * n + 1 for n in range(5) if n not in kept))(left)
        assert (left.judged().violation is None) == _is_unbroken(kept), kept
        left.more = behaviour("drop_block")
        first_run = [n for n in kept if set(range(kept[0], n + 1)) <= set(kept)]
        assert [fate for fate, _ in fates(left)] == ["kept"] * len(first_run) + ["dropped"] * (len(kept) - len(first_run))


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
    without(1)(talk)
    talk.reply(Think("Sonnet."), "Well.").ask("Back.")
    talk = talk.copy(model=OPUS)
    without(3)(talk)
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
        without(1)(talk)
        talk.reply(Think("Two."), "Yes.").ask("And?")
        assert fates(talk) == [KEPT]
        talk.messages[1]["content"].insert(0, first)
        violation = talk.judged().violation
        assert violation is not None
        assert violation.path == "messages.3.content.0"

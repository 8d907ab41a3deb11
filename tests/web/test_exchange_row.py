"""An exchange as a row: its ending in words, its thinking as chips with reasons."""

from typing import Any

import pytest

from clew.model.change import Change
from clew.model.turn import Exchange, Outcome, TokenUsage, Try
from clew.web.rows import Chip, cache_share, chips_of, row_of

WHY = "made by glm"


def exchange(**more: Any) -> Exchange:
    plain = {"id": "x", "principal": "local", "thread": "t", "started": 10.0, "ended": 12.5, "asked_model": "opus"}
    return Exchange(**{**plain, "backend": "claude", "model": "opus", **more})


def test_chips_say_what_became_of_the_thinking_and_each_reason_once() -> None:
    """Law 6: nothing is silent."""
    changes = (
        Change("thinking", "messages.1.content.0", "left out", WHY),
        Change("thinking", "messages.3.content.0", "left out", WHY),
        Change("thinking", "messages.5.content.0", "restored", "the client dropped it"),
        Change("heal", "messages.7.content.0", "healed", "refused (R33)"),
        Change("sampling", "temperature", "removed", "the model has none"),
    )
    assert list(chips_of(exchange(kept=2, changes=changes))) == [
        Chip("kept", "2 kept", ("went on as the client sent them",)),
        Chip("restored", "1 restored", ("the client dropped it",)),
        Chip("left-out", "2 left out", (f"{WHY} (× 2)",)),
        Chip("healed", "1 healed", ("refused (R33)",)),
        Chip("", "1 edit", ("removed temperature: the model has none",)),
    ]


def test_a_row_says_what_is_unusual_about_it_with_a_reason() -> None:
    tries = (Try(backend="claude", status=529, why="secret"), Try(backend="glm"))
    assert row_of(exchange(agent="scout", kind="count_tokens", tries=tries)).marks == (
        Chip("", "sub-agent", ("scout",)),
        Chip("", "count", ("tokens were counted, nothing was answered",)),
        Chip("warn", "2 tries", ("claude: 529", "glm: no answer")),
    )
    assert row_of(exchange()).marks == ()
    [api] = row_of(exchange(dialect="openai-responses")).marks
    assert (api.label, api.reasons) == ("Responses", ("the client speaks openai-responses",))


def test_many_reasons_are_cut_with_their_number() -> None:
    changes = tuple(Change("thinking", f"messages.{n}", "left out", f"reason {n}") for n in range(12))
    (chip,) = chips_of(exchange(changes=changes))
    assert (chip.label, len(chip.reasons), chip.reasons[-1]) == ("12 left out", 9, "and 4 more")


@pytest.mark.parametrize(
    ("outcome", "status", "stop", "ending", "mood"),
    [
        ("whole", 200, "end_turn", "end_turn", "good"),
        ("whole", 200, "max_tokens", "max_tokens", "warn"),
        ("whole", 200, "", "whole", "good"),
        ("open", 200, "", "under way", ""),
        ("cut", 200, "", "stopped", "warn"),
        ("refused", 429, "", "refused (429)", "bad"),
        ("failed", 0, "", "failed", "bad"),
    ],
)
def test_an_ending_is_said_in_words(outcome: Outcome, status: int, stop: str, ending: str, mood: str) -> None:
    row = row_of(exchange(outcome=outcome, status=status, stop_reason=stop))
    assert (row.ending, row.mood, row.seconds, row.key) == (ending, mood, 2.5, f"x {outcome}")


def test_an_answer_that_its_backend_broke_off_is_cut_off() -> None:
    broken = exchange(outcome="cut", tries=(Try(backend="claude", status=200, why="claude: the answer broke off"),))
    assert row_of(broken).ending == "cut off"


def test_the_share_of_the_cache_is_of_the_whole_prompt() -> None:
    assert cache_share(TokenUsage(input=10, cache_read=70, cache_written=20)) == 0.7
    assert cache_share(TokenUsage(output=5)) is None
    assert cache_share(None) is None


def test_changes_that_are_told_together_count_as_many() -> None:
    changes = (
        Change("thinking", "messages.1.content.0", "left out", WHY),
        Change("thinking", "messages.1.content.1", "left out", WHY, count=40),
        Change("tool_structure", "messages.2.content.0", "added", "no result", count=3),
    )
    assert list(chips_of(exchange(changes=changes))) == [
        Chip("left-out", "41 left out", (f"{WHY} (× 41)",)),
        Chip("", "3 edits", ("added messages.2.content.0: no result (× 3)",)),
    ]

"""Every mutation of a history does what its row says, to something, and to nothing else."""

from copy import deepcopy

import pytest

from tests.build import Json, assistant, system, text, thinking, tool_result, tool_use, user
from tests.identity.histories import COMPACT, INTERRUPTED, MUTATIONS, SUMMARY
from tests.identity.sample import BARE, SAMPLE


def thoughts(messages: list[Json]) -> list[Json]:
    return [
        block
        for message in messages
        for block in message["content"]
        if isinstance(block, dict) and block["type"] in ("thinking", "redacted_thinking")
    ]


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_alters_the_sample_and_not_its_input(name: str) -> None:
    """No row is vacuous; histories can be shared between tests."""
    before = deepcopy(BARE)
    history = BARE if name.startswith("bare") else SAMPLE

    assert MUTATIONS[name](history) != history
    assert before == BARE


KEEPING = {name for name in MUTATIONS if "thinking" not in name and "compaction" not in name and "changes" not in name}


@pytest.mark.parametrize("name", sorted(KEEPING - {"missing_signatures_are_empty"}))
def test_thinking_comes_back_untouched_unless_the_row_is_about_it(name: str) -> None:
    """In the same process nothing else ever changed it (clients 1.5)."""
    assert thoughts(MUTATIONS[name](SAMPLE)) == thoughts(SAMPLE)


@pytest.mark.parametrize("name", sorted(set(MUTATIONS) - {n for n in MUTATIONS if n.startswith("compaction")}))
def test_tool_ids_survive_every_row(name: str) -> None:
    """The reason why they find recordings: 100 % in both versions (identity 1.2)."""

    def ids(messages: list[Json]) -> list[str]:
        return [
            block["id"] for message in messages for block in message["content"] if isinstance(block, dict) and "id" in block
        ]

    assert ids(MUTATIONS[name](SAMPLE)) == ids(SAMPLE)


def test_system_messages_move_into_the_first_user_message() -> None:
    """All of them, as reminders, ahead of its own text; the same after a role 400."""
    history = [user("hi"), system("one"), assistant("ok"), user("go"), system("two")]

    assert MUTATIONS["system_messages_move_to_the_front"](history) == [
        user(
            "<system-reminder>\none\n</system-reminder>",
            "<system-reminder>\ntwo\n</system-reminder>",
            "hi",
        ),
        assistant("ok"),
        user("go"),
    ]


def test_compaction_asks_without_the_last_answer_and_goes_on_with_it_alone() -> None:
    """The kept block is bound to a prefix that is gone: the vendor's 400 after each compaction (identity 1.3)."""
    answer = assistant(thinking("t", "s"), "ok")
    history = [user("hi"), system("env"), answer, user("next")]

    assert MUTATIONS["compaction_leaves_out_the_last_answer"](history) == [user("hi", f"\n{COMPACT}"), system("env")]
    assert MUTATIONS["compaction_keeps_only_the_last_answer"](history) == [
        user(SUMMARY),
        {"role": "system", "content": []},
        answer,
        user("next"),
    ]


def test_an_escape_leaves_one_message_or_two_in_a_row() -> None:
    """2.1.325 and 2.1.197."""
    history = [user("hi"), assistant(thinking("t", "s"), "half an ans"), user("next")]

    assert MUTATIONS["an_escape_notes_the_interruption"](history) == [*history[:2], user(INTERRUPTED, "next")]
    assert MUTATIONS["an_escape_splits_the_answer"](history) == [
        user("hi"),
        assistant(thinking("t", "s")),
        assistant("half an ans"),
        user(INTERRUPTED, "next"),
    ]


def test_the_mark_moves_and_strings_and_lists_change_places() -> None:
    """The same history is not the same JSON from one request to the next."""
    mark = {"cache_control": {"type": "ephemeral"}}
    history = [user(text("hi", **mark)), assistant("ok"), user(tool_result("t"))]

    moved = MUTATIONS["the_cache_mark_moves"](history)

    assert moved == [user(text("hi")), assistant("ok"), user({**tool_result("t"), **mark})]
    assert MUTATIONS["single_texts_become_strings"](moved)[0] == user("hi")
    assert MUTATIONS["strings_become_lists"]([user("hi")]) == [user(text("hi"))]


def test_rows_about_the_last_question_leave_its_results_alone() -> None:
    """A result without its call would be refused."""
    history = [user("hi"), assistant(tool_use("t")), user(tool_result("t"), "and?")]

    for name in (
        "the_last_question_is_replaced",
        "a_nudge_is_merged_into_the_question",
        "a_remark_stands_beside_the_result",
    ):
        *before, last = MUTATIONS[name](history)
        assert before == history[:2]
        assert last["content"][0] == tool_result("t")
        assert last["content"][-1]["text"] not in ("", "and?")
